import { type EngineOptions, type KafkaSourceConfig, readRewind, type RewindTo } from "../../../../schemas/pipeline.ts";
import { EngineError, LeftForLater } from "../../../core/errors.ts";
import { type BatchRecord, holdsPositions, rangesOf } from "../../../core/journal.ts";
import { consumerGroup } from "../../../core/names.ts";
import type { SourcePause, Waited } from "../../../core/pause.ts";
import type { Feed, PositionRange } from "../../../core/positions.ts";
import type { SourceJournal, SourceSignals } from "../../../core/source.ts";
import type { Hide } from "../../../peers/hidden-secrets.ts";
import { retry } from "../../../flow/retry.ts";
import { isPassing } from "../../../state/storage-error.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { kafkaPartition, partitionOf } from "../positions/feed.ts";
import type { Group } from "./group.ts";
import type { Ends, GroupState, PartitionState } from "../positions/group-state.ts";
import { LostEvents, type LostCheck } from "./lost-events.ts";
import type { KafkaIdentity } from "./identity.ts";
import { isMeant, rewindOffsets } from "./rewind-offsets.ts";
import { judge, type Judgement, type Known } from "./ownership.ts";
import type { KafkaPositions } from "../positions/positions.ts";
import { failureText, nothingHidden, wayOutOfFailure, waysOutOfKafka } from "../brokers/failures.ts";

type Ours = Extract<Judgement, { kind: "ours" }>;

/** A topic that is read. */
export interface TopicOptions {
  /** Where it begins if the journal, the group and the options have no offset. */
  start: KafkaSourceConfig["consumer_group_initial_offset"];
  /** Another group, at whose offsets it begins before that. */
  adopted?: string | undefined;
  hasDedup: boolean;
}

export interface OpeningOptions {
  pipeline_id: string;
  /** By their names, at least one. */
  topics: ReadonlyMap<string, TopicOptions>;
  identity: KafkaIdentity;
  options: Pick<EngineOptions, "start" | "rewind" | "take_over" | "on_lost" | "consumer_group">;
  journal: SourceJournal;
  telemetry: Telemetry;
  /** The pause in which it waits while brokers fail, or another Sluice owns the group. */
  pause: SourcePause;
  /** Removes secrets from what brokers say; without it there are none. */
  hide?: Hide;
}

/** The result of the checks before the first join. */
export interface Opened {
  /** Pending batches that were given up, by their numbers. */
  givenUp: number[];
  /** A person has moved the group: pending batches are settled first. */
  isMoved: boolean;
}

/**
 * Decides before the first read whether this pipeline may read the group, and where each partition goes on
 * (docs/delivery-protocol.md, Kafka). The decisions are journaled before anything is committed to the group.
 */
export class Opening {
  readonly #options: OpeningOptions;
  readonly #group: Group;
  readonly #positions: KafkaPositions;
  readonly #pause: SourcePause;
  readonly #onRead: (state: GroupState) => void;
  readonly #lostEvents: LostEvents;

