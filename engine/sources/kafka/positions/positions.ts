import { nextPosition, type CutLog, type Journal, type SourceNotes } from "../../../core/journal.ts";
import type { Feed, PositionRange } from "../../../core/positions.ts";
import { kafkaPartition } from "./feed.ts";
import type { GroupState } from "./group-state.ts";
import { TopicIds, type Recreated } from "./topic-ids.ts";

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
  readonly #committed = new Map<Feed, number>();
  /** Partitions that a person has moved, as long as batches from before are settled. */
  readonly #moved = new Set<Feed>();
  /** Where those of them end that were cut: what batches from before have read after it is gone. */
  readonly #goneFrom = new Map<Feed, number>();
  #cutLogs: Readonly<Record<Feed, CutLog>>;
  readonly #topicIds: TopicIds;

  constructor(topics: Iterable<string>, pipeline_id: string, journal: Journal) {
    this.#topics = new Set(topics);
    this.#pipeline_id = pipeline_id;
    this.#journal = journal;
    const { notes = {} } = journal.progress(pipeline_id);
    this.#cutLogs = notes.cutLogs ?? {};
    this.#topicIds = new TopicIds(notes.topicIds);
  }

  /** Takes what the journal knows of the topics in this cluster. */
  learn(cluster: string): void {
    this.#cluster = cluster;
    const progress = this.#journal.progress(this.#pipeline_id);
    const pending = this.#journal.pending(this.#pipeline_id);
    for (const feed of Object.keys(progress.positions)) {
      if (!this.isRead(feed)) continue;
      const moved = progress.moved?.[feed];
      const cut = this.#cutLogs[feed];
      if (moved !== undefined) this.#moved.add(feed);
      if (moved !== undefined && cut?.isSettled === true) this.#goneFrom.set(feed, cut.end);
      this.#final.set(feed, (moved ?? progress.positions[feed]!) + 1);
      const held = moved === undefined ? nextPosition(feed, progress, pending) : undefined;
      this.#next.set(feed, held ?? this.#final.get(feed)!);
    }
  }

  /** Takes which topics are there, and calls the partitions by them. Throws where a broker does not know of the newest. */
  there(state: GroupState): GroupState {
    const { cluster, topicIds, partitions } = state;
    this.#topicIds.saw(cluster, topicIds);
    const named = partitions.map((of) => {
      const { topic, partition } = kafkaPartition(of.feed)!;
      return { ...of, feed: this.#topicIds.feedThere(cluster, topic, partition) };
    });
    return { ...state, partitions: named };
  }

  /** Takes which topics are there. Throws where a broker does not know of the newest. */
  saw(topicIds: ReadonlyMap<string, string>): void {
    this.#topicIds.saw(this.#cluster, topicIds);
  }

  /** Topics that were created again, and of which anything was read before. */
  recreated(): Recreated[] {
    return this.#topicIds.recreated(this.#cluster).filter(({ topic }) => this.isKnown(topic));
  }

  /** The id of the topic that a feed is a partition of; undefined where none is known. */
  topicIdOf(feed: Feed): string | undefined {
    return this.#topicIds.idOf(feed);
  }

  /** Whether anything of a topic is known here. */
  isKnown(topic: string): boolean {
    return [...this.#final.keys()].some((feed) => kafkaPartition(feed)!.topic === topic);
  }

  /** Partitions of which anything is known here. */
  get feeds(): Feed[] {
    return [...this.#final.keys()];
  }

  final(feed: Feed): number | undefined {
    return this.#final.get(feed);
  }

  next(feed: Feed): number | undefined {
    return this.#next.get(feed);
  }

  /** Partitions go on at these offsets, whatever was before. Throws what the journal throws; nothing has changed then. */
  async place(offsets: ReadonlyMap<Feed, number>, options: { isMove?: boolean } = {}): Promise<void> {
    if (offsets.size === 0) return;
    const isCut = [...offsets.keys()].some((feed) => this.#cutLogs[feed] !== undefined);
    const cutLogs = isCut ? this.#cutLogsPlaced(offsets.keys()) : this.#cutLogs;
    const notes = isCut ? { notes: this.#notes({ cutLogs }) } : {};
    await this.#journal.place(this.#pipeline_id, lastsOf(offsets), { ...options, ...notes });
    for (const [feed, offset] of offsets) {
      this.#final.set(feed, offset);
      this.#next.set(feed, offset);
      if (options.isMove !== true) continue;
      this.#moved.add(feed);
      const cut = cutLogs[feed];
      if (cut !== undefined) this.#goneFrom.set(feed, cut.end);
    }
    this.#cutLogs = cutLogs;
  }

  /**
   * Topics are read as they are there now, from these offsets on: those that were created again, or whose ids are new
   * here. Of their partitions nothing else is known then. Throws what the journal throws.
   */
  async begin(topics: readonly string[], offsets: ReadonlyMap<Feed, number> = new Map()): Promise<void> {
    if (topics.length === 0) return;
    const topicIds = this.#topicIds.notes(this.#cluster, topics);
    await this.#journal.place(this.#pipeline_id, lastsOf(offsets), { notes: this.#notes({ topicIds }) });
    this.#topicIds.noted(topicIds);
    for (const feed of this.feeds.filter((of) => !this.isRead(of))) {
      for (const known of [this.#final, this.#next, this.#committed]) known.delete(feed);
    }
    for (const [feed, offset] of offsets) {
      this.#final.set(feed, offset);
      this.#next.set(feed, offset);
    }
  }

  /** Notes the ids of topics that are known by their names alone so far, or not at all. Throws what the journal throws. */
  noteTopicIds(): Promise<void> {
    const recreated = this.#topicIds.recreated(this.#cluster).map(({ topic }) => topic);
    const unread = recreated.filter((topic) => !this.isKnown(topic));
    return this.begin([...this.#topicIds.unnoted(this.#cluster), ...unread]);
  }

  /** Where the log of a partition was cut, as long as nothing says where it goes on. */
  cut(feed: Feed): CutLog | undefined {
    const cut = this.#cutLogs[feed];
    return cut?.isSettled === true ? undefined : cut;
  }

  /** Notes that a log ends before what is to be read next, so that it does not pass for read when it has grown. */
  async noteCut(feed: Feed, end: number): Promise<void> {
    const before = this.cut(feed);
    if (before !== undefined && before.end <= end) return;
    const cutLogs = { ...this.#cutLogs, [feed]: { end, next: before?.next ?? this.#next.get(feed)! } };
    await this.#journal.place(this.#pipeline_id, {}, { notes: this.#notes({ cutLogs }) });
    this.#cutLogs = cutLogs;
  }

  /** How far a partition had been read before its log was cut and it went back; undefined where it did not. */
  readBeforeCut(feed: Feed): number | undefined {
    const cut = this.#cutLogs[feed];
    return cut?.isSettled === true ? cut.next : undefined;
  }

  /** Offsets from here on are not those that batches of an earlier start have read; Infinity where all are. */
  goneFrom(feed: Feed): number {
    return this.#goneFrom.get(feed) ?? Infinity;
  }

  /** Whether everything that was handed out of a partition is settled. */
  isSettled(feed: Feed): boolean {
    return this.#final.get(feed) === this.#next.get(feed);
  }

  /** Batches from before a move are settled: what is read from now on counts. */
  began(): void {
    this.#moved.clear();
    this.#goneFrom.clear();
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
  noteCommitted(feed: Feed, offset: number): void {
    this.#committed.set(feed, offset);
  }

  /** Offsets that are final here, and that the group does not know of, by partition. */
  uncommitted(): Map<Feed, number> {
    const unsaid = new Map<Feed, number>();
    for (const [feed, final] of this.#final) {
      const behind = final - (this.#committed.get(feed) ?? final);
      if (behind > 0) unsaid.set(feed, behind);
    }
    return unsaid;
  }

  /** What a partition of one of the topics that are read is called. */
  feed(topic: string, partition: number): Feed {
    return this.#topicIds.feedRead(this.#cluster, topic, partition);
  }

  /** Whether a feed is a partition that is read: of one of these topics, in this cluster. */
  isRead(feed: Feed): boolean {
    const found = kafkaPartition(feed);
    if (found?.cluster !== this.#cluster || !this.#topics.has(found.topic)) return false;
    return feed === this.feed(found.topic, found.partition);
  }

  /** Whether a feed may be read again: one of this cluster, whose topic was not created again. */
  isThere(feed: Feed): boolean {
    const found = kafkaPartition(feed);
    if (found?.cluster !== this.#cluster) return false;
    return feed === this.#topicIds.feedThere(found.cluster, found.topic, found.partition);
  }

  #notes(changes: SourceNotes): SourceNotes {
    const topicIds = this.#topicIds.notes(this.#cluster, []);
    return { topicIds, cutLogs: this.#cutLogs, ...changes };
  }

  /** What is left to say of cut logs where these partitions go on elsewhere: how far they had come, until the next time. */
  #cutLogsPlaced(feeds: Iterable<Feed>): Readonly<Record<Feed, CutLog>> {
    const cutLogs = { ...this.#cutLogs };
    for (const feed of feeds) {
      const cut = this.cut(feed);
      if (cut === undefined) delete cutLogs[feed];
      else cutLogs[feed] = { ...cut, isSettled: true };
    }
    return cutLogs;
  }
}

function lastsOf(offsets: ReadonlyMap<Feed, number>): Record<Feed, number> {
  return Object.fromEntries(Array.from(offsets, ([feed, offset]) => [feed, offset - 1]));
}
