export interface TransactionOptions {
  append: (topic: string, partition: number, values: readonly string[], gap: number) => number;
  mark: (topic: string, partition: number, kind: "commit" | "abort") => void;
}

/** What a producer writes into partitions, to be read by others when it ends as `committed`, or never. */
export class Transaction {
  readonly #options: TransactionOptions;
  readonly #places = new Map<string, [topic: string, partition: number]>();

  constructor(options: TransactionOptions) {
    this.#options = options;
  }

  /** Appends a batch, after so many offsets that are left out. Returns the offset of its first record. */
  produce(topic: string, partition: number, values: readonly string[], gap = 0): number {
    this.#places.set(`${topic}/${partition}`, [topic, partition]);
    return this.#options.append(topic, partition, values, gap);
  }

  end(how: "committed" | "aborted"): void {
    for (const place of this.#places.values()) this.#options.mark(...place, how === "committed" ? "commit" : "abort");
    this.#places.clear();
  }
}
