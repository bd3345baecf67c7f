import type { PipelineHealth } from "../../engine/index.ts";

/** Events that a pipeline has settled between two moments. */
export function settledBy(before: PipelineHealth, after: PipelineHealth | undefined): number {
  if (after === undefined) return 0;
  return Math.max(0, settledIn(after) - settledIn(before));
}

/** Of one that has no stream: since the process started. */
function settledIn({ source, stream, counters }: PipelineHealth): number {
  if (source === undefined) return stream.last - stream.messages;
  return counters.rows_written + counters.events_filtered + counters.duplicates_dropped + counters.dead_lettered;
}
