import { nextPosition, type Journal } from "../../core/journal.ts";
import type { Feed, PositionRange } from "../../core/positions.ts";
import { kafkaFeed, kafkaPartition } from "./feed.ts";

/** How far the partitions of a topic have come here, as the next offset of each. The journal has it first. */
export class KafkaPositions {
  readonly topic: string;
  readonly #pipeline_id: string;
  readonly #journal: Journal;
  #cluster = "";
  /** Behind the last that is final. */
  readonly #final = new Map<number, number>();
  /** Behind the last that was handed out, or that a pending batch holds. */
  readonly #next = new Map<number, number>();
  /** What the group has committed, as far as that is known. */
  readonly #said = new Map<number, number>();
  /** Partitions that a person has moved, as long as batches from before are settled. */
  readonly #moved = new Set<number>();

  constructor(topic: string, pipeline_id: string, journal: Journal) {
    this.topic = topic;
    this.#pipeline_id = pipeline_id;
    this.#journal = journal;
  }

  /** Takes what the journal knows of the topic in this cluster. */
  learn(cluster: string): void {
    this.#cluster = cluster;
    const progress = this.#journal.progress(this.#pipeline_id);
    const pending = this.#journal.pending(this.#pipeline_id);
    for (const feed of Object.keys(progress.positions)) {
      const partition = this.partitionOf(feed);
      if (partition === undefined) continue;
      const moved = progress.moved?.[feed];
      if (moved !== undefined) this.#moved.add(partition);
      this.#final.set(partition, (moved ?? progress.positions[feed]!) + 1);
      const held = moved === undefined ? nextPosition(feed, progress, pending) : undefined;
      this.#next.set(partition, held ?? this.#final.get(partition)!);
    }
  }

  /** Whether anything of the topic is known here. */
  get isKnown(): boolean {
    return this.#final.size > 0;
  }

  final(partition: number): number | undefined {
    return this.#final.get(partition);
  }

  next(partition: number): number | undefined {
    return this.#next.get(partition);
  }

  /** Partitions go on at these offsets, whatever was before. Throws what the journal throws; nothing has changed then. */
  async place(offsets: ReadonlyMap<number, number>, options?: { isMove?: boolean }): Promise<void> {
    if (offsets.size === 0) return;
    const lasts = [...offsets].map(([partition, offset]) => [this.feed(partition), offset - 1] as const);
    await this.#journal.place(this.#pipeline_id, Object.fromEntries(lasts), options);
    for (const [partition, offset] of offsets) {
      this.#final.set(partition, offset);
      this.#next.set(partition, offset);
      if (options?.isMove === true) this.#moved.add(partition);
    }
  }

  /** Batches from before a move are settled: what is read from now on counts. */
  began(): void {
    this.#moved.clear();
  }

  /** A batch was given up: its range is read again. */
  givenUp({ feed, first }: PositionRange): void {
    const partition = this.partitionOf(feed);
    const next = partition === undefined ? undefined : this.#next.get(partition);
    if (partition !== undefined && next !== undefined) this.#next.set(partition, Math.min(next, first));
  }

  handedOut(feed: Feed, last: number): void {
    const partition = this.partitionOf(feed);
    if (partition !== undefined) this.#next.set(partition, last + 1);
  }

  /**
   * Ranges are final. Those of a partition come in their order; where a person has moved it meanwhile, that counts.
   * Returns the partitions of this topic that come further with them.
   */
  settle(ranges: readonly PositionRange[]): number[] {
    return ranges.flatMap(({ feed, last }) => {
      const partition = this.partitionOf(feed);
      const final = partition === undefined ? undefined : this.#final.get(partition);
      if (partition === undefined || final === undefined || final > last || this.#moved.has(partition)) return [];
      this.#final.set(partition, last + 1);
      return [partition];
    });
  }

  /** The group has committed this offset. */
  said(partition: number, offset: number): void {
    this.#said.set(partition, offset);
  }

  /** Offsets that are final here, and that the group does not know of, by partition. */
  unsaid(): Map<number, number> {
    const unsaid = new Map<number, number>();
    for (const [partition, final] of this.#final) {
      const behind = final - (this.#said.get(partition) ?? final);
      if (behind > 0) unsaid.set(partition, behind);
    }
    return unsaid;
  }

  feed(partition: number): Feed {
    return kafkaFeed({ cluster: this.#cluster, topic: this.topic, partition });
  }

  /** The partition of this topic that a feed stands for. */
  partitionOf(feed: Feed): number | undefined {
    const found = kafkaPartition(feed);
    return found?.cluster === this.#cluster && found.topic === this.topic ? found.partition : undefined;
  }

  /** Whether a feed is one of this cluster. */
  isOfCluster(feed: Feed): boolean {
    return kafkaPartition(feed)?.cluster === this.#cluster;
  }
}
