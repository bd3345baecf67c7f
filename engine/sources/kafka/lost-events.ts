import type { Feed } from "../../core/positions.ts";
import type { SourceSignals } from "../../core/source.ts";
import { partitionOf } from "./feed.ts";
import type { GroupStanding } from "./group.ts";
import type { KafkaSourceParts } from "./kafka-source-parts.ts";
import { findLost, lostText, placedByPerson, type Lost } from "./lost.ts";
import type { KafkaPositions } from "./positions.ts";

/** Which partitions are looked at. */
export interface LostLook {
  /** This one alone. */
  only?: Feed;
  /** Batches are in flight. */
  isRunning?: boolean;
}

interface AskedBrokers {
  /** How the group stands. Throws what kafkajs throws. */
  read(): Promise<GroupStanding>;
  /** A pause for what is lost. Throws LeftForLater. */
  wait(text: string, attempt: number, signals: SourceSignals): Promise<void>;
}

/** Events that were to be read and are not in the topic: waits for word where it goes on, and goes on there. */
export class LostEvents {
  readonly #parts: Pick<KafkaSourceParts, "options" | "telemetry" | "pipeline_id" | "topics">;
  readonly #positions: KafkaPositions;
  readonly #brokers: AskedBrokers;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: KafkaSourceParts, positions: KafkaPositions, brokers: AskedBrokers) {
    this.#parts = parts;
    this.#positions = positions;
    this.#brokers = brokers;
  }

  /**
   * Where the topic does not hold what comes next in a partition, or in this one: brings it to where it can be read, as
   * the options or a person say, and waits for their word. Resolves with whether batches from before have to be settled
   * first; where `isRunning`, that is waited for here.
   */
  async find(signals: SourceSignals, { only, isRunning = false }: LostLook = {}): Promise<boolean> {
    let isMoved = false;
    for (let [attempt, looks] = [1, 1]; ; attempt += 1, looks += 1) {
      // One at a time: what another look has brought to its place is not placed twice.
      const looked = await this.#inTurn(() => this.#lookOnce({ only, isRunning, isSure: looks > 1 }));
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
    const standing = await this.#brokers.read();
    const lost = findLost(standing, this.#positions, only);
    if (lost === undefined) return { kind: "all there" };
    // A broker that has just begun to lead, or lags, may say for a moment what is not so.
    const isLost = isSure || lost.kind === "removed";
    if (isLost && lost.kind === "cut") await this.#positions.noteCut(lost.feed, lost.end);
    const placed = placedByPerson(lost, standing);
    const isSaid = placed !== undefined || this.#parts.options.on_lost === "skip";
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

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Brings what is lost to where it goes on. Resolves with whether that holds once batches from before are settled. */
  async #goOn(lost: Lost, placed: Map<Feed, number> | undefined, isRunning: boolean): Promise<boolean> {
    const { telemetry, pipeline_id, topics } = this.#parts;
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
