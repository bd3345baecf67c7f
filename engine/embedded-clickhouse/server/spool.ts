import { type FileHandle, mkdir, open, readdir, rm, statfs } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { isFull, raise } from "./exception.ts";

/**
 * Stores bodies until they are complete: in tmpfs while it has room, else in a folder of the data directory. On Linux
 * the files are unlinked at once, so that a killed process leaves none; elsewhere they have names in the folder, which
 * is emptied at the next start.
 */
export class Spool {
  readonly #folder: string;
  readonly #memory: Tmpfs;

  private constructor(folder: string, memory: Tmpfs) {
    this.#folder = folder;
    this.#memory = memory;
  }

  /** `folder` is for the spool only: its content is deleted. @throws Error if its name cannot be used in a statement. */
  static async open(folder: string, tmpfs = "/dev/shm", limit = 1 << 30): Promise<Spool> {
    if (process.platform !== "linux" && !/^[\w/. -]+$/.test(folder)) {
      throw new Error(
        `The path of the data directory must have letters, digits, "_", "-", "." and blanks only on this platform, got ${folder}.`,
      );
    }
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await sweep(tmpfs);
    return new Spool(folder, new Tmpfs(tmpfs, limit));
  }

  /** An empty file, which the caller must close. */
  async file(): Promise<SpoolFile> {
    const memory = (await this.#memory.hasRoom()) ? this.#memory : undefined;
    const file = memory && (await create(memory.folder).catch(() => undefined));
    return file ? new SpoolFile(file, this.#folder, memory) : new SpoolFile(await create(this.#folder), this.#folder);
  }
}

const linux = process.platform === "linux";

/** A new file. */
interface Opened {
  handle: FileHandle;
  path: string;
  /** Undefined once the file is unlinked. */
  name: string | undefined;
}

/** One body. */
export class SpoolFile {
  readonly #folder: string;
  #file: Opened;
  /** Undefined once the file is on disk. */
  #memory: Tmpfs | undefined;
  #size = 0;

  constructor(file: Opened, folder: string, memory?: Tmpfs) {
    this.#file = file;
    this.#folder = folder;
    this.#memory = memory;
  }

  /** The path by which only this process can read it. */
  get path(): string {
    return this.#file.path;
  }

  get isInMemory(): boolean {
    return this.#memory !== undefined;
  }

  /** Appends; moves the file to the disk when tmpfs is full. @throws Exception 243 when the disk is full too. */
  async write(chunk: Buffer): Promise<void> {
    if (this.#memory && !(await this.#fits(chunk, this.#memory))) await this.#toDisk();
    if (!this.#memory) await this.#file.handle.appendFile(chunk).catch(refuse);
    this.#size += chunk.length;
  }

  /** Deletes the file. */
  async close(): Promise<void> {
    this.#memory?.release(this.#size);
    this.#memory = undefined;
    await discard(this.#file);
  }

  /** Appends in tmpfs; false if the share of the spool, or all of tmpfs, is full. */
  async #fits(chunk: Buffer, memory: Tmpfs): Promise<boolean> {
    if (!memory.reserve(chunk.length)) return false;
    try {
      await this.#file.handle.appendFile(chunk);
      return true;
    } catch (error) {
      memory.release(chunk.length);
      if (!isFull(error)) throw error;
      return false;
    }
  }

  async #toDisk(): Promise<void> {
    const old = this.#file;
    const next = await create(this.#folder);
    try {
      // Only up to the size: a failed write may have left some bytes after it.
      const range = { start: 0, end: this.#size - 1, autoClose: false };
      const parts = this.#size > 0 ? old.handle.createReadStream(range) : [];
      for await (const part of parts) await next.handle.appendFile(part as Buffer);
    } catch (error) {
      await discard(next);
      refuse(error);
    }
    this.#file = next;
    this.#memory?.release(this.#size);
    this.#memory = undefined;
    await discard(old);
  }
}

/** Creates a file in a folder; on Linux it is unlinked at once. */
async function create(folder: string): Promise<Opened> {
  const name = join(folder, `sluice-${process.pid}-${randomUUID()}`);
  const handle = await open(name, "wx+", 0o600).catch(refuse);
  if (!linux) return { handle, path: name, name };
  await rm(name, { force: true });
  return { handle, path: `/proc/self/fd/${handle.fd}`, name: undefined };
}

async function discard(file: Opened): Promise<void> {
  await file.handle.close();
  if (file.name !== undefined) await rm(file.name, { force: true });
}

function refuse(error: unknown): never {
  throw isFull(error) ? raise("NOT_ENOUGH_SPACE", "Not enough space to hold the body of the request.") : error;
}

/** The tmpfs, and the share of it that the spool may use. */
class Tmpfs {
  readonly folder: string;
  /** The limit, even if there is more. */
  readonly #limit: number;
  #used = 0;
  #room = 0;

  constructor(folder: string, limit: number) {
    this.folder = folder;
    this.#limit = limit;
  }

  /** Whether there is room: the spool may use half of the free space. */
  async hasRoom(): Promise<boolean> {
    if (process.platform !== "linux") return false;
    const stat = await statfs(this.folder).catch(() => undefined);
    this.#room = stat ? Math.min(this.#limit, this.#used + (stat.bavail * stat.bsize) / 2) : 0;
    return this.#used < this.#room;
  }

  reserve(bytes: number): boolean {
    if (this.#used + bytes > this.#room) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}

/** Removes the files of processes that were killed between creating a file and unlinking it. */
async function sweep(tmpfs: string): Promise<void> {
  for (const name of await readdir(tmpfs).catch(() => [])) {
    const pid = /^sluice-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(tmpfs, name), { force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
