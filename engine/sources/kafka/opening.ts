import { EngineError, LeftForLater } from "../../core/errors.ts";
import { rangesOf, type BatchRecord } from "../../core/journal.ts";
import { consumerGroup } from "../../core/names.ts";
import type { Feed, PositionRange } from "../../core/positions.ts";
import type { SourceSignals } from "../../core/source.ts";
import { isPassing } from "../../state/storage-error.ts";
import type { RetryPause } from "../../flow/retry-pause.ts";
import { kafkaPartition, partitionOf } from "./feed.ts";
import type { Group, GroupStanding } from "./group.ts";
import type { KafkaSourceParts } from "./kafka-source-parts.ts";
import { LostEvents, type LostLook } from "./lost-events.ts";
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
  readonly #room: RetryPause;
  readonly #onRead: (standing: GroupStanding) => void;
  readonly #lostEvents: LostEvents;

  /** `onRead` is told of each look at the group. */
  constructor(
    parts: KafkaSourceParts,
    group: Group,
    positions: KafkaPositions,
    room: RetryPause,
    onRead: (standing: GroupStanding) => void = () => undefined,
  ) {
    this.#parts = parts;
    this.#group = group;
    this.#positions = positions;
    this.#room = room;
    this.#onRead = onRead;
    this.#lostEvents = new LostEvents(parts, positions, {
      read: () => this.read(),
      wait: (text, attempt, signals) => this.wait({ class: "lost", text }, attempt, signals),
    });
  }

  /** What is known here of the group, for `judge`. */
  get known(): Known {
    const { pipeline_id, identity, options } = this.#parts;
    const positions = this.#positions;
    return {
      groupId: consumerGroup(pipeline_id),
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
    const { judgement, of } = await this.#until(signals, () => this.#standing(signals));
    // Found out once: another attempt finds fewer batches in the journal, and partitions where they go on.
    const taken = this.#further(judgement.taken);
    const read = this.#readByAnother(taken);
    const isMoved = await this.#until(signals, () => this.#place(of, { ...judgement, taken }, read));
    if (taken.size > 0 || read.length > 0) this.#tellTakenOver(read);
    const isCut = await this.#until(signals, () => this.checkRange(signals));
    this.#room.leave();
    return { givenUp: read.map(({ batch }) => batch), isMoved: isMoved || isCut };
  }

  /** Whether the brokers still have what ranges hold; waits until they answer. Throws LeftForLater. */
  async stillHolds(ranges: readonly PositionRange[], signals: SourceSignals): Promise<boolean> {
    if (!ranges.every(({ feed }) => this.#positions.isRead(feed))) return false;
    const { partitions } = await this.#until(signals, () => this.read());
    this.#room.leave();
    return ranges.every(({ feed, first, last, count }) => {
      const of = partitions.find((one) => one.feed === feed);
      if (count === 0) return true;
      return of !== undefined && of.low <= first && last < Math.min(of.high, this.#positions.goneFrom(feed));
    });
  }

  /** How the group stands, with the partitions by the topics that are there now. Throws what kafkajs throws. */
  async read(): Promise<GroupStanding> {
    const standing = this.#positions.there(await this.#group.read());
    this.#onRead(standing);
    return standing;
  }

  /** Whether a topic that is read was created again; asks the brokers. Throws what kafkajs throws. */
  async isRecreated(): Promise<boolean> {
    this.#positions.saw(await this.#group.topicIds());
    return this.#positions.recreated().length > 0;
  }

  /** See `LostEvents.find`. */
  checkRange(signals: SourceSignals, look?: LostLook): Promise<boolean> {
    return this.#lostEvents.find(signals, look);
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
    const recreated = this.#recreated;
    const begins = new Map([...found, ...taken, ...(await this.#begins(of, fresh))]);
    // What becomes of a topic that was created again is no matter of where the group stands alone.
    for (const feed of begins.keys()) if (recreated.has(kafkaPartition(feed)!.topic)) begins.delete(feed);
    await this.#positions.noteTopicIds();
    for (const [feed, offset] of strange) {
      telemetry.strangerCommitted({ pipeline_id, ...partitionOf(feed), offset, local: this.#positions.final(feed)! });
    }
    await this.#positions.place(begins);
  }

  /** Waits until the brokers say that the group is still ours. Throws LeftForLater. */
  async checkOwner(signals: SourceSignals): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { judged } = await this.#until(signals, async () => ({
        judged: judge(await this.read(), this.known, false),
      }));
      if (judged.kind === "ours") return this.#room.leave();
      await this.wait({ class: "owner", text: judged.text }, attempt, signals);
    }
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
      const of = await this.read();
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
      for (const range of rangesOf(record)) this.#positions.givenUp(range);
    }
    await this.placeNew(of, judged, taken);
    const moves = [...moved].map(([feed, to]) => ({ ...partitionOf(feed), from: this.#positions.final(feed)!, to }));
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

/** What is waited for after an error. Throws it where it is the journal's and no wait can mend it. */
function waitedFor(error: unknown): Waited {
  if (!(error instanceof EngineError)) return { class: "source", text: troubleText(error) };
  if (!isPassing(error)) throw error;
  return { class: "disk", text: error.message };
}
