import { randomBytes } from "node:crypto";
import type { BatchBuilder } from "../batch/builder.ts";
import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";
import type { BatchOrigin, BatchRecord } from "../core/journal.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import type { Block } from "../core/sink.ts";
import { type Holding, unnoted } from "../flow/thread-hold.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** A batch between prepare and commit: its record, the events that it was made of, and the revision that makes its rows. */
export interface PreparedBatch {
  record: BatchRecord;
  builder: BatchBuilder;
  compiled: CompiledPipeline;
  /** Its rows, where they have been encoded just now. */
  block?: Block;
  /** An earlier revision makes its rows: if the target refuses them, the current one makes them again. */
  isEarlier?: boolean;
}

/** What a batch of the current revision is prepared with. */
export interface PrepareOptions {
  pipeline_id: string;
  compiled: CompiledPipeline;
  keys: KeyMemory;
  telemetry: Telemetry;
  /** See `BatchRecord.into`. */
  into?: "join";
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** Notes what keeps the thread from other pipelines. Default: nobody looks. */
  holding?: Holding;
}

/** The record and the rows of a batch that the current revision has built. Nothing is durable yet. */
export async function prepareBatch(
  builder: BatchBuilder,
  { pipeline_id, compiled, keys, telemetry, into, leave, holding = unnoted }: PrepareOptions,
  madeOf: BatchOrigin = { kind: "source", ranges: builder.ranges },
): Promise<PreparedBatch> {
  const { batch, clock, oldest, only } = builder.plan;
  // If the target cannot be read now, it is read before the batch is sent.
  const read = await compiled.sink.read(false, leave);
  const started = performance.now();
  const block = holding(() => builder.encode());
  const encoding = (performance.now() - started) / 1000;
  const { bytes, seconds: mapping } = builder.mapped;
  const events = block.events.length + block.rejected.filter(({ component }) => component === "sink").length;
  telemetry.prepared({ pipeline_id, events, bytes, mapping, seconds: mapping + encoding });
  const record: BatchRecord = {
    batch,
    pipeline_id,
    ...(into !== undefined && { into }),
    madeOf,
    ...(only !== undefined && { only: [...only] }),
    revision: compiled.revision,
    token: freshToken(),
    clock,
    oldest,
    rows: block.events.length,
    rejections: block.rejected,
    excluded: [],
    keys: keys.blocks(batch),
    waiting: [...builder.waiting],
    state: { kind: "prepared", ...(read.kind === "read" && { target: read.reading }) },
  };
  return { record, builder, compiled, block };
}

/** 128 random bits, never derived from offsets: after a deliberate rewind the events must not count as repeats. */
export function freshToken(): string {
  return randomBytes(16).toString("hex");
}

/** The fields by which telemetry identifies a batch. */
export function namesOf({
  pipeline_id,
  batch,
  rows,
}: BatchRecord): Pick<BatchRecord, "pipeline_id" | "batch" | "rows"> {
  return { pipeline_id, batch, rows };
}
