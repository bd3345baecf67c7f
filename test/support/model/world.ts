import type { DeadLetter, LetterEvent } from "../../../engine/core/dead-letter.ts";
import { mayBeInTable, rangesOf, type BatchRecord, type Journal } from "../../../engine/core/journal.ts";
import { Pipeline } from "../../../engine/delivery/pipeline.ts";
import { letterEvent } from "../../../engine/catalog/reprocess.ts";
import { nextTurn } from "../../../engine/flow/next-turn.ts";
import type { SendOptions } from "../../../engine/delivery/protocol.ts";
import type { DeadLetters } from "../../../engine/state/dead-letters.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { RememberedKeys } from "../../../engine/transforms/dedup/remembered-keys.ts";
import { ModelLog, type ModelEvent, type ModelSourceLog } from "./events.ts";
import { ModelTopic, modelTopics } from "./topic.ts";
import { modelLine, type Windows } from "./line.ts";
import { ModelTarget, type Trick } from "./target.ts";

export interface WorldOptions {
  /** It reads a topic of so many partitions; absent: a stream. */
  partitions?: number;
  /** Of so many topics, each with a dedup of its own; 1 by default. */
  topics?: number;
  hasDedup: boolean;
  replicas: number;
  /** Inserts of partitions that the target recognises. */
  window: number;
  on_uncertain: SendOptions["on_uncertain"];
  on_view_error: SendOptions["on_view_error"];
  /** "pause" by default. */
  on_lost?: SendOptions["on_lost"];
  /** The table is replicated, and block numbers come from a replica that has no part at all yet. */
  isReplicated?: boolean;
  /** Plants a fault: a journal in place of the right one. */
  sabotage?: (journal: Journal) => Partial<Journal>;
  /** Revision of the config at the start; 1 by default. */
  revision?: number;
  /** What an earlier process left beside its journal: what was pushed, and the table. */
  left?: { events: Omit<ModelEvent, "id">[]; target: Partial<ModelTarget> };
}

/** One thing that happens to a pipeline. */
export type Happening =
  | { kind: "push"; events: Omit<ModelEvent, "id">[] }
  | { kind: "tricks"; tricks: Trick[] }
  /** Another writer makes so many parts in the table. */
  | { kind: "others"; blocks: number }
  /** Lets it work for so many turns of the event loop. */
  | { kind: "work"; turns: number }
  /** SIGKILL: nothing that was not durable is left; another start follows. */
  | { kind: "crash" }
  | { kind: "stop" }
  /** From now on nothing can be read of the table. */
  | { kind: "unreadable" }
  /** From now on the target takes no row, until it is mended. */
  | { kind: "wrong" }
  /** The target takes what it refused. */
  | { kind: "mend" }
  /** Every dead letter is sent through the pipeline again. */
  | { kind: "reprocess" }
  | { kind: "edit" }
  | { kind: "terminate" }
  /** So many of the next reads of events that were read before miss the last one. */
  | { kind: "short reads"; count: number }
  /** All but the newest event of each key and partition of a topic go. */
  | { kind: "compact" };

/** A pipeline of the real engine on the real journal, between a source and a target that are models. */
export class World {
  readonly source: ModelSourceLog;
  readonly target: ModelTarget;
  readonly told = new Map<string, number>();
  readonly #options: WorldOptions;
  readonly #pipeline_id: string;
  readonly #journal: StoreJournal;
  readonly #letters: DeadLetters;
  #revision: number;
  #running: { pipeline: Pipeline; ended: Promise<void>; power: { isOn: boolean } } | undefined;
  /** Positions that a termination dropped before they were read. */
  terminated = 0;
  /** A termination made dedup forget what it knew. */
  hasForgotten = false;
  /** Ids that the source missed while their batch may have been in the table: then their keys stay taken. */
  readonly missedInDoubt = new Set<number>();

