import type { BatchReader } from "../batch/reader.ts";
import { mayBeInTable, type BatchRecord } from "../core/journal.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import { rangeText } from "../core/positions.ts";
import type { Source } from "../core/source.ts";
import type { BatchBuilder, BatchPlan } from "../batch/builder.ts";
import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";
import type { SendResult } from "./sender.ts";
import type { Settlement } from "./settlement.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { prepareBatch, ofLetters, type PreparedBatch } from "./prepared-batch.ts";

interface RecoveryParts {
  pipeline_id: string;
  line: CompiledPipeline;
  lineOf(revision: number): CompiledPipeline;
  keys: KeyMemory;
  source: Source;
  telemetry: Telemetry;
}

/**
 * Makes the batches of an earlier start again, each from its record alone (delivery, section 2).
 *
 * A batch of the current revision is made as it was. One of an earlier revision that met only refusals is judged anew
 * by the current one. One that may be in the table is sent as it was, by the revision that made it; if that is refused,
 * the same events become rows by the current revision, under the same token: what is in the table is dropped, and the
 * rest is written.
 */
export class Recovery {
  readonly #parts: RecoveryParts;
  readonly #reader: BatchReader;
  readonly #settlement: Settlement;
  /** Lines of earlier revisions that were opened. */
  readonly #earlier = new Map<number, CompiledPipeline>();

  constructor(parts: RecoveryParts, reader: BatchReader, settlement: Settlement) {
    this.#parts = parts;
    this.#reader = reader;
    this.#settlement = settlement;
  }

  /** A pending batch as it goes on. */
  async prepared(record: BatchRecord): Promise<PreparedBatch> {
    const { line, telemetry, pipeline_id } = this.#parts;
    telemetry.batchReplayed({ pipeline_id, batch: record.batch, rows: record.rows });
    if (record.revision === line.revision) return this.#replay(record, line);
    if (!mayBeInTable(record)) return this.#judgeAnew(record);
    const earlier = this.#lineOf(record.revision);
    const prepared = { ...(await this.#replay(record, earlier)), isEarlier: true };
    if (record.heard === "written" || (await this.#opens(earlier))) return prepared;
    return this.again({ kind: "again with its token", record: prepared.record, bytes: 0 }, prepared);
  }

  /** A batch that its own revision cannot write, made again by the current one. */
  async again({ kind, record }: SendResult, prepared: PreparedBatch): Promise<PreparedBatch> {
    return kind === "again" ? this.#judgeAnew(record) : this.#withItsToken(record, prepared.builder);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#earlier.values()].map(({ sink }) => sink.close()));
  }

  #lineOf(revision: number): CompiledPipeline {
    const line = this.#earlier.get(revision) ?? this.#parts.lineOf(revision);
    this.#earlier.set(revision, line);
    return line;
  }

  /** Whether the target of an earlier revision can be opened; it is waited for where it does not answer. */
  async #opens({ sink }: CompiledPipeline): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const opened = await this.#settlement.open(sink);
      if (opened.kind === "ok") return true;
      if (opened.failure.class !== "transient") return false;
      await this.#settlement.wait(opened.failure, attempt, sink);
    }
  }

  async #replay(record: BatchRecord, line: CompiledPipeline): Promise<PreparedBatch> {
    const { only, keys, waiting } = record;
    const plan: Partial<BatchPlan> = {
      ...(only === undefined ? {} : { only: new Set(only) }),
      // Without keys of its own, dedup kept none of its events.
      kept: new Set(positionsOf(keys)),
      ...(waiting === undefined ? {} : { waiting }),
    };
    const { builder, found } = await this.#whole(record, line, plan);
    return { record: found, builder, line, isReplay: true };
  }

  /** Reads the events of a record again, and says what becomes of it where some are gone. */
  async #whole(
    record: BatchRecord,
    line: CompiledPipeline,
    plan: Partial<BatchPlan>,
  ): Promise<{ builder: BatchBuilder; found: BatchRecord }> {
    const { on_lost } = this.#settlement.with.options;
    for (let attempt = 1; ; attempt += 1) {
      const builder = await this.#reader.again(record, line, plan);
      const missing = (record.only?.length ?? countOf(record)) - builder.asked;
      if (record.letters !== undefined || record.heard === "written" || missing <= 0) return { builder, found: record };
      const { pipeline_id, telemetry, source } = this.#parts;
      if (await source.stillHolds(record.ranges)) {
        telemetry.eventsCompacted({ pipeline_id, batch: record.batch, count: missing });
        return { builder, found: await this.#without(record, builder) };
      }
      const positions = record.ranges
        .filter(({ count }) => count > 0)
        .map(rangeText)
        .join(", ");
      const text = `${missing} events of the positions ${positions} are gone from the source; set x-sluice.on_lost: skip to go on without them`;
      if (on_lost === "skip") {
        telemetry.rangeSkipped({ pipeline_id, batch: record.batch, positions, count: missing });
        return { builder, found: await this.#without(record, builder) };
      }
      await this.#settlement.wait({ class: "lost", text }, attempt);
    }
  }

  /** Keys of events that are gone are free, unless the batch may be in the table. */
  async #without(record: BatchRecord, builder: BatchBuilder): Promise<BatchRecord> {
    const gone = positionsOf(record.keys).filter((position) => !builder.has(position));
    if (mayBeInTable(record) || gone.length === 0) return record;
    return this.#settlement.prepare({ ...record, excluded: [...record.excluded, ...gone] });
  }

  /** Nothing of it is in the table: its keys are given up, and filter, dedup and transforms of today decide. */
  async #judgeAnew(stale: BatchRecord): Promise<PreparedBatch> {
    const { keys, line, telemetry, pipeline_id } = this.#parts;
    const { batch, only, letters, ranges, isAside, waiting, revision } = stale;
    telemetry.batchReprepared({ pipeline_id, batch, from: revision, to: line.revision });
    // What was judged again is not judged a third time: its events keep their keys.
    const plan: Partial<BatchPlan> =
      only === undefined ? {} : { only: new Set(only), ...(waiting === undefined ? {} : { waiting }) };
    if (only === undefined) keys.release(batch);
    const { builder } = await this.#whole(stale, line, plan);
    const made = await prepareBatch(builder, this.#parts, this.#settlement.with.leave);
    const own = { ...made.record, ranges, ...(isAside === undefined ? {} : { isAside }) };
    const record = letters === undefined ? own : ofLetters(made.record, letters);
    return { ...made, record: await this.#settlement.prepare(record) };
  }

  /** The same events become rows by the current line, under the same token. */
  async #withItsToken(stale: BatchRecord, builder: BatchBuilder): Promise<PreparedBatch> {
    const { line, telemetry, pipeline_id } = this.#parts;
    const { batch, revision, waiting } = stale;
    telemetry.batchReprepared({ pipeline_id, batch, from: revision, to: line.revision });
    const only = builder.rowPositions(stale);
    const record = await this.#settlement.prepare({ ...stale, revision: line.revision, only, rows: only.length });
    const plan = { only: new Set(only), ...(waiting === undefined ? {} : { waiting }) };
    return { record, builder: await this.#reader.again(record, line, plan), line, isReplay: true };
  }
}

function positionsOf(keys: BatchRecord["keys"] = []): number[] {
  return keys.flatMap(({ positions }) => positions);
}

function countOf({ ranges }: BatchRecord): number {
  return ranges.reduce((sum, { count }) => sum + count, 0);
}
