import { EngineError, LeftForLater } from "../../core/errors.ts";
import type { BatchRecord } from "../../core/journal.ts";
import { consumerGroup } from "../../core/names.ts";
import type { PositionRange } from "../../core/positions.ts";
import type { SourceSignals } from "../../core/source.ts";
import type { WaitingRoom } from "../../waiting-room.ts";
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
    const { topic } = this.#positions;
    const next = (partition: number): number | undefined => this.#positions.final(partition);
    return { groupId: consumerGroup(pipeline_id), topic, identity, next, takeOver: options.take_over };
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
    if (!ranges.every(({ feed }) => this.#positions.partitionOf(feed) !== undefined)) return false;
    const { partitions } = await this.#until(signals, () => this.#group.read());
    this.#room.leave();
    return ranges.every(({ feed, first, last, count }) => {
      const of = partitions.find(({ partition }) => partition === this.#positions.partitionOf(feed));
      return count === 0 || (of !== undefined && of.low <= first && last < of.high);
    });
  }

  /** Where the topic does not hold what comes next in a partition, or in this one: brings it to where it can be read. */
  async checkRange(signals: SourceSignals, only?: number): Promise<void> {
    const { options, telemetry, pipeline_id } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      const { partitions } = await this.#group.read();
      const lost = partitions.find(({ partition, low, high }) => {
        if (only !== undefined && partition !== only) return false;
        const next = this.#positions.next(partition);
        return next !== undefined && (next < low || next > high);
      });
      if (lost === undefined) return;
      const { partition, low, high } = lost;
      const from = this.#positions.next(partition)!;
      if (options.on_lost === "skip") {
        await this.#positions.place(new Map([[partition, low]]));
        telemetry.positionsSkipped({ pipeline_id, partition, from, to: low });
        continue;
      }
      const text =
        `partition ${partition} of topic ${this.#positions.topic} goes on at offset ${from}, and the brokers have ` +
        `${low} to ${high}`;
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
    taken: ReadonlyMap<number, number> = new Map(),
  ): Promise<void> {
    const { telemetry, pipeline_id } = this.#parts;
    const begins = new Map([...found, ...taken, ...(await this.#begins(of, fresh))]);
    for (const [partition, offset] of strange) {
      telemetry.strangerCommitted({ pipeline_id, partition, offset, local: this.#positions.final(partition)! });
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
      for (const { partition, committed } of of.partitions) {
        this.#positions.said(partition, committed?.offset ?? 0);
      }
      const judgement = judge(of, this.known, true);
      if (judgement.kind === "ours") return { of, judgement };
      await this.wait({ class: "owner", text: judgement.text }, attempt, signals);
    }
  }

  /** Places everything that was found; resolves with whether a person has moved the group. */
  async #place(of: GroupStanding, judged: Ours, givenUp: readonly BatchRecord[]): Promise<boolean> {
    const { journal, pipeline_id, telemetry, hasDedup } = this.#parts;
    const { moved, taken } = judged;
    // From behind: what is left of them after a crash is a beginning, and so names no more than it did.
    for (const record of givenUp.toReversed()) {
      await journal.giveUp(record);
      for (const range of record.ranges) this.#positions.givenUp(range);
    }
    await this.placeNew(of, judged, taken);
    const moves = [...moved].map(([partition, to]) => ({ partition, from: this.#positions.final(partition)!, to }));
    await this.#positions.place(moved, { isMove: true });
    for (const move of moves) telemetry.positionMoved({ pipeline_id, ...move, hasDedup });
    return moved.size > 0 || journal.progress(pipeline_id).moved !== undefined;
  }

  /** Where partitions begin of which nobody knows anything: at the first start as the options say, later at their beginning. */
  async #begins(of: GroupStanding, fresh: readonly number[]): Promise<[number, number][]> {
    const { start = this.#parts.source.consumer_group_initial_offset } = this.#parts.options;
    const at = this.#positions.isKnown ? "earliest" : start;
    const since = /^\d/.test(at) && fresh.length > 0 ? await this.#group.offsetsSince(Date.parse(at)) : undefined;
    return of.partitions
      .filter(({ partition }) => fresh.includes(partition))
      .map(({ partition, low, high }) => {
        if (since !== undefined) return [partition, since.get(partition) ?? high];
        return [partition, at === "latest" ? high : low];
      });
  }

  /** Where something was read elsewhere. In other partitions what was prepared here holds what comes next. */
  #further(taken: ReadonlyMap<number, number>): Map<number, number> {
    return new Map([...taken].filter(([partition, offset]) => this.#positions.final(partition) !== offset));
  }

  #readByAnother(taken: ReadonlyMap<number, number>): BatchRecord[] {
    const { journal, pipeline_id } = this.#parts;
    return readByAnother(journal.pending(pipeline_id), (feed) => {
      const partition = this.#positions.partitionOf(feed);
      return partition === undefined ? undefined : taken.get(partition);
    });
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

/** What is waited for after an error. Throws it where it is the journal's and no wait can mend it. */
function waitedFor(error: unknown): Waited {
  if (!(error instanceof EngineError)) return { class: "source", text: troubleText(error) };
  if (error.code !== "DISK_FULL") throw error;
  return { class: "disk", text: error.message };
}