  constructor(pipeline_id: string, journal: StoreJournal, letters: DeadLetters, options: WorldOptions) {
    this.#pipeline_id = pipeline_id;
    this.#journal = journal;
    this.#letters = letters;
    this.#options = options;
    this.#revision = options.revision ?? 1;
    this.target = new ModelTarget(options.window);
    this.target.isReplicated = options.isReplicated ?? false;
    this.source =
      options.partitions === undefined ? new ModelLog() : new ModelTopic(options.partitions, options.topics);
    Object.assign(this.target, options.left?.target);
    this.source.push(options.left?.events ?? []);
    this.#start();
  }

  async let(happening: Happening): Promise<void> {
    switch (happening.kind) {
      case "push":
        this.source.push(happening.events);
        break;
      case "tricks":
        this.target.next.push(...happening.tricks);
        break;
      case "others":
        this.target.others(happening.blocks);
        break;
      case "work":
        for (let turn = 0; turn < happening.turns; turn += 1) await nextTurn();
        break;
      case "crash":
        await this.kill();
        this.#start();
        break;
      case "unreadable":
        this.target.isUnreadable = true;
        break;
      case "wrong":
        this.target.takesNone = true;
        break;
      case "mend":
        this.target.isMended = true;
        break;
      case "short reads":
        this.source.shortReads = happening.count;
        break;
      case "compact":
        this.source.compact();
        break;
      case "reprocess":
        this.#reprocess();
        break;
      case "stop":
        await this.#stop();
        this.#start();
        break;
      case "edit":
        await this.#stop();
        this.#revision += 1;
        this.#start();
        break;
      case "terminate":
        await this.#terminate();
        this.#start();
        break;
    }
  }

  /** Mends the server and lets everything come to its end. */
  async settle(): Promise<void> {
    this.target.next = [];
    this.target.takesNone = false;
    for (let turn = 0; !this.#isSettled(); turn += 1) {
      if (turn > 20_000) throw new Error("the pipeline does not come to rest");
      await nextTurn();
    }
    await this.#stop();
  }

  /** It goes on without the events that its source misses. */
  get skipsLost(): boolean {
    return this.#options.on_lost === "skip" || this.source.isCompacted;
  }

  get letters(): DeadLetter[] {
    return this.#letters.queue(this.#pipeline_id).list(1000).messages;
  }

  #isSettled(): boolean {
    return this.source.isRead(this.#journal, this.#pipeline_id) && this.#journal.pendingCount(this.#pipeline_id) === 0;
  }

