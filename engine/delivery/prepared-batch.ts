import { randomBytes } from "node:crypto";
import type { BatchRecord } from "../core/journal.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import type { Block } from "../core/sink.ts";
import type { BatchBuilder } from "../batch/builder.ts";
import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";

/** A batch on its way: its record, the events that it was made of, and the line that makes its rows. */
export interface PreparedBatch {
  record: BatchRecord;
  builder: BatchBuilder;
  line: CompiledPipeline;
  /** Its rows, where they have been encoded just now. */
  block?: Block;
  /** It was prepared by an earlier start, which may have sent it. */
  isReplay: boolean;
  /** Its line is that of an earlier revision: what is refused is made again by the current one. */
  isEarlier?: boolean;
}

/** The record and the rows of a batch that was put together by the current line. Nothing is durable yet. */
export async function prepareBatch(
  builder: BatchBuilder,
  { pipeline_id, line, keys }: { pipeline_id: string; line: CompiledPipeline; keys: KeyMemory },
  signal: AbortSignal,
): Promise<PreparedBatch> {
  const { batch, clock, oldest, only } = builder.plan;
  // Where the target cannot be read now, it is read before the batch is sent.
  const read = await line.sink.read(false, signal);
  const block = builder.encode();
  const own = keys.blocks(batch);
  const record: BatchRecord = {
    batch,
    pipeline_id,
    ranges: builder.ranges,
    ...(only === undefined ? {} : { only: [...only] }),
    revision: line.revision,
    token: randomBytes(16).toString("hex"),
    clock,
    oldest,
    rows: block.events.length,
    rejections: block.rejected,
    excluded: [],
    ...(own.length === 0 ? {} : { keys: own }),
    ...(builder.waiting.length === 0 ? {} : { waiting: [...builder.waiting] }),
    ...(read.kind === "read" ? { target: read.reading } : {}),
    heard: "nothing",
  };
  return { record, builder, line, block, isReplay: false };
}

/** The record as one of dead letters: it holds no position of the source. */
export function ofLetters(record: BatchRecord, letters: number[]): BatchRecord {
  return { ...record, ranges: [], letters };
}
