import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** For how long the main thread of a process works without a turn for others (`stall-watch.mjs`). */
export class Stalls {
  readonly #file: string;

  /** `file` is where the process notes them. */
  constructor(file: string) {
    this.#file = file;
  }

  /** What the process needs in its environment. */
  get env(): Record<string, string> {
    const watch = fileURLToPath(new URL("stall-watch.mjs", import.meta.url));
    return { STALLS: this.#file, NODE_OPTIONS: `--import ${watch}` };
  }

  /** The longest of a process since a time, in milliseconds. */
  longest(pid: number, since: number): number {
    const lines = this.#read(pid).map((line) => line.split(" ").map(Number));
    return Math.max(0, ...lines.filter(([at = 0]) => at >= since).map(([, stall = 0]) => stall));
  }

  #read(pid: number): string[] {
    try {
      return readFileSync(`${this.#file}.${pid}`, "utf8").trim().split("\n");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return [];
    }
  }
}
