import { readFileSync } from "node:fs";

const sampleEvery = 100;

/** Watches how much memory a process holds (VmRSS of its own, without that of its children), in bytes; 0 where no Linux tells. */
export class ResidentMemory {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #highest = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => (this.#highest = Math.max(this.#highest, this.now)), sampleEvery);
  }

  get now(): number {
    if (process.platform !== "linux") return 0;
    const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
    return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** The highest value so far. */
  get highest(): number {
    return Math.max(this.#highest, this.now);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
