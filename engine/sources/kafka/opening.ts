import { EngineError, LeftForLater } from "../../core/errors.ts";
import type { BatchRecord } from "../../core/journal.ts";
import { consumerGroup } from "../../core/names.ts";
import type { Feed, PositionRange } from "../../core/positions.ts";
import type { SourceSignals } from "../../core/source.ts";
import { isPassing } from "../../state/storage-error.ts";
import type { WaitingRoom } from "../../waiting-room.ts";
import { kafkaPartition, partitionText } from "./feed.ts";
import type { Group, GroupStanding } from "./group.ts";
import type { KafkaSourceParts } from "./kafka-source-parts.ts";
import { judge, type Judgement, type Known } from "./ownership.ts";
import type { KafkaPositions } from "./positions.ts";
import { readByAnother } from "./take-over.ts";
import { troubleText } from "./trouble.ts";

type Ours = Extract<Judgement, { kind: "ours" }>;

interface Waited {
  class: "source" | "owner" | "lost" | "disk";
  text: string;
}

/** What was found before the first join. */
export interface Opened {
  /** Pending batches that were given up, by their numbers. */
  givenUp: number[];
  /** A person has moved the group: what is pending is settled first. */
  isMoved: boolean;
}

/**
 * Before the first read of a start: whether this group is ours to read, and where each partition goes on (delivery,
 * Kafka). Everything that follows from it is journaled before anything is committed to the group.
 */
export class Opening {
  readonly #parts: KafkaSourceParts;
  readonly #group: Group;
  readonly #positions: KafkaPositions;
  readonly #room: WaitingRoom;

  constructor(parts: KafkaSourceParts, group: Group, positions: KafkaPositions, room: WaitingRoom) {
    this.#parts = parts;
    this.#group = group;
    this.#positions = positions;
    this.#room = room;
  }

  /** What is known here of the group, for `judge`. */
  get known(): Known {
    const { pipeline_id, identity, options } = this.#parts;
    const next = (feed: Feed): number | undefined => this.#positions.final(feed);
    return { groupId: consumerGroup(pipeline_id), identity, next, takeOver: options.take_over };
  }

  /** Waits until the brokers answer and the group is ours. Throws LeftForLater. */
  async run(signals: SourceSignals): Promise<Opened> {
    const { judgement, of } = await this.#until(signals, () => this.#standing(signals));
    // Found out once: another attempt finds fewer batches in the journal, and partitions where they go on.
    const taken = this.#further(judgement.taken);
    const read = this.#readByAnother(taken);
    const isMoved = await this.#until(signals, () => this.#place(of, { ...judgement, taken }, read));
    if (taken.size > 0 || read.length > 0) this.#tellTakenOver(read);
    await this.#until(signals, () => this.checkRange(signals));
    this.#room.leave();
    return { givenUp: read.map(({ batch }) => batch), isMoved };
  }

