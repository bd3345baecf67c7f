import { readdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

/** The tmpfs, and how much of it is ours to use. */
export class Tmpfs {
  readonly folder: string;
  /** Never more than this, however much there is. */
  readonly #limit: number;
  #used = 0;
  #room = 0;

  constructor(folder: string, limit: number) {
    this.folder = folder;
    this.#limit = limit;
  }

  /** Looks how much there is: half of what is free is ours. */
  async hasRoom(): Promise<boolean> {
    if (process.platform !== "linux") return false;
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

/** Removes the names that killed processes left: those that died just between making a file and taking its name away. */
export async function sweep(tmpfs: string): Promise<void> {
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
