/** Does work that keeps its thread from everything else meanwhile, and notes so. */
export type Holding = <Result>(work: () => Result) => Result;

export const unnoted: Holding = (work) => work();

/**
 * Memory that a thread of pipelines shares with the process: while a pipeline keeps the thread from everything else, its number
 * stands there. The process sees it although the thread answers nothing.
 */
export class ThreadHold {
  readonly #cells: Int32Array;

  /** `memory`: at least `ThreadHold.bytes` long, and shared. */
  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory);
  }

  static readonly bytes = 2 * Int32Array.BYTES_PER_ELEMENT;

  /** Does something of the pipeline with this number, which is not 0. */
  during<Result>(number: number, work: () => Result): Result {
    Atomics.store(this.#cells, 0, number);
    Atomics.add(this.#cells, 1, 1);
    try {
      return work();
    } finally {
      Atomics.store(this.#cells, 0, 0);
    }
  }

  /** The number of the pipeline that has the thread now, 0 for none; and which of all such times it is. */
  get now(): { number: number; turn: number } {
    return { number: Atomics.load(this.#cells, 0), turn: Atomics.load(this.#cells, 1) };
  }
}
