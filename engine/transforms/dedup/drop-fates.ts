import type { Fate } from "../../core/key-memory.ts";
import type { BatchRecord, FinalKeys, WaitingDrop } from "../../core/journal.ts";
import type { OpenKeys } from "./open-keys.ts";

/**
 * Whom drops wait for: each for the keys of one batch, which say what became of its key. That holds whatever the clock
 * says meanwhile: neither the end of the window nor a clock that is set back makes a repeat pass.
 */
export class DropFates {
  /** By the batch of the drop, and its position. */
  readonly #waits = new Map<number, Map<number, OpenKeys | Fate>>();

  /** A drop of a batch waits for a key of another one, or of its own. */
  note(batch: number, position: number, whom: OpenKeys | Fate): void {
    const waits = this.#waits.get(batch) ?? new Map<number, OpenKeys | Fate>();
    this.#waits.set(batch, waits.set(position, whom));
  }

  /** What became of the key that a drop repeats. */
  async of(batch: number, position: number, print: Uint32Array): Promise<Fate> {
    const whom = this.#waits.get(batch)?.get(position) ?? "free";
    return typeof whom === "string" ? whom : whom.fateOf(print);
  }

  forget(batch: number): void {
    this.#waits.delete(batch);
  }
}

/** Finds, while final keys are read, those that drops of batches under way repeat. */
export class FinalRepeats {
  /** By the batch that drops wait for: the keys that were asked for, and whether they are final. */
  readonly #asked = new Map<number, Map<string, boolean>>();

  constructor(pending: readonly BatchRecord[]) {
    for (const { of, print } of pending.flatMap(({ waiting }) => waiting)) {
      if (of === undefined) continue;
      const keys = this.#asked.get(of) ?? new Map<string, boolean>();
      this.#asked.set(of, keys.set(print.join(), false));
    }
  }

  /** Looks at the final keys of a batch. */
  look({ batch }: Pick<FinalKeys, "batch">, words: Uint32Array): void {
    const asked = this.#asked.get(batch);
    if (asked === undefined) return;
    for (let at = 0; at < words.length; at += 4) {
      const text = words.subarray(at, at + 4).join();
      if (asked.has(text)) asked.set(text, true);
    }
  }

  /** Of a drop whose batch is not under way any more. */
  fateOf({ of, print }: WaitingDrop): Fate {
    return of !== undefined && this.#asked.get(of)?.get(print.join()) === true ? "written" : "free";
  }
}
