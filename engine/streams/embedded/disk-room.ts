import { EngineError } from "../../core/errors.ts";
import type { Folder } from "./segment.ts";

/**
 * Intake stops while the disk has less than this, in MB. Pipelines go on with what is stored until 8 MB are left (the
 * journal's, see `state/reserve.ts`); the rest is for what they write meanwhile, such as rows of the embedded ClickHouse.
 * With the journal's figure alone, pushes would fill the disk up to where nothing can be written out of the streams.
 */
const reserveMegabytes = 48;
/** How long an answer holds, in milliseconds. */
const lookEvery = 1000;

/** Whether the disk of a folder has room beyond the reserve. */
export class DiskRoom {
  readonly #folder: Folder;
  #lookedAt = -Infinity;

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  /** Looks, at most once a second while there is room. Throws EngineError `DISK_FULL`. */
  async check(): Promise<void> {
    if (performance.now() - this.#lookedAt < lookEvery) return;
    const { disk, path } = this.#folder;
    if ((await disk.freeBytes(path)) < reserveMegabytes * 1024 * 1024) {
      throw new EngineError(
        "DISK_FULL",
        `the disk of the data dir has less than ${reserveMegabytes} MB free: make room, and events are taken again`,
      );
    }
    this.#lookedAt = performance.now();
  }
}
