import type { BatchBuilder, BatchPlan } from "../batch/builder.ts";
import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";
import type { BatchReader } from "../batch/reader.ts";
import { mayBeInTable, rangesOf, settledRejections, type BatchRecord } from "../core/journal.ts";
import type { Waited } from "../core/pause.ts";
import { rangeText, type Place } from "../core/positions.ts";
import type { Source } from "../core/source.ts";
import type { JournalWriter, Pauses } from "./pauses.ts";
import { namesOf, prepareBatch, type PreparedBatch, type PrepareOptions } from "./prepared-batch.ts";
import { howToRecover, whenEventsAreGone, type SendOptions } from "./protocol.ts";
import type { SendResult } from "./sender.ts";
import type { Target } from "./target.ts";

type Remake = Extract<SendResult, { kind: "remake" }>;

export interface RecoveryOptions extends PrepareOptions {
  compiledOf: (revision: number) => CompiledPipeline;
  source: Source;
  options: SendOptions;
  reader: BatchReader;
  journal: JournalWriter;
  target: Target;
  pauses: Pauses;
}

/**
 * Makes the batches of an earlier start again, each from its record alone (docs/delivery-protocol.md, "Recovery").
 *
 * A batch of the current revision is made as it was. One of an earlier revision whose inserts were all refused is
 * processed anew by the current one. One that may be in the table is sent as it was, by the revision that made it; if
 * that is refused, the same events become rows by the current revision, with the same token: rows that are in the table
 * are dropped, and the others are written.
 */
export class Recovery {
  readonly #with: RecoveryOptions;
  /** Earlier revisions that were opened. */
  readonly #earlier = new Map<number, CompiledPipeline>();

  constructor(options: RecoveryOptions) {
    this.#with = options;
  }

  /** A pending batch as it goes on. */
  async prepared(record: BatchRecord): Promise<PreparedBatch> {
    const { compiled, telemetry } = this.#with;
    telemetry.batchReplayed(namesOf(record));
    switch (howToRecover(record, compiled.revision)) {
      case "as recorded":
        return this.#replay(record, compiled);
      case "processed anew":
        return this.#processAnew(record);
      default:
        return this.#byItsRevision(record);
    }
  }

  /** A batch that its own revision cannot write, made again by the current one. */
  async again({ token, record }: Remake, { builder }: PreparedBatch): Promise<PreparedBatch> {
    return token === "fresh" ? this.#processAnew(record) : this.#withItsToken(record, builder);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#earlier.values()].map(({ sink }) => sink.close()));
  }

