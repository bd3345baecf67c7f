import { raise } from "./exception.ts";

/** Lets a few in at a time, the others wait in order. */
export class Gate {
  readonly #width: number;
  readonly #length: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(width: number, length: number) {
    this.#width = width;
    this.#length = length;
  }

  /** @throws Exception 202 when the queue is full. */
  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#width) this.#inside += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inside -= 1;
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#length) {
      throw raise("TOO_MANY_SIMULTANEOUS_QUERIES", `Too many simultaneous queries. Maximum: ${this.#length}.`);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
