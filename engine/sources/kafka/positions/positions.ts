import { epochBefore, nextPosition, type CutLog, type SourceNotes } from "../../../core/journal.ts";
import type { Feed, PositionRange } from "../../../core/positions.ts";
import type { SourceJournal } from "../../../core/source.ts";
import { kafkaPartition, partitionText } from "./feed.ts";
import type { GroupState } from "./group-state.ts";
import { TopicIds, type Recreated } from "./topic-ids.ts";

/** Values of `x-sluice.rewind` that are remembered. */
const mostRewinds = 100;

/** The next offset of each partition. Every change is written to the journal first. */
export class KafkaPositions {
  readonly #topics: ReadonlySet<string>;
  readonly #pipeline_id: string;
  readonly #journal: Pick<SourceJournal, "progress" | "pending" | "place">;
  #cluster = "";
  /** The offset after the last final one. */
  readonly #final = new Map<Feed, number>();
  /** The offset after the last that was handed out, or that a pending batch holds. */
  readonly #next = new Map<Feed, number>();
  /** The leadership in which the event before `#next` was written, where it is known. */
  readonly #epochs = new Map<Feed, number>();
  /** The committed offsets of the group, as far as they are known. */
  readonly #committed = new Map<Feed, number>();
  /** Partitions that a person has moved, until the batches from before the move are settled. */
  readonly #moved = new Set<Feed>();
  /** The ends of those of them whose log was cut: events after it that earlier batches have read are gone. */
  readonly #goneFrom = new Map<Feed, number>();
  #cutLogs: Readonly<Record<Feed, CutLog>>;
  #starts: Readonly<Record<Feed, string>>;
  #rewound: Readonly<Record<string, readonly string[]>>;
  readonly #topicIds: TopicIds;

  constructor(
    topics: Iterable<string>,
    pipeline_id: string,
    journal: Pick<SourceJournal, "progress" | "pending" | "place">,
  ) {
    this.#topics = new Set(topics);
    this.#pipeline_id = pipeline_id;
    this.#journal = journal;
    const { notes = {} } = journal.progress(pipeline_id);
    this.#cutLogs = notes.cutLogs ?? {};
    this.#starts = notes.starts ?? {};
    this.#rewound = notes.rewound ?? {};
    this.#topicIds = new TopicIds(notes.topicIds);
  }

  /** The id of the cluster; empty before it is known. */
  get cluster(): string {
    return this.#cluster;
  }

  /** Loads the positions of the topics in this cluster from the journal. */
  learn(cluster: string): void {
    this.#cluster = cluster;
    const progress = this.#journal.progress(this.#pipeline_id);
    const pending = this.#journal.pending(this.#pipeline_id);
    for (const feed of Object.keys(progress.positions)) {
      if (!this.isRead(feed)) continue;
      const moved = progress.moved?.[feed];
      const cut = this.#cutLogs[feed];
      if (moved !== undefined) this.#moved.add(feed);
      if (moved !== undefined && cut?.isSettled === true && cut.isRewind !== true) this.#goneFrom.set(feed, cut.end);
      this.#final.set(feed, (moved ?? progress.positions[feed]!) + 1);
      const held = moved === undefined ? nextPosition(feed, progress, pending) : undefined;
      this.#next.set(feed, held ?? this.#final.get(feed)!);
      this.#learnEpoch(feed, epochBefore(this.#next.get(feed)!, feed, progress, pending));
    }
  }

