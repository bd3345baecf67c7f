import type { Feed } from "../../../core/positions.ts";
import { waitAtMost } from "./member.ts";

/** How long the end of a source waits for its last commit, in milliseconds. */
const lastWait = 3_000;

/**
 * Commits to the group how far the pipeline has come. The journal is the truth: a commit that is late or lost does no
 * harm, so one is under way at a time and holds what is newest then.
 */
export class OffsetCommits {
  readonly #commit: (offsets: ReadonlyMap<Feed, number>) => Promise<void>;
  #offsets = new Map<Feed, number>();
  #underway: Promise<void> | undefined;

  /** `commit` may throw; what it was given is not committed again by itself. */
  constructor(commit: (offsets: ReadonlyMap<Feed, number>) => Promise<void>) {
    this.#commit = commit;
  }

  /** The next offset of a partition. */
  add(feed: Feed, offset: number): void {
    this.#offsets.set(feed, offset);
    this.#underway ??= this.#commitAll().finally(() => (this.#underway = undefined));
  }

  /** Resolves when everything was committed, or after a moment. */
  flushed(): Promise<void> {
    return waitAtMost(lastWait, this.#underway);
  }

  async #commitAll(): Promise<void> {
    // What is added in the same turn goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#offsets.size > 0) {
      const offsets = this.#offsets;
      this.#offsets = new Map();
      // What could not be committed goes with what comes next, at the latest with the claims of the next join.
      await this.#commit(offsets).catch(() => undefined);
    }
  }
}
