import type { Fate } from "../../core/key-memory.ts";
import type { BatchRecord, FinalKeys, WaitingDrop } from "../../core/journal.ts";

/**
 * The keys that a batch has reserved for one window, four words each, with the positions of their events, until it is
 * written or given up. After that it still tells the fate of each key.
 */
export class ReservedKeys {
  readonly positions: number[];
  readonly words: number[];
  readonly #settled: Promise<void>;
  #settle: () => void = () => undefined;
  /** Keys whose events are not in the table; few, or all. */
  #freed: ReadonlySet<string> | "all" = "all";
  /** All keys; made when first needed. */
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

  /** Whether a key is among those of an earlier run. The first call makes an index of all of them. */
  holds(print: Uint32Array): boolean {
    this.#texts ??= new Set(this.positions.map((_position, index) => this.#text(index)));
    return this.#texts.has(print.join());
  }

  /** The batch is written except for the events at `freed`, or given up ("all"). */
  settle(freed: ReadonlySet<number> | "all"): void {
    this.#freed = freed === "all" ? freed : this.#textsOf(freed);
    this.#texts = undefined;
    this.#settle();
  }

  /** Resolves when the batch is settled: whether the event of a key is in the table, or the key is free. */
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
 * The keys that deferred duplicates wait for: each waits for the keys of one batch, which tell the fate of its key. The
 * clock does not matter meanwhile: neither the end of the window nor a clock that is set back lets a duplicate pass.
 */
export class WaitingDrops {
  /** By the batch of the drop, and its position. */
  readonly #waits = new Map<number, Map<number, ReservedKeys | Fate>>();

  /** Notes that a duplicate in a batch waits for a key of another batch, or of its own. */
  note(batch: number, position: number, keys: ReservedKeys | Fate): void {
    const waits = this.#waits.get(batch) ?? new Map<number, ReservedKeys | Fate>();
    this.#waits.set(batch, waits.set(position, keys));
  }

  /** The fate of the key that a duplicate repeats. */
  async of(batch: number, position: number, print: Uint32Array): Promise<Fate> {
    const keys = this.#waits.get(batch)?.get(position) ?? "free";
    return typeof keys === "string" ? keys : keys.fateOf(print);
  }

  forget(batch: number): void {
    this.#waits.delete(batch);
  }
}

/** Finds, while final keys are loaded, those that duplicates in pending batches repeat. */
export class FinalRepeats {
  /** By the batch that duplicates wait for: the keys to look for, and whether they are final. */
  readonly #asked = new Map<number, Map<string, boolean>>();

  constructor(pending: readonly BatchRecord[]) {
    for (const { of, print } of pending.flatMap(({ waiting }) => waiting)) {
      if (of === undefined) continue;
      const keys = this.#asked.get(of) ?? new Map<string, boolean>();
      this.#asked.set(of, keys.set(print.join(), false));
    }
  }

  /** Notes the final keys of a batch. */
  look({ batch }: Pick<FinalKeys, "batch">, words: Uint32Array): void {
    const asked = this.#asked.get(batch);
    if (asked === undefined) return;
    for (let at = 0; at < words.length; at += 4) {
      const text = words.subarray(at, at + 4).join();
      if (asked.has(text)) asked.set(text, true);
    }
  }

  /** The fate of a key of a batch that is no longer pending. */
  fateOf({ of, print }: WaitingDrop): Fate {
    return of !== undefined && this.#asked.get(of)?.get(print.join()) === true ? "written" : "free";
  }
}