  /**
   * Learns the current topic ids, and names the partitions by them. Throws where a broker does not know the newest id.
   */
  there(state: GroupState): GroupState {
    const { cluster, topicIds, partitions } = state;
    this.#topicIds.saw(cluster, topicIds);
    const named = partitions.map((of) => {
      const { topic, partition } = kafkaPartition(of.feed)!;
      return { ...of, feed: this.#topicIds.feedThere(cluster, topic, partition) };
    });
    return { ...state, partitions: named };
  }

  /** Learns the current topic ids. Throws where a broker does not know the newest id. */
  saw(topicIds: ReadonlyMap<string, string>): void {
    this.#topicIds.saw(this.#cluster, topicIds);
  }

  /** Topics that were created again and had been read before. */
  recreated(): Recreated[] {
    return this.#topicIds.recreated(this.#cluster).filter(({ topic }) => this.isKnown(topic));
  }

  /** The id of the topic of a feed; undefined where it is not known. */
  topicIdOf(feed: Feed): string | undefined {
    return this.#topicIds.idOf(feed);
  }

  /** Whether a partition of a topic has an offset here. */
  isKnown(topic: string): boolean {
    return [...this.#final.keys()].some((feed) => kafkaPartition(feed)!.topic === topic);
  }

  /** Partitions that have an offset here. */
  get feeds(): Feed[] {
    return [...this.#final.keys()];
  }

  final(feed: Feed): number | undefined {
    return this.#final.get(feed);
  }

  next(feed: Feed): number | undefined {
    return this.#next.get(feed);
  }

  /** The leadership in which the event before `next` was written; undefined where it is not known. */
  epoch(feed: Feed): number | undefined {
    return this.#epochs.get(feed);
  }

  /** Where a partition begins that had no leader when its topic was first read; undefined where it had one. */
  startOf(feed: Feed): string | undefined {
    return this.#starts[feed];
  }

  /** Notes where partitions begin once they have a leader. Throws what the journal throws. */
  async noteStarts(starts: Readonly<Record<Feed, string>>): Promise<void> {
    if (Object.keys(starts).length === 0) return;
    const all = { ...this.#starts, ...starts };
    await this.#journal.place(this.#pipeline_id, {}, { notes: this.#notes({ starts: all }) });
    this.#starts = all;
  }

  /** Sets the offsets at which partitions go on. Throws what the journal throws, and has then changed nothing. */
  async place(offsets: ReadonlyMap<Feed, number>, options: { isMove?: boolean } = {}): Promise<void> {
    if (offsets.size === 0) return;
    const isNoted = [...offsets.keys()].some((feed) => feed in this.#cutLogs || feed in this.#starts);
    const cutLogs = isNoted ? this.#cutLogsPlaced(offsets.keys()) : this.#cutLogs;
    const starts = isNoted ? without(this.#starts, offsets.keys()) : this.#starts;
    const notes = isNoted ? { notes: this.#notes({ cutLogs, starts }) } : {};
    await this.#journal.place(this.#pipeline_id, lastsOf(offsets), { ...options, ...notes });
    this.#starts = starts;
    this.#finalAt(offsets);
    for (const feed of options.isMove === true ? offsets.keys() : []) {
      this.#moved.add(feed);
      const cut = cutLogs[feed];
      if (cut !== undefined) this.#goneFrom.set(feed, cut.end);
    }
    this.#cutLogs = cutLogs;
  }

  /** Whether this value of `x-sluice.rewind` was carried out. */
  hasRewound(value: string): boolean {
    return this.#rewound[this.#cluster]?.includes(value) === true;
  }

  /**
   * Sets partitions back to these offsets, once the batches from before are settled, and notes with which value of
   * `x-sluice.rewind`, in one write. Throws what the journal throws.
   */
  async rewind(offsets: ReadonlyMap<Feed, number>, value: string): Promise<void> {
    const values = [...(this.#rewound[this.#cluster] ?? []), value].slice(-mostRewinds);
    const rewound = { ...this.#rewound, [this.#cluster]: values };
    const back = Array.from(offsets, ([feed, end]): [Feed, CutLog] => {
      return [feed, { end, next: this.#readUpTo(feed), isSettled: true, isRewind: true }];
    });
    const cutLogs = { ...this.#cutLogs, ...Object.fromEntries(back) };
    const notes = this.#notes({ rewound, cutLogs });
    await this.#journal.place(this.#pipeline_id, lastsOf(offsets), { notes, isMove: offsets.size > 0 });
    [this.#rewound, this.#cutLogs] = [rewound, cutLogs];
    this.#finalAt(offsets);
    for (const feed of offsets.keys()) this.#moved.add(feed);
  }

  /**
   * Begins to read topics by their current ids, from these offsets on: topics that were created again, or whose ids are
   * new here. Forgets what else it knew of their partitions, but how far each had been read: this process may have
   * committed that after the topic was created again. Throws what the journal throws.
   */
  async begin(topics: readonly string[], offsets: ReadonlyMap<Feed, number> = new Map()): Promise<void> {
    if (topics.length === 0) return;
    const topicIds = this.#topicIds.notes(this.#cluster, topics);
    const cutLogs = { ...this.#cutLogs, ...this.#readBefore(offsets) };
    await this.#journal.place(this.#pipeline_id, lastsOf(offsets), { notes: this.#notes({ topicIds, cutLogs }) });
    this.#cutLogs = cutLogs;
    this.#topicIds.noted(topicIds);
    for (const feed of this.feeds.filter((of) => !this.isRead(of))) {
      for (const known of [this.#final, this.#next, this.#epochs, this.#committed]) known.delete(feed);
    }
    this.#finalAt(offsets);
  }

  /** Notes the ids of topics that are known by name only, or not at all. Throws what the journal throws. */
  noteTopicIds(): Promise<void> {
    const recreated = this.#topicIds.recreated(this.#cluster).map(({ topic }) => topic);
    const unread = recreated.filter((topic) => !this.isKnown(topic));
    return this.begin([...this.#topicIds.unnoted(this.#cluster), ...unread]);
  }

  /** The cut of a partition's log, as long as it is undecided where reading goes on. */
  cut(feed: Feed): CutLog | undefined {
    const cut = this.#cutLogs[feed];
    return cut?.isSettled === true ? undefined : cut;
  }

  /** Notes that a log ends before the next offset, so that the loss is still known after the log has grown past it. */
  async noteCut(feed: Feed, end: number): Promise<void> {
    const before = this.cut(feed);
    if (before !== undefined && before.end <= end) return;
    await this.#noteCutLogs({ ...this.#cutLogs, [feed]: { end, next: this.#readUpTo(feed) } });
  }

  /** A cut is none of what was read: that ends before it, and what follows there was never handed out. */
  forgetCut(feed: Feed): Promise<void> {
    return this.#noteCutLogs(without(this.#cutLogs, [feed]));
  }

  async #noteCutLogs(cutLogs: Readonly<Record<Feed, CutLog>>): Promise<void> {
    await this.#journal.place(this.#pipeline_id, {}, { notes: this.#notes({ cutLogs }) });
    this.#cutLogs = cutLogs;
  }

  /**
   * The offset up to which a partition had been read before its log was cut and reading went back; undefined where it
   * did not.
   */
  readBeforeCut(feed: Feed): number | undefined {
    const cut = this.#cutLogs[feed];
    return cut?.isSettled === true ? cut.next : undefined;
  }

  /**
   * From this offset on the log no longer holds the events that batches of an earlier start have read; Infinity where
   * it holds all.
   */
  goneFrom(feed: Feed): number {
    return this.#goneFrom.get(feed) ?? Infinity;
  }

  /** Whether everything that was handed out of a partition is settled. */
  isSettled(feed: Feed): boolean {
    return this.#final.get(feed) === this.#next.get(feed);
  }

  /** All batches from before a move are settled: from now on `settle` counts for moved partitions too. */
  began(): void {
    this.#moved.clear();
    this.#goneFrom.clear();
  }

  /** A batch was given up: its range is read again. */
  givenUp({ feed, first }: PositionRange): void {
    const next = this.#next.get(feed);
    if (next !== undefined && first < next) this.#goOnAt(feed, first);
  }

  /** `epoch`: the leadership in which the last one was written, where it is known. */
  handedOut(feed: Feed, last: number, epoch?: number): void {
    this.#next.set(feed, last + 1);
    this.#learnEpoch(feed, epoch);
  }

  /** Nothing is pending or handed out behind these offsets. */
  #finalAt(offsets: ReadonlyMap<Feed, number>): void {
    for (const [feed, offset] of offsets) {
      this.#final.set(feed, offset);
      this.#goOnAt(feed, offset);
    }
  }

  /** What was read before this offset, and when it was written, says nothing any more. */
  #goOnAt(feed: Feed, offset: number): void {
    this.#next.set(feed, offset);
    this.#epochs.delete(feed);
  }

  #learnEpoch(feed: Feed, epoch: number | undefined): void {
    if (epoch === undefined) this.#epochs.delete(feed);
    else this.#epochs.set(feed, epoch);
  }

  /**
   * Notes that ranges are final. Those of a partition come in order; a partition that a person has moved meanwhile
   * keeps that position. Returns the partitions whose position has advanced.
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

  /** The number of final offsets that are not committed to the group, by partition. */
  uncommitted(): Map<Feed, number> {
    const uncommitted = new Map<Feed, number>();
    for (const [feed, final] of this.#final) {
      const count = final - (this.#committed.get(feed) ?? final);
      if (count > 0) uncommitted.set(feed, count);
    }
    return uncommitted;
  }

  /** The feed of a partition of a topic that is read. */
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

  /**
   * The farthest offset up to which a partition was read, as the group may still have it: what was fetched before a cut is
   * handed out after it is noted, and reading may have gone back for an earlier cut.
   */
  #readUpTo(feed: Feed): number {
    return Math.max(this.#next.get(feed) ?? 0, this.#cutLogs[feed]?.next ?? 0);
  }

  /** How far the partitions of these had been read under the former ids of their topics, as settled cuts. */
  #readBefore(offsets: ReadonlyMap<Feed, number>): Record<Feed, CutLog> {
    const before = new Map(this.feeds.map((feed) => [partitionText(feed), this.#readUpTo(feed)]));
    const cuts = Array.from(offsets, ([feed, end]): [Feed, CutLog] => {
      return [feed, { end, next: before.get(partitionText(feed)) ?? end, isSettled: true }];
    });
    return Object.fromEntries(cuts.filter(([, { end, next }]) => next > end));
  }

  #notes(changes: SourceNotes): SourceNotes {
    const topicIds = this.#topicIds.notes(this.#cluster, []);
    return { topicIds, cutLogs: this.#cutLogs, starts: this.#starts, rewound: this.#rewound, ...changes };
  }

  /**
   * The noted cuts, now that these partitions are placed: the first placement after a cut keeps how far the partition
   * had been read, the next one removes the note.
   */
  #cutLogsPlaced(feeds: Iterable<Feed>): Readonly<Record<Feed, CutLog>> {
    const cutLogs = { ...this.#cutLogs };
    for (const feed of feeds) {
      const cut = this.cut(feed);
      if (cut === undefined) delete cutLogs[feed];
      else cutLogs[feed] = { ...cut, next: this.#readUpTo(feed), isSettled: true };
    }
    return cutLogs;
  }
}

function without<Value>(record: Readonly<Record<Feed, Value>>, feeds: Iterable<Feed>): Record<Feed, Value> {
  const left = { ...record };
  for (const feed of feeds) delete left[feed];
  return left;
}

function lastsOf(offsets: ReadonlyMap<Feed, number>): Record<Feed, number> {
  return Object.fromEntries(Array.from(offsets, ([feed, offset]) => [feed, offset - 1]));
}
