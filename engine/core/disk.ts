/**
 * The file system. A call rejects with the error of the system, whose `code` says what it is, such as `ENOSPC`,
 * `EMFILE` or `EIO`. Sizes and positions are in bytes.
 *
 * What was written is durable after a sync of its file; a name that was made, changed or removed is durable after a sync
 * of its folder. After a crash everything else may be there, in part too, or not.
 */
export interface Disk {
  /** `read`: a file that is there. `write`: the same, also to be written. `create`: an empty file, in the place of another or of none. */
  open(path: string, mode: "read" | "write" | "create"): Promise<DiskFile>;
  /** Gives a file another name; a file that has this name already is replaced in one step. */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Makes one folder. Resolves with false where there is one already; `ENOENT` where its parent is missing. */
  mkdir(path: string): Promise<boolean>;
  /** Removes an empty folder. */
  rmdir(path: string): Promise<void>;
  /** The names in a folder, in any order. */
  readdir(path: string): Promise<string[]>;
  /** Removes a file or a folder with all that is in it; nothing where there is none. */
  rm(path: string): Promise<void>;
  /** How much may still be written to the file system of a path. */
  freeBytes(path: string): Promise<number>;
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>;
}

/**
 * Pushes are refused while the disk of the data dir has less than this free, in bytes. Pipelines process stored events
 * until 8 MB are left (the journal's reserve, see `state/preallocation.ts`); the rest is for what they write meanwhile,
 * such as rows of the embedded ClickHouse. With the journal's reserve alone, pushes would fill the disk until no stored
 * event can be processed.
 */
export const diskReserve = 48 * 1024 * 1024;

/** Each pipeline may always hold this much, in bytes, as long as the disk has room. */
const leastShare = 8 * 1024 * 1024;

/**
 * The most that one pipeline may hold in its stream, and once more in dead letters, while `freeBytes` are free beside it:
 * half of what is free beyond the reserve. So one that takes all that it can get leaves the larger part to the others,
 * however large the disk is and however many there are.
 */
export function diskShare(freeBytes: number): number {
  return Math.max(leastShare, Math.floor((freeBytes - diskReserve) / 2));
}

/** A file that is open. */
export interface DiskFile {
  /** Fills `target` with what is at `position`; resolves with how much that was: less at the end of the file. */
  read(target: Buffer, position: number): Promise<number>;
  /** Writes at `position`; resolves with how much was written, which may be less than all. */
  write(bytes: Buffer, position: number): Promise<number>;
  truncate(size: number): Promise<void>;
  size(): Promise<number>;
  /** Makes content, size and attributes durable. */
  sync(): Promise<void>;
  /** Makes content and size durable. */
  datasync(): Promise<void>;
  close(): Promise<void>;
}
