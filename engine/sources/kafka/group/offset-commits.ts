import type { Feed } from "../../../core/positions.ts";
import { waitAtMost } from "./member.ts";

/** How long the end of a source waits for its last commit, in milliseconds. */
const lastWait = 3_000;

/**
 * Tells the group how far the pipeline has come. The journal is the truth: a commit that is late or lost does no harm, so
 * one is under way at a time and says what is newest then.
 */
export class OffsetCommits {
  readonly #commit: (offsets: ReadonlyMap<Feed, number>) => Promise<void>;
  #offsets = new Map<Feed, number>();
  #underway: Promise<void> | undefined;

  /** `commit` may throw; what it was given is not said again by itself. */
  constructor(commit: (offsets: ReadonlyMap<Feed, number>) => Promise<void>) {
    this.#commit = commit;
  }

  /** The next offset of a partition. */
  note(feed: Feed, offset: number): void {
    this.#offsets.set(feed, offset);
    this.#underway ??= this.#tell().finally(() => (this.#underway = undefined));
  }

  /** Resolves when everything was said, or after a moment. */
  told(): Promise<void> {
    return waitAtMost(lastWait, this.#underway);
  }

  async #tell(): Promise<void> {
    // What comes in the same turn goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#offsets.size > 0) {
      const offsets = this.#offsets;
      this.#offsets = new Map();
      // What could not be said is said with what comes next, at the latest by the claims of the next join.
      await this.#commit(offsets).catch(() => undefined);
    }
  }
}