  /** Longer than any story; topics have different ones. */
  get #windows(): Windows {
    const { partitions } = this.#options;
    return new Map(partitions === undefined ? [[undefined, 1e9]] : modelTopics.map((topic, at) => [topic, 1e9 + at]));
  }

  #start(): void {
    const power = { isOn: true };
    const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
    const compiled = (revision: number) =>
      modelLine(revision, this.#options.hasDedup, keys, this.target, this.#windows);
    const pipeline = new Pipeline({
      pipeline_id: this.#pipeline_id,
      source: this.source.reading(this.#journal, this.#pipeline_id),
      telemetry: this.#telemetry(),
      limits: { max_batch_size: 3, max_delay_time: "0s" },
      maxAge: Infinity,
      clock: { now: () => 1_000, earlier: () => 1_000 },
      replicas: this.#options.replicas,
      journal: poweredBy(power, this.#options.sabotage === undefined ? this.#journal : this.#sabotaged()),
      options: { on_lost: "pause", ...this.#options },
      keys,
      letters: this.#letterEvents([...this.#journal.heldLetters(this.#pipeline_id)]),
      compiled: compiled(this.#revision),
      compiledOf: compiled,
      pace: nextTurn,
    });
    this.#running = { pipeline, ended: pipeline.run(), power };
  }

  /** Not waited for, as it may take until the server is mended. */
  #reprocess(): void {
    const { letters } = this.#letters.select(this.#pipeline_id, { mode: "all" });
    const numbers = letters.map(({ message_id }) => Number(message_id));
    const { pipeline } = this.#running!;
    const release = this.#letters.hold(this.#pipeline_id, numbers);
    if (numbers.length > 0) pipeline.reprocess(this.#letterEvents(numbers)).then(release, release);
  }

  #letterEvents(numbers: readonly number[]): LetterEvent[] {
    return numbers.flatMap((number) => {
      const letter = this.#letters.get(this.#pipeline_id, number);
      return letter === undefined ? [] : [letterEvent(letter)];
    });
  }

  #sabotaged(): Journal {
    const journal: Journal = {
      prepare: (record) => this.#journal.prepare(record),
      amend: (record) => this.#journal.amend(record),
      commit: (record, released) => this.#journal.commit(record, released),
      setBack: (pipeline_id, from, to) => this.#journal.setBack(pipeline_id, from, to),
      mark: (pipeline_id, clock) => this.#journal.mark(pipeline_id, clock),
      place: (pipeline_id, positions, options) => this.#journal.place(pipeline_id, positions, options),
      giveUp: (record) => this.#journal.giveUp(record),
      pending: (pipeline_id) => this.#journal.pending(pipeline_id),
      progress: (pipeline_id) => this.#journal.progress(pipeline_id),
      finalKeyCount: (pipeline_id) => this.#journal.finalKeyCount(pipeline_id),
      finalKeys: (pipeline_id, after) => this.#journal.finalKeys(pipeline_id, after),
    };
    return { ...journal, ...this.#options.sabotage?.(journal) };
  }

  /** SIGKILL, and no other start. */
  async kill(): Promise<void> {
    const { pipeline, power } = this.#running!;
    power.isOn = false;
    pipeline.abort();
    // What had reached the disk is there; what had reached the server is answered to nobody.
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  }

  async #stop(): Promise<void> {
    const { pipeline, ended } = this.#running!;
    pipeline.stop(60_000);
    await ended;
  }

  async #terminate(): Promise<void> {
    const { pipeline, ended } = this.#running!;
    pipeline.abort();
    await ended;
    const kept = this.#journal.namedUpTo(this.#pipeline_id);
    this.terminated = this.source.drop(kept);
    this.hasForgotten = true;
    await this.#journal.forgetKeys(this.#pipeline_id);
  }

  #telemetry(): Telemetry {
    return new Proxy({} as Telemetry, {
      get: (_target, event: string) => (facts: { batch?: number }) => {
        this.told.set(event, (this.told.get(event) ?? 0) + 1);
        if (event === "rangeSkipped" || event === "eventsCompacted") this.#noteDoubt(facts.batch);
      },
    });
  }

  #noteDoubt(batch: number | undefined): void {
    const record = this.#journal.pending(this.#pipeline_id).find((one) => one.batch === batch);
    // Of a written batch only duplicates are read again, which have no key.
    const isInDoubt = record !== undefined && record.state.kind !== "written" && mayBeInTable(record);
    if (isInDoubt) for (const id of this.source.missedIn(rangesOf(record))) this.missedInDoubt.add(id);
  }
}

/** The journal of a process: once that is killed, nothing more is written, and no answer comes. */
function poweredBy(power: { isOn: boolean }, journal: Journal): Journal {
  const whilePowered = async (write: () => Promise<void>): Promise<void> => {
    if (power.isOn) await write();
    if (!power.isOn) await new Promise<never>(() => undefined);
  };
  return {
    prepare: (record: BatchRecord) => whilePowered(() => journal.prepare(record)),
    amend: (record) => whilePowered(() => journal.amend(record)),
    commit: (record, released) => whilePowered(() => journal.commit(record, released)),
    setBack: (pipeline_id, from, to) => whilePowered(() => journal.setBack(pipeline_id, from, to)),
    mark: (pipeline_id, clock) => whilePowered(() => journal.mark(pipeline_id, clock)),
    place: (pipeline_id, positions, options) => whilePowered(() => journal.place(pipeline_id, positions, options)),
    giveUp: (record) => whilePowered(() => journal.giveUp(record)),
    pending: (pipeline_id) => journal.pending(pipeline_id),
    progress: (pipeline_id) => journal.progress(pipeline_id),
    finalKeyCount: (pipeline_id) => journal.finalKeyCount(pipeline_id),
    finalKeys: (pipeline_id, after) => journal.finalKeys(pipeline_id, after),
  };
}
