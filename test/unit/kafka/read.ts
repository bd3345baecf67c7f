import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { FetchedPartition } from "../../../engine/sources/kafka/protocol/fetch.ts";
import { RecordBatches } from "../../../engine/sources/kafka/protocol/record-batches.ts";
import { RecordRun } from "../../../engine/sources/kafka/protocol/record-run.ts";

export const codecs: Codecs = await Codecs.load();

export interface Read {
  /** Offset and value of each record, null for a tombstone. */
  records: [number, string | null][];
  nextOffset: number;
  /** How many records each run held. */
  runs: number[];
  /** What ended the reading, if it did not end by itself. */
  error?: unknown;
}

/** Reads all of a partition into objects, up to its end or to an error. */
export function read(fetched: FetchedPartition, from = 0, run = new RecordRun(), using = codecs): Read {
  const batches = new RecordBatches(fetched, from, using, run);
  const result: Read = { records: [], runs: [], nextOffset: from };
  try {
    while (batches.next()) {
      result.runs.push(run.count);
      result.records.push(...recordsOf(run));
    }
  } catch (error) {
    result.error = error;
  }
  return { ...result, nextOffset: batches.nextOffset };
}

function recordsOf({ bytes, count, offsets, starts, ends }: RecordRun): [number, string | null][] {
  return Array.from({ length: count }, (_, at) => {
    const [start, end] = [starts[at]!, ends[at]!];
    return [offsets[at]!, end < 0 ? null : bytes.toString("utf8", start, end)];
  });
}
