import type { Feed } from "../../../core/positions.ts";
import { waitAtMost } from "./member.ts";

/** How long the end of a source waits for its last commit, in milliseconds. */
const lastWait = 3_000;

/**
 * Commits the offsets of the pipeline to the group. The journal is authoritative: a commit that is late or lost does no
 * harm, so there is one commit at a time, with the newest offsets.
 */
export class OffsetCommits {
  readonly #commit: (offsets: ReadonlyMap<Feed, number>) => Promise<void>;
  #offsets = new Map<Feed, number>();
  #underway: Promise<void> | undefined;

  /** `commit` may throw; its offsets are not committed again by themselves. */
  constructor(commit: (offsets: ReadonlyMap<Feed, number>) => Promise<void>) {
    this.#commit = commit;
  }

  /** The next offset of a partition. */
  add(feed: Feed, offset: number): void {
    this.#offsets.set(feed, offset);
    this.#underway ??= this.#commitAll().finally(() => (this.#underway = undefined));
  }

  /** Resolves when everything is committed, or after `lastWait`. */
  flushed(): Promise<void> {
    return waitAtMost(lastWait, this.#underway);
  }

  async #commitAll(): Promise<void> {
    // Offsets that are added in the same turn are committed together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#offsets.size > 0) {
      const offsets = this.#offsets;
      this.#offsets = new Map();
      // A failed commit is not repeated: later offsets, or at the latest the claims of the next join, replace it.
      await this.#commit(offsets).catch(() => undefined);
    }
  }
}
