import { mkdir, open, readdir, rename, rm, rmdir, statfs, unlink, type FileHandle } from "node:fs/promises";
import type { Disk, DiskFile } from "../core/disk.ts";

const flags = { read: "r", write: "r+", create: "w+" } as const;

/** The disk of this machine. Only the owner may read and write files and folders that it makes. */
export const systemDisk: Disk = {
  open: async (path, mode) => new SystemFile(await open(path, flags[mode], 0o600)),
  rename,
  unlink,
  mkdir: async (path) => {
    try {
      await mkdir(path, { mode: 0o700 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      return false;
    }
  },
  rmdir,
  readdir: (path) => readdir(path),
  rm: (path) => rm(path, { recursive: true, force: true }),
  freeBytes: async (path) => {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  },
  syncFolder: async (path) => {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
};

class SystemFile implements DiskFile {
  readonly #handle: FileHandle;
  /** The last byte that was written, and where. */
  #last: { byte: Buffer; position: number } | undefined;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async read(target: Buffer, position: number): Promise<number> {
    return (await this.#handle.read(target, 0, target.length, position)).bytesRead;
  }

  async write(bytes: Buffer, position: number): Promise<number> {
    const { bytesWritten } = await this.#handle.write(bytes, 0, bytes.length, position);
    const end = position + bytesWritten;
    if (bytesWritten > 0) this.#last = { byte: Buffer.of(bytes[bytesWritten - 1]!), position: end - 1 };
    return bytesWritten;
  }

  truncate(size: number): Promise<void> {
    if (this.#last !== undefined && size <= this.#last.position) this.#last = undefined;
    return this.#handle.truncate(size);
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size;
  }

  async sync(): Promise<void> {
    await this.#handle.sync();
    await this.#writeAgain();
  }

  async datasync(): Promise<void> {
    await this.#handle.datasync();
    await this.#writeAgain();
  }

  /**
   * Writes the last byte once more. A file system that turns read-only may answer OK to a sync that is under way, and keep
   * nothing of it (ext4 of Linux 6.18); the next write fails.
   */
  async #writeAgain(): Promise<void> {
    if (this.#last !== undefined) await this.#handle.write(this.#last.byte, 0, 1, this.#last.position);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
