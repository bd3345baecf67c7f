import { EngineError } from "../../core/errors.ts";
import type { Folder } from "./segment.ts";

/** Intake stops while the disk has less than this, so that what is stored can still be carried on. */
const reserveBytes = 48 * 1024 * 1024;
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
    if ((await disk.freeBytes(path)) < reserveBytes) {
      throw new EngineError(
        "DISK_FULL",
        "the disk of the data dir is nearly full: make room, and events are taken again",
      );
    }
    this.#lookedAt = performance.now();
  }
}
