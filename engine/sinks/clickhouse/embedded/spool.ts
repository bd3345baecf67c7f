import { mkdir, rm } from "node:fs/promises";
import { SpoolFile, create } from "./spool-file.ts";
import { Tmpfs, sweep } from "./tmpfs.ts";

/**
 * Where bodies wait until they are complete: in tmpfs while there is room for them, else in a folder of the data
 * directory. On Linux the files are nameless from the start, so that a killed process leaves nothing behind; elsewhere
 * they have names in the folder, which is emptied at the next start.
 */
export class Spool {
  readonly #folder: string;
  readonly #memory: Tmpfs;

  private constructor(folder: string, memory: Tmpfs) {
    this.#folder = folder;
    this.#memory = memory;
  }

  /** `folder` belongs to the spool alone: what is in it goes. @throws Error where its name cannot stand in a statement. */
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

  /** An empty file. Close it whatever happens. */
  async file(): Promise<SpoolFile> {
    const memory = (await this.#memory.hasRoom()) ? this.#memory : undefined;
    const file = memory && (await create(memory.folder).catch(() => undefined));
    return file ? new SpoolFile(file, this.#folder, memory) : new SpoolFile(await create(this.#folder), this.#folder);
  }
}
