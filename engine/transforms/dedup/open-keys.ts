import type { Fate } from "../../core/key-memory.ts";

/**
 * The keys that a batch has reserved for one window, four words each, with the positions of the events that brought
 * them, until it is written or given up. It then says of each what became of it, however long that is asked.
 */
export class OpenKeys {
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
