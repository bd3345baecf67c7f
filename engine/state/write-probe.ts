import { closeSync, openSync, writeSync } from "node:fs";

const byte = Buffer.alloc(1);

/**
 * A small file beside those of a library that syncs them itself. A file system that turns read-only may answer OK to a sync
 * that is under way, and keep nothing of it (ext4 of Linux 6.18); the next write fails.
 */
export class WriteProbe {
  readonly #file: number;

  /** Throws errors of the system. */
  constructor(path: string) {
    this.#file = openSync(path, "w", 0o600);
  }

  /**
   * Throws the error of the system where the disk takes no writes any more. The first check gives the file its block, which a
   * full disk does not refuse later.
   */
  check(): void {
    writeSync(this.#file, byte, 0, 1, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}
