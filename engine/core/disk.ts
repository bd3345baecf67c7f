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
