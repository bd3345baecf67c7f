import type { Feed } from "../../../core/positions.ts";
import type { SourceSignals } from "../../../core/source.ts";
import { Mutex } from "../../../flow/mutex.ts";
import { kafkaPartition, partitionOf, partitionText } from "../positions/feed.ts";
import type { GroupState, PartitionState } from "../positions/group-state.ts";
import type { EngineOptions } from "../../../../schemas/pipeline.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import type { KafkaPositions } from "../positions/positions.ts";
import { claimOf } from "./identity.ts";
import type { Recreated } from "../positions/topic-ids.ts";

export interface LostEventsOptions {
  pipeline_id: string;
  topics: ReadonlyMap<string, { hasDedup: boolean }>;
  options: Pick<EngineOptions, "on_lost">;
  telemetry: Telemetry;
}

/** Which partitions are checked. */
export interface LostCheck {
  /** Only this one. */
  only?: Feed;
  /** Batches are in flight. */
  isRunning?: boolean;
  /** The brokers have answered: what failed before, because they did not, is over. */
  onAnswered?: () => void;
}

/** So many losses are named. */
const mostNamed = 5;

interface AskedBrokers {
  /** Reads the state of the group. Throws what the client throws. */
  read(): Promise<GroupState>;
  /**
   * Of all partitions, or of this one, those whose log is not the one that was read: the offset where they part; or why that is
   * not known.
   */
  divergences(only?: Feed): Promise<Map<Feed, number | Error>>;
  /** A pause because events are lost. Throws LeftForLater. */
  wait(text: string, attempt: number, signals: SourceSignals): Promise<void>;
}

/**
 * Handles unread events that are no longer in the topic: waits until it is decided at which offset reading goes on, and
 * goes on there.
 */
export class LostEvents {
  readonly #options: LostEventsOptions;
  readonly #positions: KafkaPositions;
  readonly #brokers: AskedBrokers;
  /** One check at a time, so that no partition is placed twice. */
  readonly #checks = new Mutex();
  /** What is lost, by the partition that waits for a decision; all of it where none is named. */
  readonly #waiting = new Map<Feed | undefined, readonly string[]>();

  constructor(options: LostEventsOptions, positions: KafkaPositions, brokers: AskedBrokers) {
    this.#options = options;
    this.#positions = positions;
    this.#brokers = brokers;
  }

  /**
   * Finds partitions (all, or this one) whose next offset is not in the topic, and sets them to an offset that can be
   * read, as the options or a person decide; waits for that decision. Resolves with whether earlier batches must be
   * settled first; where `isRunning`, it waits for that itself.
   */
  async find(signals: SourceSignals, look: LostCheck = {}): Promise<boolean> {
    try {
      return await this.#find(signals, look);
    } finally {
      this.#waiting.delete(look.only);
    }
  }