  /** Whether the brokers still have what ranges hold; waits until they answer. Throws LeftForLater. */
  async stillHolds(ranges: readonly PositionRange[], signals: SourceSignals): Promise<boolean> {
    if (!ranges.every(({ feed }) => this.#positions.isRead(feed))) return false;
    const { partitions } = await this.#until(signals, () => this.#group.read());
    this.#room.leave();
    return ranges.every(({ feed, first, last, count }) => {
      const of = partitions.find((one) => one.feed === feed);
      return count === 0 || (of !== undefined && of.low <= first && last < of.high);
    });
  }

  /** Where the topic does not hold what comes next in a partition, or in this one: brings it to where it can be read. */
  async checkRange(signals: SourceSignals, only?: Feed): Promise<void> {
    const { options, telemetry, pipeline_id } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      const { partitions } = await this.#group.read();
      const lost = partitions.find(({ feed, low, high }) => {
        if (only !== undefined && feed !== only) return false;
        const next = this.#positions.next(feed);
        return next !== undefined && (next < low || next > high);
      });
      if (lost === undefined) return;
      const { feed, low, high } = lost;
      const from = this.#positions.next(feed)!;
      if (options.on_lost === "skip") {
        await this.#positions.place(new Map([[feed, low]]));
        telemetry.positionsSkipped({ pipeline_id, ...named(feed), from, to: low });
        continue;
      }
      const text = `${partitionText(feed)} goes on at offset ${from}, and the brokers have ${low} to ${high}`;
      await this.wait({ class: "lost", text }, attempt, signals);
    }
  }

  /**
   * Partitions of which nothing was known here go on where the group stands in them, or begin; and it is told what
   * strangers have committed, which counts for nothing. `taken`: where those go on that are taken over.
   */
  async placeNew(
    of: GroupStanding,
    { found, fresh, strange }: Ours,
    taken: ReadonlyMap<Feed, number> = new Map(),
  ): Promise<void> {
    const { telemetry, pipeline_id } = this.#parts;
    const begins = new Map([...found, ...taken, ...(await this.#begins(of, fresh))]);
    for (const [feed, offset] of strange) {
      telemetry.strangerCommitted({ pipeline_id, ...named(feed), offset, local: this.#positions.final(feed)! });
    }
    await this.#positions.place(begins);
  }

  /** Waits before another attempt. Throws LeftForLater where the pipeline stops meanwhile. */
  async wait(failure: Waited, attempt: number, signals: SourceSignals) {
    if (signals.drain.aborted) throw new LeftForLater(failure.text);
    await this.#room.wait(failure, attempt, signals.drain);
    if (signals.drain.aborted) throw new LeftForLater(failure.text);
  }

  /** The group is ours again. */
  wentOn(): void {
    this.#room.leave();
  }

  async #standing(signals: SourceSignals): Promise<{ of: GroupStanding; judgement: Ours }> {
    for (let attempt = 1; ; attempt += 1) {
      const of = await this.#group.read();
      this.#positions.learn(of.cluster);
      for (const { feed, committed } of of.partitions) this.#positions.said(feed, committed?.offset ?? 0);
      const judgement = judge(of, this.known, true);
      if (judgement.kind === "ours") return { of, judgement };
      await this.wait({ class: "owner", text: judgement.text }, attempt, signals);
    }
  }

  /** Places everything that was found; resolves with whether a person has moved the group. */
  async #place(of: GroupStanding, judged: Ours, givenUp: readonly BatchRecord[]): Promise<boolean> {
    const { journal, pipeline_id, telemetry } = this.#parts;
    const { moved, taken } = judged;
    // From behind: what is left of them after a crash is a beginning, and so names no more than it did.
    for (const record of givenUp.toReversed()) {
      await journal.giveUp(record);
      for (const range of record.ranges) this.#positions.givenUp(range);
    }
    await this.placeNew(of, judged, taken);
    const moves = [...moved].map(([feed, to]) => ({ ...named(feed), from: this.#positions.final(feed)!, to }));
    await this.#positions.place(moved, { isMove: true });
    for (const move of moves) {
      telemetry.positionMoved({
        pipeline_id,
        ...move,
        hasDedup: this.#parts.topics.get(move.topic)?.hasDedup === true,
      });
    }
    return moved.size > 0 || journal.progress(pipeline_id).moved !== undefined;
  }

  /**
   * Where partitions begin of which nobody knows anything: those of a topic that is new here as the options say, later
   * ones at their beginning.
   */
  async #begins({ cluster, partitions }: GroupStanding, fresh: readonly Feed[]): Promise<[Feed, number][]> {
    const begins: [Feed, number][] = [];
    for (const [topic, { start }] of this.#parts.topics) {
      const at = this.#positions.isKnown(topic) ? "earliest" : (this.#parts.options.start ?? start);
      const own = partitions.filter(({ feed }) => fresh.includes(feed) && kafkaPartition(feed)!.topic === topic);
      const isTime = /^\d/.test(at) && own.length > 0;
      const since = isTime ? await this.#group.offsetsSince(cluster, topic, Date.parse(at)) : undefined;
      for (const { feed, low, high } of own) {
        begins.push([feed, since === undefined ? (at === "latest" ? high : low) : (since.get(feed) ?? high)]);
      }
    }
    return begins;
  }

  /** Where something was read elsewhere. In other partitions what was prepared here holds what comes next. */
  #further(taken: ReadonlyMap<Feed, number>): Map<Feed, number> {
    return new Map([...taken].filter(([feed, offset]) => this.#positions.final(feed) !== offset));
  }

  #readByAnother(taken: ReadonlyMap<Feed, number>): BatchRecord[] {
    const { journal, pipeline_id } = this.#parts;
    return readByAnother(journal.pending(pipeline_id), (feed) => taken.get(feed));
  }

  #tellTakenOver(givenUp: readonly BatchRecord[]): void {
    const { telemetry, pipeline_id, options } = this.#parts;
    const rows = givenUp.reduce((sum, record) => sum + record.rows, 0);
    telemetry.takenOver({ pipeline_id, run: options.take_over!, batches: givenUp.length, rows });
  }

  /** Tries until the brokers answer, and the disk has room for what is journaled. */
  async #until<T>(signals: SourceSignals, work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof LeftForLater) throw error;
        await this.wait(waitedFor(error), attempt, signals);
      }
    }
  }
}

/** What telemetry calls a partition. */
function named(feed: Feed): { topic: string; partition: number } {
  const { topic, partition } = kafkaPartition(feed)!;
  return { topic, partition };
}

/** What is waited for after an error. Throws it where it is the journal's and no wait can mend it. */
function waitedFor(error: unknown): Waited {
  if (!(error instanceof EngineError)) return { class: "source", text: troubleText(error) };
  if (!isPassing(error)) throw error;
  return { class: "disk", text: error.message };
}
