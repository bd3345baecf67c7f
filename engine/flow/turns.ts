import type { Caller } from "../core/push.ts";
import { TurnMissed, WaitingLine } from "./waiting-line.ts";

interface Waiting {
  caller: Caller;
  begin: () => void;
  miss: (missed: TurnMissed) => void;
}

/** A number of turns that callers have at the same time. One that finds none free waits in line. */
export class Turns {
  readonly #line: WaitingLine<Waiting>;
  #free: number;

  /** `most` is the longest wait, in milliseconds. */
  constructor(count: number, most: number) {
    this.#free = count;
    this.#line = new WaitingLine<Waiting>({ most, isGone: ({ caller }) => caller.isGone }, ({ miss }, missed) =>
      miss(missed),
    );
  }

  /** Resolves when the caller has a turn, which it gives back. Rejects with TurnMissed. */
  take(caller: Caller): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((begin, miss) => this.#line.add({ caller, begin, miss }));
  }

  giveBack(): void {
    this.#line.sift();
    const [next] = this.#line.take(1);
    if (next === undefined) this.#free += 1;
    else next.begin();
  }
}
