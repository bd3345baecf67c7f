/**
 * Which pipelines wait for each other in a circle: the strongly connected parts of what depends on what, found in one
 * walk (Tarjan), however many files there are.
 */
export class Circles {
  readonly #after: ReadonlyMap<string | undefined, readonly string[]>;
  /** The part that a pipeline is in. */
  readonly #parts = new Map<string, number>();

  constructor(waits: Iterable<readonly [string | undefined, readonly string[]]>) {
    this.#after = new Map(waits);
    for (const [id, after] of this.#after) {
      if (id === undefined || this.#parts.has(id)) continue;
      // Most wait for nothing, and are a part by themselves.
      if (after.length === 0) this.#parts.set(id, this.#parts.size);
      else this.#walk(id);
    }
  }

  has(id: string): boolean {
    return this.#after.has(id);
  }

  /** Whether `from`, which waits for `to`, is waited for by it. */
  join(from: string, to: string): boolean {
    return this.#parts.get(from) === this.#parts.get(to);
  }

  /** Depth first with a stack of its own: a chain may be as long as there are files. */
  #walk(start: string): void {
    const numbers = new Map<string, number>();
    const lowest = new Map<string, number>();
    const open: string[] = [];
    const path = [this.#enter(start, numbers, lowest, open)];
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      const next = step.after.pop();
      if (next === undefined) {
        path.pop();
        this.#leave(step.id, numbers, lowest, open);
        const above = path.at(-1);
        if (above !== undefined) lower(lowest, above.id, lowest.get(step.id));
      } else if (!numbers.has(next)) path.push(this.#enter(next, numbers, lowest, open));
      else if (!this.#parts.has(next)) lower(lowest, step.id, numbers.get(next));
    }
  }

  #enter(
    id: string,
    numbers: Map<string, number>,
    lowest: Map<string, number>,
    open: string[],
  ): { id: string; after: string[] } {
    numbers.set(id, numbers.size);
    lowest.set(id, numbers.size - 1);
    open.push(id);
    const after = (this.#after.get(id) ?? []).filter((next) => this.#after.has(next) && !this.#parts.has(next));
    return { id, after };
  }

  /** What nothing above can be reached from is a part of its own with all that was entered after it. */
  #leave(id: string, numbers: Map<string, number>, lowest: Map<string, number>, open: string[]): void {
    if (lowest.get(id) !== numbers.get(id)) return;
    const part = this.#parts.size;
    for (let member = open.pop(); member !== undefined; member = open.pop()) {
      this.#parts.set(member, part);
      if (member === id) return;
    }
  }
}

function lower(lowest: Map<string, number>, id: string, to: number | undefined): void {
  if (to !== undefined && to < (lowest.get(id) ?? Infinity)) lowest.set(id, to);
}