  /** Whether a partition waits for a decision. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  async #find(signals: SourceSignals, { only, isRunning = false, onAnswered }: LostCheck): Promise<boolean> {
    let isMoved = false;
    for (let [attempt, checks] = [1, 1]; ; attempt += 1, checks += 1) {
      const found = await this.#checks.run(() => this.#checkOnce({ only, isRunning, isSure: checks > 1 }));
      onAnswered?.();
      if (found.kind === "none") return isMoved;
      if (found.kind === "lost") {
        this.#waiting.set(only, found.texts);
        await this.#brokers.wait(this.#text, attempt, signals);
      } else {
        isMoved ||= found.isMove;
        [attempt, checks] = [0, 0];
      }
    }
  }

  /** All that is lost, each partition that waits on its own included. */
  get #text(): string {
    const texts = [...new Set([...this.#waiting.values()].flat())].toSorted();
    const more = texts.length - mostNamed;
    return [...texts.slice(0, mostNamed), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
  }

  /**
   * Looks for lost events, and sets the partition to the offset where it goes on, if that is decided. `isSure`: an
   * earlier check found the same.
   */
  async #checkOnce({
    only,
    isRunning,
    isSure,
  }: {
    only: Feed | undefined;
    isRunning: boolean;
    isSure: boolean;
  }): Promise<{ kind: "none" } | { kind: "lost"; texts: string[] } | { kind: "placed"; isMove: boolean }> {
    const state = await this.#brokers.read();
    const divergences = await this.#brokers.divergences(only);
    // While others are read, what was fetched beyond a cut may be handed out yet.
    if (only !== undefined || !isRunning) await this.#forgetUnreadCuts(state, divergences, only);
    const [lost, ...others] = allLost(state, this.#positions, divergences, only);
    if (lost === undefined) return { kind: "none" };
    // A broker that lags, or became leader just now, may report outdated offsets for a moment.
    const isLost = isSure || lost.kind === "removed";
    if (isLost && lost.kind === "cut") await this.#positions.noteCut(lost.feed, lost.end);
    const placed = placedByPerson(lost, state);
    const isDecided = placed !== undefined || this.#options.options.on_lost === "skip";
    if (!isLost || !isDecided || (isRunning && !this.#mayPlace(lost, placed))) {
      return { kind: "lost", texts: [lost, ...others].map(lostText) };
    }
    return { kind: "placed", isMove: await this.#goOn(lost, placed, isRunning) };
  }

  /**
   * A fetch reads ahead of what is handed out, and notes where the log was cut. Where the pipeline stopped or died before it
   * read that far, nothing that it has read is gone: reading goes on where it was, and passes nothing over.
   */
  async #forgetUnreadCuts(
    { partitions }: GroupState,
    divergences: ReadonlyMap<Feed, number | Error>,
    only?: Feed,
  ): Promise<void> {
    for (const { feed, ends } of partitions) {
      const [cut, next] = [this.#positions.cut(feed), this.#positions.next(feed)];
      if (cut === undefined || next === undefined || (only !== undefined && feed !== only)) continue;
      const isThere = ends !== undefined && next <= ends.high && !divergences.has(feed);
      if (isThere && next <= cut.end) await this.#positions.forgetCut(feed);
    }
  }

  /** Whether no batch in flight would set a partition back to its old offset. */
  #mayPlace(lost: Lost, placed: Map<Feed, number> | undefined): boolean {
    if (lost.kind === "recreated" || (lost.kind === "removed" && placed === undefined)) return true;
    return this.#positions.isSettled(lost.feed);
  }

  /**
   * Sets the partitions to where they go on. Resolves with whether that takes effect once earlier batches are settled.
   */
  async #goOn(lost: Lost, placed: Map<Feed, number> | undefined, isRunning: boolean): Promise<boolean> {
    const { telemetry, pipeline_id, topics } = this.#options;
    if (lost.kind === "recreated") {
      const { topic, from, to, partitions } = lost;
      // A partition that nobody leads now begins when somebody does.
      const begins = placed ?? new Map(partitions.flatMap(({ feed, ends }) => (ends ? [[feed, ends.low]] : [])));
      await this.#positions.begin([topic], begins);
      telemetry.topicRecreated({ pipeline_id, topic, from, to, hasDedup: topics.get(topic)?.hasDedup === true });
      return false;
    }
    const { feed, next, low, end } = lost;
    const at = placed?.get(feed) ?? Math.max(low, lost.kind === "cut" ? end : low);
    const isMove = !isRunning && (placed !== undefined || lost.kind === "cut");
    await this.#positions.place(new Map([[feed, at]]), { isMove });
    const named = { pipeline_id, ...partitionOf(feed), from: next, to: at };
    if (placed !== undefined) {
      const hasDedup = topics.get(named.topic)?.hasDedup === true;
      telemetry.positionMoved({ ...named, hasDedup });
    } else if (lost.kind === "cut") telemetry.logCut(named);
    else telemetry.positionsSkipped(named);
    return isMove;
  }
}

/** A next offset that is not in the topic (docs/delivery-protocol.md, Kafka). */
type Lost =
  /** The topic was deleted and created again. Nothing of the new topic has been read. */
  | ({ kind: "recreated"; partitions: PartitionState[] } & Recreated)
  /** The log ends, or ended at the first check, before the next offset: it has lost events. */
  | { kind: "cut"; feed: Feed; next: number; low: number; end: number }
  /** The log begins after the next offset: its first events were removed. */
  | { kind: "removed"; feed: Feed; next: number; low: number; end: number };

/** All losses, or those of this partition. */
function allLost(
  state: GroupState,
  positions: KafkaPositions,
  divergences: ReadonlyMap<Feed, number | Error>,
  only?: Feed,
): Lost[] {
  const recreated = positions.recreated().filter(({ topic }) => only === undefined || isOf(topic, only));
  const lost = recreated.map((one): Lost => {
    return { kind: "recreated", ...one, partitions: state.partitions.filter((of) => isOf(one.topic, of.feed)) };
  });
  const there = byFeed(state.partitions);
  for (const feed of only === undefined ? positions.feeds : [only]) {
    if (recreated.some(({ topic }) => isOf(topic, feed))) continue;
    // The number of partitions of a topic never falls: a partition that is gone counts as cut to nothing.
    const { ends } = there.get(feed) ?? { ends: { low: 0, high: 0 } };
    const [next, cut, parted] = [positions.next(feed), positions.cut(feed), divergences.get(feed)];
    // What nobody says now is not lost.
    if (next === undefined || ends === undefined || parted instanceof Error) continue;
    const { low, high } = ends;
    if ((cut !== undefined && cut.end < next) || parted !== undefined || next > high) {
      const end = Math.min(high, cut?.end ?? Infinity, parted ?? Infinity);
      lost.push({ kind: "cut", feed, next, low, end });
    } else if (next < low) lost.push({ kind: "removed", feed, next, low, end: high });
  }
  return lost;
}

function byFeed(partitions: readonly PartitionState[]): Map<Feed, PartitionState> {
  return new Map(partitions.map((of) => [of.feed, of]));
}

function isOf(topic: string, feed: Feed): boolean {
  return kafkaPartition(feed)!.topic === topic;
}

/** The loss as text for operators. */
function lostText(lost: Lost): string {
  if (lost.kind === "recreated") {
    const { topic, from, to } = lost;
    return `topic ${topic} was deleted and created again: its id was ${from} and is ${to}, and nothing of the new one is read`;
  }
  const { feed, next, low, end } = lost;
  const who = `${partitionText(feed)} goes on at offset ${next}`;
  if (lost.kind === "removed") return `${who}, and the brokers have ${low} to ${end}`;
  return `${who}, and its log ended at ${end}: events were lost there, or the topic is another one`;
}

/**
 * The offsets that a person has since set in the consumer group for every lost partition; undefined where one was not
 * set. Brokers refuse to move a group that has members.
 */
function placedByPerson(lost: Lost, { partitions, members }: GroupState): Map<Feed, number> | undefined {
  if (members?.length !== 0) return undefined;
  const feeds = lost.kind === "recreated" ? lost.partitions.map(({ feed }) => feed) : [lost.feed];
  const placed = new Map<Feed, number>();
  const there = byFeed(partitions);
  for (const feed of feeds) {
    const of = there.get(feed);
    if (of?.committed === undefined || of.ends === undefined) return undefined;
    const { committed, ends } = of;
    const { offset, metadata, isByConsumer } = committed;
    if (isByConsumer || claimOf(metadata, offset) !== undefined || offset < ends.low || offset > ends.high)
      return undefined;
    placed.set(feed, offset);
  }
  return placed.size === 0 ? undefined : placed;
}