  async #byItsRevision(record: BatchRecord): Promise<PreparedBatch> {
    const { revision, state } = record;
    const earlier = this.#earlier.get(revision) ?? this.#with.compiledOf(revision);
    this.#earlier.set(revision, earlier);
    const prepared = { ...(await this.#replay(record, earlier)), isEarlier: true };
    if (state.kind === "written" || (await this.#opens(earlier))) return prepared;
    return this.#withItsToken(prepared.record, prepared.builder);
  }

  /** Whether the target of an earlier revision can be opened. Waits until it answers. */
  async #opens({ sink }: CompiledPipeline): Promise<boolean> {
    const { target, pauses } = this.#with;
    for (let attempt = 1; ; attempt += 1) {
      const opened = await target.open(sink);
      if (opened.kind === "ok") return true;
      const { class: kind } = opened.failure;
      if (kind !== "transient" && kind !== "disk") return false;
      await pauses.wait(opened.failure, attempt, sink);
    }
  }

  async #replay(record: BatchRecord, compiled: CompiledPipeline): Promise<PreparedBatch> {
    const { only, waiting } = record;
    // A record without keys: dedup kept none of its events.
    const kept = new Set(keyPlaces(record));
    const plan = { ...(only !== undefined && { only: new Set(only) }), kept, waiting };
    const builder = await this.#readAgain(record, compiled, plan);
    return { record: await this.#withoutGone(record, builder), builder, compiled };
  }

  /**
   * Reads the events of a record again; where some are missing, waits or goes on without them. Where the plan lets dedup
   * decide, the batch has no keys before.
   */
  async #readAgain(record: BatchRecord, compiled: CompiledPipeline, plan: Partial<BatchPlan>): Promise<BatchBuilder> {
    const { reader, source, options, pauses, keys } = this.#with;
    for (let attempt = 1; ; attempt += 1) {
      // Else the events would be duplicates of themselves, as dedup saw them here before or at the last attempt.
      if (plan.only === undefined && plan.kept === undefined) keys.release(record.batch);
      const builder = await reader.again(record, compiled, plan);
      const count = missing(record, builder);
      if (count <= 0) return builder;
      const isHeld = await source.mayHaveCompacted(rangesOf(record));
      const decided = whenEventsAreGone(isHeld, options);
      if (decided !== "waits") {
        this.#report(record, decided, count);
        return builder;
      }
      await pauses.wait(lossOf(record, count, source), attempt);
    }
  }

  #report(record: BatchRecord, decided: "goes on, compacted" | "goes on, skipped", count: number): void {
    const { pipeline_id, telemetry } = this.#with;
    const { batch } = record;
    if (decided === "goes on, compacted") telemetry.eventsCompacted({ pipeline_id, batch, count });
    else telemetry.rangeSkipped({ pipeline_id, batch, positions: rangesText(record, this.#with.source), count });
  }

  /** Keys of events that are gone are free, unless the batch may be in the table. */
  async #withoutGone(record: BatchRecord, builder: BatchBuilder): Promise<BatchRecord> {
    if (mayBeInTable(record)) return record;
    const known = new Set(record.excluded);
    const gone = gonePlaces(record, builder).filter((place) => !known.has(place));
    if (gone.length === 0) return record;
    return this.#with.journal.prepare({ ...record, excluded: [...record.excluded, ...gone] });
  }

  /**
   * The batch is not in the table: its keys are released, and filter, dedup and transforms of the current revision
   * decide.
   */
  async #processAnew(stale: BatchRecord): Promise<PreparedBatch> {
    const { compiled, journal } = this.#with;
    const { only, waiting } = stale;
    this.#reportRemade(stale);
    // If filter and dedup have decided before, they do not decide again: the events keep their keys.
    const plan: Partial<BatchPlan> = only === undefined ? {} : { only: new Set(only), waiting };
    const builder = await this.#readAgain(stale, compiled, plan);
    const { record, ...made } = await prepareBatch(builder, this.#with, stale.madeOf);
    const rejections = [...settledRejections(stale), ...record.rejections];
    const excluded = only === undefined ? [] : gonePlaces(record, builder);
    return { ...made, record: await journal.prepare({ ...record, rejections, excluded }) };
  }

  /** The same events become rows by the current revision, with the same token. */
  async #withItsToken(stale: BatchRecord, builder: BatchBuilder): Promise<PreparedBatch> {
    const { compiled, journal } = this.#with;
    this.#reportRemade(stale);
    const only = builder.rowPositions(stale);
    const { revision } = compiled;
    // What was excluded stays so: the rows are no longer made of it.
    const record = await journal.prepare({ ...stale, revision, only, rows: only.length });
    const plan = { only: new Set(only), waiting: stale.waiting };
    const made = await this.#readAgain(record, compiled, plan);
    return { record: await this.#withoutGone(record, made), builder: made, compiled };
  }

  #reportRemade({ batch, revision }: BatchRecord): void {
    const { compiled, pipeline_id, telemetry } = this.#with;
    telemetry.batchReprepared({ pipeline_id, batch, from: revision, to: compiled.revision });
  }
}

/** The events with keys that were not read again, by a plan that says which it keeps. */
function gonePlaces(record: BatchRecord, builder: BatchBuilder): Place[] {
  return keyPlaces(record).filter((place) => !builder.has(place));
}

function keyPlaces({ keys }: BatchRecord): Place[] {
  return keys.flatMap(({ positions }) => positions);
}

/** The number of events of a record that it still needs, and that were not read again. */
function missing(record: BatchRecord, builder: BatchBuilder): number {
  const { madeOf, state, only, waiting } = record;
  // They are in the data dir.
  if (madeOf.kind === "letters") return 0;
  const unheld = waiting.length - builder.received(waiting.map(({ position }) => position)).length;
  if (state.kind === "written") return unheld;
  return only === undefined ? countOf(record) - builder.found : only.length - builder.found + unheld;
}

function countOf(record: BatchRecord): number {
  return rangesOf(record).reduce((sum, { count }) => sum + count, 0);
}

function rangesText(record: BatchRecord, { feedText }: Pick<Source, "feedText">): string {
  return rangesOf(record)
    .filter(({ count }) => count > 0)
    .map((range) => rangeText(range, feedText))
    .join(", ");
}

/** The pause because `count` events of a batch cannot be read again. */
export function lossOf(record: BatchRecord, count: number, source: Pick<Source, "wayOutOfLoss" | "feedText">): Waited {
  const { wayOutOfLoss: way_out } = source;
  const gone = `${count} events of the positions ${rangesText(record, source)} are gone from the source`;
  const text = `${gone}; set x-sluice.on_lost: skip to go on without them`;
  return { class: "lost", text, ...(way_out !== undefined && { way_out }) };
}