  /** `onRead` is called with each state of the group that is read. */
  constructor(
    options: OpeningOptions,
    group: Group,
    positions: KafkaPositions,
    onRead: (state: GroupState) => void = () => undefined,
  ) {
    this.#options = options;
    this.#group = group;
    this.#positions = positions;
    this.#pause = options.pause;
    this.#onRead = onRead;
    this.#lostEvents = new LostEvents(options, positions, {
      read: () => this.read(),
      divergences: (only) => this.#divergences(only === undefined ? positions.feeds : [only]),
      wait: (text, attempt, signals) => this.wait({ class: "lost", text }, attempt, signals),
    });
  }

  /** The local facts about the group, for `judge`. */
  get known(): Known {
    const { pipeline_id, identity, options } = this.#options;
    const positions = this.#positions;
    return {
      groupId: consumerGroup(pipeline_id, options),
      identity,
      next: (feed) => positions.final(feed),
      takeOver: options.take_over,
      readBeforeCut: (feed) => positions.readBeforeCut(feed),
      isCut: (feed) => positions.cut(feed) !== undefined,
      recreated: this.#recreated,
    };
  }

  get #recreated(): ReadonlySet<string> {
    return new Set(this.#positions.recreated().map(({ topic }) => topic));
  }

  /** Waits until the brokers answer and the group is ours. Throws LeftForLater. */
  async run(signals: SourceSignals): Promise<Opened> {
    const { judgement, of } = await this.#until(signals, () => this.#ourState(signals));
    // Decided once: a second attempt would find fewer batches in the journal, and partitions that were placed already.
    const taken = this.#further(judgement.taken);
    const read = this.#readByAnother(taken);
    const known = new Set(this.#positions.feeds);
    const isMoved = await this.#until(signals, () => this.#place(of, { ...judgement, taken }, read));
    // Also where it committed nothing further than here: what it wrote since then comes again.
    if (judgement.taken.size > 0) this.#reportTakenOver(read);
    const isRewound = await this.#until(signals, () => this.#rewind(of, known));
    const isCut = await this.#until(signals, () => this.checkRange(signals));
    this.#pause.leave();
    return { givenUp: read.map(({ batch }) => batch), isMoved: isMoved || isRewound || isCut };
  }

  /** Whether the brokers still have the events of ranges; waits until they answer. Throws LeftForLater. */
  async stillHolds(ranges: readonly PositionRange[], signals: SourceSignals): Promise<boolean> {
    if (!ranges.every(({ feed }) => this.#positions.isRead(feed))) return false;
    const partitions = await this.#until(signals, () => this.#knownOf(ranges));
    this.#pause.leave();
    return ranges.every(({ feed, first, last, count }) => {
      const ends = partitions.get(feed);
      if (count === 0) return true;
      return ends !== undefined && ends.low <= first && last < Math.min(ends.high, this.#positions.goneFrom(feed));
    });
  }

  /** The state of the group, with partitions of the topics as they are now. Throws what kafkajs throws. */
  async read(): Promise<GroupState> {
    const state = this.#positions.there(await this.#group.read());
    this.#onRead(state);
    return state;
  }

  #divergences(feeds: readonly Feed[]): Promise<Map<Feed, number | Error>> {
    const read = feeds.flatMap((feed) => {
      const [next, epoch] = [this.#positions.next(feed), this.#positions.epoch(feed)];
      return next === undefined || epoch === undefined ? [] : [{ feed, next, epoch }];
    });
    return this.#group.divergences(read);
  }

  /** The offsets that the partitions of ranges have. Throws why those of one are not known now. */
  async #knownOf(ranges: readonly PositionRange[]): Promise<Map<Feed, Ends | undefined>> {
    const { partitions } = await this.read();
    const asked = new Set(ranges.map(({ feed }) => feed));
    const own = partitions.filter(({ feed }) => asked.has(feed));
    const unknown = own.find(({ missing }) => missing !== undefined);
    if (unknown !== undefined) throw unknown.missing;
    const read = ranges.flatMap(({ feed, last, epoch }) =>
      epoch === undefined ? [] : [{ feed, next: last + 1, epoch }],
    );
    const parted = await this.#group.divergences(read);
    return new Map(
      own.map(({ feed, ends }) => {
        const end = parted.get(feed);
        if (end instanceof Error) throw end;
        // What the log has behind there are other events.
        return [feed, ends && { ...ends, high: Math.min(ends.high, end ?? Infinity) }];
      }),
    );
  }

  /** Whether a topic that is read was created again; asks the brokers. Throws what kafkajs throws. */
  async isRecreated(): Promise<boolean> {
    this.#positions.saw(await this.#group.topicIds());
    return this.#positions.recreated().length > 0;
  }

  /** See `LostEvents.isWaiting`. */
  get waitsForLost(): boolean {
    return this.#lostEvents.isWaiting;
  }

  /** See `LostEvents.find`. */
  checkRange(signals: SourceSignals, look?: LostCheck): Promise<boolean> {
    return this.#lostEvents.find(signals, look);
  }

  /**
   * Partitions without a local offset go on at the group's offset, or begin. Offsets that other applications have
   * committed are reported and ignored. `taken`: the offsets of partitions that are taken over.
   */
  async placeNew(
    of: GroupState,
    { found, fresh, foreign }: Ours,
    taken: ReadonlyMap<Feed, number> = new Map(),
  ): Promise<void> {
    const { telemetry, pipeline_id } = this.#options;
    const recreated = this.#recreated;
    const adopted = await this.#adopted(fresh);
    const isFresh = new Set(fresh);
    const known = new Set([...this.#options.topics.keys()].filter((topic) => this.#positions.isKnown(topic)));
    const unplaced = of.partitions.flatMap((one): Unplaced[] => {
      const { topic } = kafkaPartition(one.feed)!;
      const options = this.#options.topics.get(topic);
      if (options === undefined || !isFresh.has(one.feed) || adopted.has(one.feed)) return [];
      return [{ ...one, at: this.#startOf(one.feed, options, known.has(topic)) }];
    });
    await this.#positions.noteStarts(startsOf(unplaced.filter(({ ends }) => ends === undefined)));
    const begins = new Map([...found, ...taken, ...adopted, ...(await this.#begins(unplaced))]);
    // The group's offset alone does not decide about a topic that was created again.
    for (const feed of begins.keys()) if (recreated.has(kafkaPartition(feed)!.topic)) begins.delete(feed);
    await this.#positions.noteTopicIds();
    for (const [feed, offset] of foreign) {
      telemetry.foreignCommit({ pipeline_id, ...partitionOf(feed), offset, local: this.#positions.final(feed)! });
    }
    await this.#positions.place(begins);
  }

  /** Waits until the brokers say that the group is still ours. Throws LeftForLater. */
  async checkOwner(signals: SourceSignals): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { judged } = await this.#until(signals, async () => ({
        judged: judge(await this.read(), this.known, false),
      }));
      if (judged.kind === "ours") return this.#pause.leave();
      await this.wait({ class: "owner", text: judged.text }, attempt, signals);
    }
  }

  /** Waits before another attempt. Throws LeftForLater where the pipeline stops meanwhile. */
  async wait(waited: Waited, attempt: number, signals: SourceSignals) {
    const failure: Waited = { ...wayOutOf(waited), ...waited, text: this.#hide(waited.text) };
    if (signals.drain.aborted) throw new LeftForLater(failure.text);
    await this.#pause.wait(failure, attempt, signals.drain);
    if (signals.drain.aborted) throw new LeftForLater(failure.text);
  }

  /** The group is ours again. */
  pauseEnded(): void {
    this.#pause.leave();
  }

  get #hide(): Hide {
    return this.#options.hide ?? nothingHidden;
  }

  async #ourState(signals: SourceSignals): Promise<{ of: GroupState; judgement: Ours }> {
    for (let attempt = 1; ; attempt += 1) {
      const of = await this.read();
      this.#positions.learn(of.cluster);
      for (const { feed, committed } of of.partitions) this.#positions.noteCommitted(feed, committed?.offset ?? 0);
      const judgement = judge(of, this.known, true);
      if (judgement.kind === "ours") return { of, judgement };
      await this.wait({ class: "owner", text: judgement.text }, attempt, signals);
    }
  }

  /** Sets all partitions to the offsets found; resolves with whether a person has moved the group. */
  async #place(of: GroupState, judged: Ours, givenUp: readonly BatchRecord[]): Promise<boolean> {
    const { journal, pipeline_id, telemetry } = this.#options;
    const { moved, taken } = judged;
    // From the newest to the oldest: after a crash the batches that are left are the oldest ones, without a gap.
    for (const record of givenUp.toReversed()) {
      await journal.giveUp(record);
      for (const range of rangesOf(record)) this.#positions.givenUp(range);
    }
    await this.placeNew(of, judged, taken);
    const moves = [...moved].map(([feed, to]) => ({ ...partitionOf(feed), from: this.#positions.final(feed)!, to }));
    await this.#positions.place(moved, { isMove: true });
    for (const move of moves) {
      telemetry.positionMoved({
        pipeline_id,
        ...move,
        hasDedup: this.#options.topics.get(move.topic)?.hasDedup === true,
      });
    }
    return moved.size > 0 || journal.progress(pipeline_id).moved !== undefined;
  }

  /**
   * Sets partitions that had an offset here back as `x-sluice.rewind` asks for, once for each of its values: what goes back to
   * an earlier file reads nothing again. Those without a leader stay, and those of which it is undecided where they go on.
   * Resolves with whether it has set any back.
   */
  async #rewind({ partitions }: GroupState, known: ReadonlySet<Feed>): Promise<boolean> {
    const { pipeline_id, options, telemetry } = this.#options;
    const { rewind } = options;
    const to = rewind === undefined || this.#positions.hasRewound(rewind) ? undefined : readRewind(rewind);
    if (rewind === undefined || to === undefined) return false;
    const read = partitions.filter(({ feed }) => known.has(feed));
    const back = await this.#rewindsTo(to, read);
    const from = new Map([...back.keys()].map((feed) => [feed, this.#positions.final(feed)!]));
    await this.#positions.rewind(back, rewind);
    for (const [feed, offset] of back) {
      const { topic, partition } = partitionOf(feed);
      telemetry.rewound({ pipeline_id, topic, partition, from: from.get(feed)!, to: offset });
    }
    if (back.size === 0 && read.length > 0) telemetry.rewoundNothing({ pipeline_id, asked: rewind });
    return back.size > 0;
  }

  /** The offsets to which partitions are set back. What is gone is left out: they begin at the first one that is there. */
  async #rewindsTo(to: RewindTo, partitions: readonly PartitionState[]): Promise<Map<Feed, number>> {
    const recreated = this.#recreated;
    const known = partitions.flatMap(({ feed, ends }) => {
      const isDecided = this.#positions.cut(feed) === undefined && !recreated.has(kafkaPartition(feed)!.topic);
      return isDecided && ends !== undefined && isMeant(to, feed) ? [{ feed, first: ends.low }] : [];
    });
    const found = await rewindOffsets(this.#group, to, known);
    const back = found.map(({ feed, first, next }): [Feed, number] => [feed, Math.max(first, next)]);
    return new Map(back.filter(([feed, offset]) => offset < this.#positions.final(feed)!));
  }

  /**
   * The offsets that groups which are adopted have in partitions without any offset; none in partitions that were added
   * later. Throws where such a group has members, which would read on, or no offsets of its topic.
   */
  async #adopted(fresh: readonly Feed[]): Promise<Map<Feed, number>> {
    const found = new Map<Feed, number>();
    for (const [topic, { adopted }] of this.#options.topics) {
      const feeds = fresh.filter((feed) => kafkaPartition(feed)!.topic === topic);
      if (adopted === undefined || feeds.length === 0 || this.#positions.isKnown(topic)) continue;
      for (const [feed, offset] of await this.#group.adopted(adopted, feeds)) found.set(feed, offset);
    }
    return found;
  }

  /**
   * Where a partition without any offset begins: one of a new topic as the options say, one that was added later at its
   * beginning.
   */
  #startOf(feed: Feed, { start }: TopicOptions, isLater: boolean): string {
    const noted = this.#positions.startOf(feed);
    if (noted !== undefined) return noted;
    return isLater ? "earliest" : (this.#options.options.start ?? start);
  }

  /** The offsets at which partitions begin. One that nobody leads now has none yet. */
  async #begins(unplaced: readonly Unplaced[]): Promise<[Feed, number][]> {
    const led = unplaced.flatMap(({ ends, ...of }) => (ends === undefined ? [] : [{ ...of, ends }]));
    const times = new Set(led.map(({ at }) => at).filter((at) => /^\d/.test(at)));
    const since = new Map<Feed, number>();
    for (const time of times) {
      const feeds = led.filter(({ at }) => at === time).map(({ feed }) => feed);
      const found = await this.#group.offsetsSince(feeds.map(partitionOf), Date.parse(time));
      for (const [index, feed] of feeds.entries()) since.set(feed, found[index]!);
    }
    return led.map(({ feed, ends, at }) => [feed, since.get(feed) ?? (at === "latest" ? ends.high : ends.low)]);
  }

  /** The next offsets of partitions that the other run has read. In the others the batches prepared here decide. */
  #further(taken: ReadonlyMap<Feed, number>): Map<Feed, number> {
    return new Map([...taken].filter(([feed, offset]) => this.#positions.final(feed) !== offset));
  }

  #readByAnother(taken: ReadonlyMap<Feed, number>): BatchRecord[] {
    const { journal, pipeline_id } = this.#options;
    return readByAnother(journal.pending(pipeline_id), (feed) => taken.get(feed));
  }

  #reportTakenOver(givenUp: readonly BatchRecord[]): void {
    const { telemetry, pipeline_id, options } = this.#options;
    const rows = givenUp.reduce((sum, record) => sum + record.rows, 0);
    telemetry.takenOver({ pipeline_id, run: options.take_over!, batches: givenUp.length, rows });
  }

  /** Retries until the brokers answer, and the disk has room for the journal. */
  #until<T>(signals: SourceSignals, work: () => Promise<T>): Promise<T> {
    return retry(work, async (error, attempt) => {
      if (error instanceof LeftForLater) throw error;
      await this.wait(waitedFor(error, this.#hide), attempt, signals);
    });
  }
}

/** A partition without any offset, and where it is to begin. */
type Unplaced = PartitionState & { at: string };

/** What to note of partitions that begin later: the end as it is now is the time. */
function startsOf(unled: readonly Unplaced[]): Record<Feed, string> {
  return Object.fromEntries(unled.map(({ feed, at }) => [feed, at === "latest" ? new Date().toISOString() : at]));
}

function wayOutOf({ class: kind }: Waited): Pick<Waited, "way_out"> {
  return kind === "source" || kind === "lost" ? { way_out: waysOutOfKafka[kind] } : {};
}

/** What to wait for after an error. Throws an error of the journal that waiting cannot mend. */
function waitedFor(error: unknown, hide: Hide): Waited {
  if (!(error instanceof EngineError))
    return { class: "source", text: failureText(error, hide), way_out: wayOutOfFailure(error) };
  if (!isPassing(error)) throw error;
  return { class: "disk", text: error.message };
}

/**
 * Of pending batches, in their order, those that the run that is taken over may have read. `upTo`: the next offset of
 * that run in a feed; undefined where it has none. After the first such batch of a feed no pending batch is kept: the
 * feed is read again from there, in order.
 */
function readByAnother(pending: readonly BatchRecord[], upTo: (feed: Feed) => number | undefined): BatchRecord[] {
  const again = new Set<Feed>();
  const isRead = ({ feed, first }: PositionRange): boolean => again.has(feed) || first < (upTo(feed) ?? -Infinity);
  return pending.filter((record) => {
    // Events that dedup has released lie before all positions: no other run has read them.
    if (!holdsPositions(record) || !rangesOf(record).some(isRead)) return false;
    for (const { feed } of rangesOf(record)) again.add(feed);
    return true;
  });
}
