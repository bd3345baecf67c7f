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

/** Which partitions are looked at. */
export interface LostLook {
  /** This one alone. */
  only?: Feed;
  /** Batches are in flight. */
  isRunning?: boolean;
}

interface AskedBrokers {
  /** How the group stands. Throws what kafkajs throws. */
  read(): Promise<GroupState>;
  /** A pause for what is lost. Throws LeftForLater. */
  wait(text: string, attempt: number, signals: SourceSignals): Promise<void>;
}

/** Events that were to be read and are not in the topic: waits until it is decided where reading goes on, and goes on there. */
export class LostEvents {
  readonly #options: LostEventsOptions;
  readonly #positions: KafkaPositions;
  readonly #brokers: AskedBrokers;
  /** One at a time: what another look has brought to its place is not placed twice. */
  readonly #looks = new Mutex();

  constructor(options: LostEventsOptions, positions: KafkaPositions, brokers: AskedBrokers) {
    this.#options = options;
    this.#positions = positions;
    this.#brokers = brokers;
  }

  /**
   * Where the topic does not hold what comes next in a partition, or in this one: brings it to where it can be read, as
   * the options or a person decide, and waits for that. Resolves with whether batches from before have to be settled
   * first; where `isRunning`, that is waited for here.
   */
  async find(signals: SourceSignals, { only, isRunning = false }: LostLook = {}): Promise<boolean> {
    let isMoved = false;
    for (let [attempt, looks] = [1, 1]; ; attempt += 1, looks += 1) {
      const looked = await this.#looks.run(() => this.#lookOnce({ only, isRunning, isSure: looks > 1 }));
      if (looked.kind === "all there") return isMoved;
      if (looked.kind === "lost") await this.#brokers.wait(looked.text, attempt, signals);
      else {
        isMoved ||= looked.isMove;
        [attempt, looks] = [0, 0];
      }
    }
  }

  /** Looks for what is lost, and brings it to where it goes on if that is said. `isSure`: it was seen before. */
  async #lookOnce({
    only,
    isRunning,
    isSure,
  }: {
    only: Feed | undefined;
    isRunning: boolean;
    isSure: boolean;
  }): Promise<{ kind: "all there" } | { kind: "lost"; text: string } | { kind: "placed"; isMove: boolean }> {
    const state = await this.#brokers.read();
    const lost = findLost(state, this.#positions, only);
    if (lost === undefined) return { kind: "all there" };
    // A broker that has just begun to lead, or lags, may say for a moment what is not so.
    const isLost = isSure || lost.kind === "removed";
    if (isLost && lost.kind === "cut") await this.#positions.noteCut(lost.feed, lost.end);
    const placed = placedByPerson(lost, state);
    const isSaid = placed !== undefined || this.#options.options.on_lost === "skip";
    if (!isLost || !isSaid || (isRunning && !this.#mayPlace(lost, placed))) {
      return { kind: "lost", text: lostText(lost) };
    }
    return { kind: "placed", isMove: await this.#goOn(lost, placed, isRunning) };
  }

  /** Whether nothing in flight of a partition would take it back to where it was. */
  #mayPlace(lost: Lost, placed: Map<Feed, number> | undefined): boolean {
    if (lost.kind === "recreated" || (lost.kind === "removed" && placed === undefined)) return true;
    return this.#positions.isSettled(lost.feed);
  }

  /** Brings what is lost to where it goes on. Resolves with whether that holds once batches from before are settled. */
  async #goOn(lost: Lost, placed: Map<Feed, number> | undefined, isRunning: boolean): Promise<boolean> {
    const { telemetry, pipeline_id, topics } = this.#options;
    if (lost.kind === "recreated") {
      const { topic, from, to, partitions } = lost;
      const begins = placed ?? new Map(partitions.map(({ feed, low }) => [feed, low] as const));
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

/** What was to be read next and is not in the topic (docs/delivery-protocol.md, Kafka). */
type Lost =
  /** The topic was deleted and created again. Nothing of the new one has been read. */
  | ({ kind: "recreated"; partitions: PartitionState[] } & Recreated)
  /** The log ends, or ended when it was looked at first, before the next offset: it has lost events. */
  | { kind: "cut"; feed: Feed; next: number; low: number; end: number }
  /** The log begins after the next offset: its first events were removed. */
  | { kind: "removed"; feed: Feed; next: number; low: number; end: number };

/** The first thing that is lost, of all partitions or of this one; undefined where nothing is. */
function findLost(state: GroupState, positions: KafkaPositions, only?: Feed): Lost | undefined {
  const recreated = positions.recreated().find(({ topic }) => only === undefined || isOf(topic, only));
  if (recreated !== undefined) {
    const partitions = state.partitions.filter((of) => isOf(recreated.topic, of.feed));
    return { kind: "recreated", ...recreated, partitions };
  }
  for (const feed of only === undefined ? positions.feeds : [only]) {
    // A topic has never fewer partitions than before: one that is gone ends before everything.
    const { low, high } = state.partitions.find((of) => of.feed === feed) ?? { low: 0, high: 0 };
    const next = positions.next(feed);
    const cut = positions.cut(feed);
    if (next === undefined) continue;
    if (cut !== undefined || next > high) {
      return { kind: "cut", feed, next, low, end: Math.min(high, cut?.end ?? Infinity) };
    }
    if (next < low) return { kind: "removed", feed, next, low, end: high };
  }
  return undefined;
}

function isOf(topic: string, feed: Feed): boolean {
  return kafkaPartition(feed)!.topic === topic;
}

/** What is lost, as an operator reads it. */
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
 * Where a person has put the consumer group meanwhile, in every partition that is lost; undefined where that is not so.
 * Brokers refuse to move a group that has members.
 */
function placedByPerson(lost: Lost, { partitions, members }: GroupState): Map<Feed, number> | undefined {
  if (members.length > 0) return undefined;
  const feeds = lost.kind === "recreated" ? lost.partitions.map(({ feed }) => feed) : [lost.feed];
  const placed = new Map<Feed, number>();
  for (const feed of feeds) {
    const of = partitions.find((one) => one.feed === feed);
    if (of?.committed === undefined) return undefined;
    const { offset, metadata } = of.committed;
    if (claimOf(metadata, offset) !== undefined || offset < of.low || offset > of.high) return undefined;
    placed.set(feed, offset);
  }
  return placed.size === 0 ? undefined : placed;
}
