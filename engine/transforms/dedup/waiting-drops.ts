import type { Fate } from "../../core/key-memory.ts";
import type { BatchRecord, FinalKeys, WaitingDrop } from "../../core/journal.ts";

/**
 * The keys that a batch has reserved for one window, four words each, with the positions of the events that brought
 * them, until it is written or given up. It then says of each what became of it, however long that is asked.
 */
export class ReservedKeys {
  readonly positions: number[];
  readonly words: number[];
  readonly #settled: Promise<void>;
  #settle: () => void = () => undefined;
  /** Keys whose events are not in the table; few, or all. */
  #freed: ReadonlySet<string> | "all" = "all";
  /** All keys, where that was asked for. */
  #texts: ReadonlySet<string> | undefined;

  constructor(positions: number[] = [], words: number[] = []) {
    this.positions = positions;
    this.words = words;
    this.#settled = new Promise((resolve) => (this.#settle = resolve));
  }

  add(position: number, print: Uint32Array): void {
    this.positions.push(position);
    this.words.push(print[0]!, print[1]!, print[2]!, print[3]!);
  }

  /** Whether a key is among those of an earlier run. The first call looks at all of them. */
  holds(print: Uint32Array): boolean {
    this.#texts ??= new Set(this.positions.map((_position, index) => this.#text(index)));
    return this.#texts.has(print.join());
  }

  /** It is written but for the events at `freed`, or given up. */
  settle(freed: ReadonlySet<number> | "all"): void {
    this.#freed = freed === "all" ? freed : this.#textsOf(freed);
    this.#texts = undefined;
    this.#settle();
  }

  /** Resolves when it is settled: whether the event that brought a key is in the table, or has freed it. */
  async fateOf(print: Uint32Array): Promise<Fate> {
    await this.#settled;
    return this.#freed === "all" || (this.#freed.size > 0 && this.#freed.has(print.join())) ? "free" : "written";
  }

  #textsOf(freed: ReadonlySet<number>): ReadonlySet<string> {
    if (freed.size === 0) return new Set();
    return new Set(this.positions.flatMap((position, index) => (freed.has(position) ? [this.#text(index)] : [])));
  }

  #text(index: number): string {
    return this.words.slice(4 * index, 4 * index + 4).join();
  }
}

/**
 * The keys that drops wait for: each drop for those of one batch, which say what became of its key. That holds whatever the clock
 * says meanwhile: neither the end of the window nor a clock that is set back makes a repeat pass.
 */
export class WaitingDrops {
  /** By the batch of the drop, and its position. */
  readonly #waits = new Map<number, Map<number, ReservedKeys | Fate>>();

  /** A drop of a batch waits for a key of another one, or of its own. */
  note(batch: number, position: number, keys: ReservedKeys | Fate): void {
    const waits = this.#waits.get(batch) ?? new Map<number, ReservedKeys | Fate>();
    this.#waits.set(batch, waits.set(position, keys));
  }

  /** What became of the key that a drop repeats. */
  async of(batch: number, position: number, print: Uint32Array): Promise<Fate> {
    const keys = this.#waits.get(batch)?.get(position) ?? "free";
    return typeof keys === "string" ? keys : keys.fateOf(print);
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
