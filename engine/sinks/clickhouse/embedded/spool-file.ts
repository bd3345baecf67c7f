import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { raise } from "./exception.ts";
import type { Tmpfs } from "./tmpfs.ts";

const linux = process.platform === "linux";

/** A new file. */
export interface Opened {
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
  #memory: Tmpfs | undefined;
  #size = 0;

  constructor(file: Opened, folder: string, memory?: Tmpfs) {
    this.#file = file;
    this.#folder = folder;
    this.#memory = memory;
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
    if (this.#memory && !(await this.#fits(chunk, this.#memory))) await this.#toDisk();
    if (!this.#memory) await this.#file.handle.appendFile(chunk).catch(refuse);
    this.#size += chunk.length;
  }

  /** Frees the space. */
  async close(): Promise<void> {
    this.#memory?.gives(this.#size);
    this.#memory = undefined;
    await discard(this.#file);
  }

  /** Appends in tmpfs; false where our share of it, or all of it, is full. */
  async #fits(chunk: Buffer, memory: Tmpfs): Promise<boolean> {
    if (!memory.takes(chunk.length)) return false;
    try {
      await this.#file.handle.appendFile(chunk);
      return true;
    } catch (error) {
      memory.gives(chunk.length);
      if (!isFull(error)) throw error;
      return false;
    }
  }

  async #toDisk(): Promise<void> {
    const old = this.#file;
    const next = await create(this.#folder);
    try {
      // Not what is behind the size: a write that failed may have left a part of itself.
      const range = { start: 0, end: this.#size - 1, autoClose: false };
      const parts = this.#size > 0 ? old.handle.createReadStream(range) : [];
      for await (const part of parts) await next.handle.appendFile(part as Buffer);
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

/** Makes a file in a folder; on Linux its name is taken away at once. */
export async function create(folder: string): Promise<Opened> {
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

function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function refuse(error: unknown): never {
  throw isFull(error) ? raise("NOT_ENOUGH_SPACE", "Not enough space to hold the body of the request.") : error;
}
