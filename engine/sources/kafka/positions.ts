import { nextPosition, type Journal } from "../../core/journal.ts";
import type { Feed, PositionRange } from "../../core/positions.ts";
import { kafkaFeed, kafkaPartition } from "./feed.ts";

/** How far the partitions of topics have come here, as the next offset of each. The journal has it first. */
export class KafkaPositions {
  readonly #topics: ReadonlySet<string>;
  readonly #pipeline_id: string;
  readonly #journal: Journal;
  #cluster = "";
  /** Behind the last that is final. */
  readonly #final = new Map<Feed, number>();
  /** Behind the last that was handed out, or that a pending batch holds. */
  readonly #next = new Map<Feed, number>();
  /** What the group has committed, as far as that is known. */
  readonly #said = new Map<Feed, number>();
  /** Partitions that a person has moved, as long as batches from before are settled. */
  readonly #moved = new Set<Feed>();

  constructor(topics: Iterable<string>, pipeline_id: string, journal: Journal) {
    this.#topics = new Set(topics);
    this.#pipeline_id = pipeline_id;
    this.#journal = journal;
  }

  /** Takes what the journal knows of the topics in this cluster. */
  learn(cluster: string): void {
    this.#cluster = cluster;
    const progress = this.#journal.progress(this.#pipeline_id);
    const pending = this.#journal.pending(this.#pipeline_id);
    for (const feed of Object.keys(progress.positions)) {
      if (!this.isRead(feed)) continue;
      const moved = progress.moved?.[feed];
      if (moved !== undefined) this.#moved.add(feed);
      this.#final.set(feed, (moved ?? progress.positions[feed]!) + 1);
      const held = moved === undefined ? nextPosition(feed, progress, pending) : undefined;
      this.#next.set(feed, held ?? this.#final.get(feed)!);
    }
  }

  /** Whether anything of a topic is known here. */
  isKnown(topic: string): boolean {
    return [...this.#final.keys()].some((feed) => kafkaPartition(feed)!.topic === topic);
  }

  final(feed: Feed): number | undefined {
    return this.#final.get(feed);
  }

  next(feed: Feed): number | undefined {
    return this.#next.get(feed);
  }

  /** Partitions go on at these offsets, whatever was before. Throws what the journal throws; nothing has changed then. */
  async place(offsets: ReadonlyMap<Feed, number>, options?: { isMove?: boolean }): Promise<void> {
    if (offsets.size === 0) return;
    const lasts = [...offsets].map(([feed, offset]) => [feed, offset - 1] as const);
    await this.#journal.place(this.#pipeline_id, Object.fromEntries(lasts), options);
    for (const [feed, offset] of offsets) {
      this.#final.set(feed, offset);
      this.#next.set(feed, offset);
      if (options?.isMove === true) this.#moved.add(feed);
    }
  }

  /** Batches from before a move are settled: what is read from now on counts. */
  began(): void {
    this.#moved.clear();
  }

  /** A batch was given up: its range is read again. */
  givenUp({ feed, first }: PositionRange): void {
    const next = this.#next.get(feed);
    if (next !== undefined) this.#next.set(feed, Math.min(next, first));
  }

  handedOut(feed: Feed, last: number): void {
    this.#next.set(feed, last + 1);
  }

  /**
   * Ranges are final. Those of a partition come in their order; where a person has moved it meanwhile, that counts.
   * Returns the partitions of these topics that come further with them.
   */
  settle(ranges: readonly PositionRange[]): Feed[] {
    return ranges.flatMap(({ feed, last }) => {
      const final = this.#final.get(feed);
      if (final === undefined || final > last || this.#moved.has(feed)) return [];
      this.#final.set(feed, last + 1);
      return [feed];
    });
  }

  /** The group has committed this offset. */
  said(feed: Feed, offset: number): void {
    this.#said.set(feed, offset);
  }

  /** Offsets that are final here, and that the group does not know of, by partition. */
  unsaid(): Map<Feed, number> {
    const unsaid = new Map<Feed, number>();
    for (const [feed, final] of this.#final) {
      const behind = final - (this.#said.get(feed) ?? final);
      if (behind > 0) unsaid.set(feed, behind);
    }
    return unsaid;
  }

  feed(topic: string, partition: number): Feed {
    return kafkaFeed({ cluster: this.#cluster, topic, partition });
  }

  /** Whether a feed is a partition that is read: of one of these topics, in this cluster. */
  isRead(feed: Feed): boolean {
    const found = kafkaPartition(feed);
    return found?.cluster === this.#cluster && this.#topics.has(found.topic);
  }

  /** Whether a feed is one of this cluster. */
  isOfCluster(feed: Feed): boolean {
    return kafkaPartition(feed)?.cluster === this.#cluster;
  }
}
