import { closeSync, constants, fstatSync, openSync, readSync, statfsSync, writeSync } from "node:fs";

/** At least this much is free after the used pages: more than a few usual changes take. */
const usualBytes = 8 * 1024 * 1024;
/** The list of free pages, old and new, takes at most this share of the used bytes: 8 bytes for each page of 4 KiB. */
const freeListPart = 2 * (8 / 4096);
/** The file grows by this much more than is needed, so that most writes find it large enough. */
const stepBytes = 8 * 1024 * 1024;
const zeros = Buffer.alloc(1024 * 1024);
/** The size of the lock file, in whole pages. */
const lockBytes = 12 * 1024;
/** btrfs, ZFS and bcachefs, as `statfs` numbers them. */
const copyingDisks = new Set([0x9123683e, 0x2fc12fc1, 0xca451a4e]);

/**
 * Room on the disk for what LMDB writes next: zeros at the end of its file, after the pages that it uses. No other
 * program can use it, as the blocks belong to the file.
 *
 * A full disk that LMDB meets breaks the store, which ends the process, and one that is noticed before is a pause. So each
 * write first calls `ensure`, and does not begin without room.
 *
 * Some file systems write every change to new blocks, so that preallocation does not help there: the free space is checked before
 * each write.
 */
export class Preallocation {
  readonly #path: string;
  readonly #usedBytes: () => number;
  readonly #file: number;
  readonly #isCopying: boolean;
  /**
   * The file has blocks up to here. 0 at first: what an earlier run or a copy left after the used pages may be a hole.
   */
  #end = 0;

  /** `usedBytes` returns the end of the pages that LMDB has used so far in the file at `path`. */
  constructor(path: string, usedBytes: () => number) {
    this.#path = path;
    this.#usedBytes = usedBytes;
    this.#file = openSync(path, "r+");
    this.#isCopying = copyingDisks.has(statfsSync(path).type);
  }

  /**
   * Makes sure of room for a write of about `bytes`. Must not be called during a write, as it writes to the same file.
   * Throws `ENOSPC`, or another error of the file system.
   */
  ensure(bytes: number): void {
    if (this.#isCopying) this.checkFree(bytes);
    else this.#grow(bytes);
  }

  /**
   * Throws `ENOSPC` where the disk has less free than a write of `bytes` may take, without regard to preallocated
   * space.
   */
  checkFree(bytes: number): void {
    if (this.freeBytes() < usualBytes + bytes) throw noSpace();
  }

  freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#path);
    return bavail * bsize;
  }

  close(): void {
    closeSync(this.#file);
  }

  #grow(bytes: number): void {
    const used = this.#usedBytes();
    const needed = used + Math.ceil(used * freeListPart) + usualBytes + bytes;
    if (needed <= this.#end) return;
    // LMDB may have written beyond what was preallocated: its pages are never overwritten.
    this.#end = Math.max(this.#end, used);
    // A write that does not fit must not fill the disk with its attempt: nobody else could use that room.
    const { size } = fstatSync(this.#file);
    if (this.freeBytes() < needed - Math.max(this.#end, size)) throw noSpace();
    const end = needed + stepBytes;
    try {
      while (this.#end < end) {
        this.#end += writeSync(this.#file, zeros, 0, Math.min(zeros.length, end - this.#end), this.#end);
      }
    } catch (error) {
      if (needed > this.#end) throw error;
    }
  }
}

function noSpace(): Error {
  return Object.assign(new Error("no space left on the disk"), { code: "ENOSPC" });
}

/**
 * Gives LMDB's lock file blocks on the disk before it is opened; what is in it stays. LMDB makes one with holes and
 * maps it into memory: if the disk is full then, the process dies of SIGBUS. Throws `ENOSPC` without room.
 */
export function preallocateLockFile(path: string): void {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const content = Buffer.alloc(lockBytes);
    readSync(file, content, 0, lockBytes, 0);
    let written = 0;
    while (written < lockBytes) written += writeSync(file, content, written, lockBytes - written, written);
  } finally {
    closeSync(file);
  }
}
