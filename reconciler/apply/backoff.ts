/** Milliseconds: the first wait, and the longest. */
const first = 1_000;
const longest = 300_000;

interface Attempts {
  /** What was attempted: another content starts anew. */
  content: string;
  count: number;
  /** Milliseconds since the epoch. */
  next: number;
}

/**
 * When each pipeline may be tried again: after 1 s, 2 s, 4 s, … up to 5 min. A change of what is to be applied is tried
 * at once, so that a mended file never waits for the back-off of the broken one.
 */
export class Backoff {
  readonly #attempts = new Map<string, Attempts>();

  /** How often this content was tried. */
  count(pipeline_id: string, content: string): number {
    return this.#of(pipeline_id, content)?.count ?? 0;
  }

  /** When it may be tried next, in milliseconds since the epoch; 0 for at once. */
  next(pipeline_id: string, content: string): number {
    return this.#of(pipeline_id, content)?.next ?? 0;
  }

  /** Notes a try that begins at `now`. */
  attempt(pipeline_id: string, content: string, now: number): void {
    const count = this.count(pipeline_id, content) + 1;
    const wait = Math.min(longest, first * 2 ** Math.min(count - 1, 20));
    this.#attempts.set(pipeline_id, { content, count, next: now + wait });
  }

  clear(pipeline_id: string): void {
    this.#attempts.delete(pipeline_id);
  }

  #of(pipeline_id: string, content: string): Attempts | undefined {
    const attempts = this.#attempts.get(pipeline_id);
    return attempts?.content === content ? attempts : undefined;
  }
}
