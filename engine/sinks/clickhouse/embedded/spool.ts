import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, rm, statfs, unlink } from "node:fs/promises";
import { join } from "node:path";
import { raise } from "./exception.ts";

const linux = process.platform === "linux";

/**
 * Where bodies wait until they are complete: in tmpfs while there is room for them, else in a folder of the data
 * directory. On Linux the files are nameless from the start, so that a killed process leaves nothing behind; elsewhere
 * they have names in the folder, which is emptied at the next start.
 */
export class Spool {
  readonly #folder: string;
  readonly #memory: Memory;

  private constructor(folder: string, memory: Memory) {
    this.#folder = folder;
    this.#memory = memory;
  }

  /** `folder` belongs to the spool alone: what is in it goes. @throws Error where its name cannot stand in a statement. */
  static async open(folder: string, tmpfs = "/dev/shm", limit = 1 << 30): Promise<Spool> {
    if (!linux && !/^[\w/. -]+$/.test(folder)) {
      throw new Error(
        `The path of the data directory must have letters, digits, "_", "-", "." and blanks only on this platform, got ${folder}.`,
      );
    }
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new Spool(folder, new Memory(tmpfs, limit));
  }

  /** An empty file. Close it whatever happens. */
  async file(): Promise<SpoolFile> {
    return (await this.#memory.look())
      ? SpoolFile.inMemory(this.#memory, this.#folder)
      : SpoolFile.onDisk(this.#folder);
  }
}

/** The tmpfs, and how much of it is ours to use. */
class Memory {
  readonly folder: string;
  /** Never more than this, however much there is. */
  readonly #limit: number;
  #used = 0;
  #room = 0;

  constructor(folder: string, limit: number) {
    this.folder = folder;
    this.#limit = limit;
  }

  /** Whether there is room at all: half of what is free is ours. */
  async look(): Promise<boolean> {
    if (!linux) return false;
    const stat = await statfs(this.folder).catch(() => undefined);
    this.#room = stat ? Math.min(this.#limit, this.#used + (stat.bavail * stat.bsize) / 2) : 0;
    return this.#used < this.#room;
  }

  takes(bytes: number): boolean {
    if (this.#used + bytes > this.#room) return false;
    this.#used += bytes;
    return true;
  }

  gives(bytes: number): void {
    this.#used -= bytes;
  }
}

interface Opened {
  handle: FileHandle;
  path: string;
  /** Undefined where the file has lost its name already. */
  name: string | undefined;
}

/** One body. */
export class SpoolFile {
  readonly #folder: string;
  #file: Opened;
  /** Undefined once the file is on disk. */
  #memory: Memory | undefined;
  #size = 0;

  private constructor(file: Opened, folder: string, memory: Memory | undefined) {
    this.#file = file;
    this.#folder = folder;
    this.#memory = memory;
  }

  static async inMemory(memory: Memory, folder: string): Promise<SpoolFile> {
    return new SpoolFile(await create(memory.folder), folder, memory);
  }

  static async onDisk(folder: string): Promise<SpoolFile> {
    return new SpoolFile(await create(folder), folder, undefined);
  }

  /** The path by which this process, and only this process, can read it. */
  get path(): string {
    return this.#file.path;
  }

  get isInMemory(): boolean {
    return this.#memory !== undefined;
  }

  /** Appends; moves the file to the disk when tmpfs is short. @throws Exception 243 when the disk is full too. */
  async write(chunk: Buffer): Promise<void> {
    if (this.#memory && !this.#memory.takes(chunk.length)) await this.#toDisk();
    this.#size += chunk.length;
    await this.#file.handle.appendFile(chunk).catch(refuse);
  }

  /** Frees the space. */
  async close(): Promise<void> {
    this.#memory?.gives(this.#size);
    this.#memory = undefined;
    await discard(this.#file);
  }

  async #toDisk(): Promise<void> {
    const old = this.#file;
    const next = await create(this.#folder);
    try {
      for await (const part of old.handle.createReadStream({ start: 0, autoClose: false })) {
        await next.handle.appendFile(part as Buffer);
      }
    } catch (error) {
      await discard(next);
      refuse(error);
    }
    this.#file = next;
    this.#memory?.gives(this.#size);
    this.#memory = undefined;
    await discard(old);
  }
}

async function create(folder: string): Promise<Opened> {
  const name = join(folder, `sluice-${process.pid}-${randomUUID()}`);
  const handle = await open(name, "wx+", 0o600).catch(refuse);
  if (!linux) return { handle, path: name, name };
  await unlink(name);
  return { handle, path: `/proc/self/fd/${handle.fd}`, name: undefined };
}

async function discard(file: Opened): Promise<void> {
  await file.handle.close();
  if (file.name !== undefined) await rm(file.name, { force: true });
}

function refuse(error: unknown): never {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOSPC" || code === "EDQUOT")
    throw raise("NOT_ENOUGH_SPACE", "Not enough space to hold the body of the request.");
  throw error;
}
