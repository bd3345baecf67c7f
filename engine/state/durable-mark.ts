import { crc32 } from "node:zlib";
import type { Disk, DiskFile } from "../core/disk.ts";
import { makeFile, writeAll } from "./durable-files.ts";

const size = 12;

/**
 * How far an append-only file was durable, in a small file beside it: a number that grows with the file. A start tells
 * by it what was durable and is broken from what a crash cut short, which was never durable.
 *
 * The mark is written after the sync that made it true, and is not synced itself: the end of the process keeps it, and
 * after a power cut it may be an older one. An older mark says less, and nothing wrong. So no error of writing it matters.
 *
 * The file is the number (u64, little-endian) and its crc32 (u32).
 */
export class DurableMark {
  /** What the mark said when it was opened; 0 where there is none. */
  readonly found: bigint;
  readonly #disk: Disk;
  readonly #path: string;
  #file: DiskFile | undefined;
  #written: bigint;
  #noted: bigint;
  #writing: Promise<void> | undefined;

  private constructor(disk: Disk, path: string, found: bigint) {
    this.#disk = disk;
    this.#path = path;
    this.found = found;
    this.#written = found;
    this.#noted = found;
  }

  /** Reads the mark at `path`, in a folder that is there. The file is made with the first number. Throws errors of the system. */
  static async open(disk: Disk, path: string): Promise<DurableMark> {
    return new DurableMark(disk, path, await read(disk, path));
  }

  /** All up to `value` is durable. It is written in the background, the newest for all that came meanwhile. */
  note(value: bigint): void {
    this.#noted = value;
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
  }

  /** What lies beyond `value` is about to be dropped on purpose. The mark says so durably when this resolves. Throws errors of the system. */
  async lower(value: bigint): Promise<void> {
    await this.#settle();
    if (value >= this.#written) return;
    await makeFile(this.#disk, this.#path, encode(value));
    this.#noted = value;
    this.#written = value;
  }

  /** Syncs the mark, so that it also outlives the machine. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#write();
    const file = this.#file;
    this.#file = undefined;
    await file?.sync().catch(() => undefined);
    await file?.close().catch(() => undefined);
  }

  /** Ends what is written, into a file that another one may replace. */
  async #settle(): Promise<void> {
    await this.#writing;
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }

  async #write(): Promise<void> {
    try {
      while (this.#written !== this.#noted) {
        const value = this.#noted;
        this.#file ??= await openOrCreate(this.#disk, this.#path);
        await writeAll(this.#file, encode(value), 0);
        this.#written = value;
      }
    } catch {
      // The next number, or the close, tries again.
    }
  }
}

async function read(disk: Disk, path: string): Promise<bigint> {
  const file = await disk.open(path, "read").catch(ignoreMissing);
  if (file === undefined) return 0n;
  try {
    const bytes = Buffer.alloc(size);
    return (await file.read(bytes, 0)) === size ? decode(bytes) : 0n;
  } finally {
    await file.close();
  }
}

async function openOrCreate(disk: Disk, path: string): Promise<DiskFile> {
  return (await disk.open(path, "write").catch(ignoreMissing)) ?? disk.open(path, "create");
}

function encode(value: bigint): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeBigUInt64LE(value);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 8)), 8);
  return bytes;
}

/** 0 where a crash left a part of a number. */
function decode(bytes: Buffer): bigint {
  return crc32(bytes.subarray(0, 8)) === bytes.readUInt32LE(8) ? bytes.readBigUInt64LE() : 0n;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}
