import { nextTurn } from "../../../flow/next-turn.ts";
import { sleep } from "../../../flow/sleep.ts";
import { waitAtMost } from "../../../flow/wait-at-most.ts";
import type { Feed } from "../../../core/positions.ts";

/**
 * The time from one commit to the next one, in milliseconds: each costs a request. What was written since is written again
 * by another Sluice that takes the group over.
 */
const commitEvery = 100;
/** How long the end of a source waits for its last commit, in milliseconds. */
const lastWait = 3_000;

/**
 * Commits the offsets of the pipeline to the group. The journal is authoritative: a commit that is late or lost does no
 * harm here, so there is one at a time, and at most ten a second, with the newest offsets.
 */
export class OffsetCommits {
  readonly #commit: (offsets: ReadonlyMap<Feed, number>) => Promise<void>;
  readonly #end = new AbortController();
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

  /** Commits what waits at once. Resolves when everything is committed, or after `lastWait`. */
  flushed(): Promise<void> {
    this.#end.abort();
    return waitAtMost(lastWait, this.#underway);
  }

  async #commitAll(): Promise<void> {
    // Offsets that are added in the same turn are committed together.
    await nextTurn();
    while (this.#offsets.size > 0) {
      const offsets = this.#offsets;
      this.#offsets = new Map();
      const next = sleep(commitEvery, this.#end.signal);
      // A failed commit is not repeated: later offsets, or at the latest the claims of the next join, replace it.
      await this.#commit(offsets).catch(() => undefined);
      await next;
    }
  }
}
