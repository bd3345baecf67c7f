import type { PipelineCounters } from "../core/view.ts";

/** The counters of a pipeline that has done nothing yet. */
export function zeroCounters(): PipelineCounters {
  return {
    events_read: 0,
    events_filtered: 0,
    duplicates_dropped: 0,
    drops_waited: 0,
    drops_judged_again: 0,
    batches_reprepared: 0,
    batches_uncertain: 0,
    view_errors_ignored: 0,
    tokens_without_rows: 0,
    events_skipped: 0,
    events_compacted: 0,
    positions_skipped: 0,
    logs_cut: 0,
    topics_recreated: 0,
    positions_moved: 0,
    strangers_commits: 0,
    owner_checks: 0,
    events_aged_out: 0,
    rows_written: 0,
    dead_lettered: 0,
    batches_replayed: 0,
    inserts_repeated: 0,
    rows_excluded: 0,
  };
}
