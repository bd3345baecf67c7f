import { closeSync, openSync, writeSync } from "node:fs";

const byte = Buffer.alloc(1);

/**
 * A small file beside those of a library that syncs them itself. A file system that turns read-only may answer OK to a sync
 * that is under way, and keep nothing of it (ext4 of Linux 6.18); the next write fails.
 */
export class WriteProbe {
  readonly #file: number;

  /** The file has its block from now on, which a full disk does not refuse. Throws errors of the system. */
  constructor(path: string) {
    this.#file = openSync(path, "w", 0o600);
    this.check();
  }

  /** Throws the error of the system where the disk takes no writes any more. */
  check(): void {
    writeSync(this.#file, byte, 0, 1, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}
