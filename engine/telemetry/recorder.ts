import type { SideHeld } from "../core/counters.ts";
import { refusedRows } from "../core/dead-letter.ts";
import { holdsPositions, rangesOf } from "../core/journal.ts";
import { deadLetterStream } from "../core/names.ts";
import { joinFeed, streamFeed } from "../core/positions.ts";
import { IntakeRecorder } from "./source-recorder.ts";
import type { Telemetry, EventOf, TransformedEvent } from "./telemetry.ts";

/** The one place where the engine's events become log lines, metrics and the counters of health. */
export class Recorder extends IntakeRecorder implements Telemetry {
  statusChanged({ pipeline_id, from, to, reason }: EventOf<"statusChanged">): void {
    this.observed(pipeline_id);
    const fields = { pipeline_id, from, to, ...(reason === undefined ? {} : { reason }) };
    if (to === "Failed") this.log.error(fields, "Pipeline failed.");
    else this.log.info(fields, "Pipeline changed its status.");
  }

  moved(fields: { pipeline_id: string; from: string }): void {
    this.observed(fields.pipeline_id);
    this.log.info(fields, "Pipeline has another pipeline_id, and has kept all that is stored of it.");
  }

  started({ pipeline_id, components }: EventOf<"started">): void {
    // The pauses of an earlier start ended with it, also where its thread died without a message. The death itself is
    // shown until the pipeline has recovered.
    for (const over of this.observed(pipeline_id).open) {
      if (over.class !== "thread") this.pauseEnded({ pipeline_id, ...over });
    }
    const dead_letters = deadLetterStream(pipeline_id);
    for (const component of components) {
      this.log.info(
        { pipeline_id, component, dead_letters },
        "Component started; events that it cannot process go to the stream named in dead_letters.",
      );
    }
  }

  /** All pauses of a pipeline are over, also where its thread died without a message. */
  pausesOver(pipeline_id: string): void {
    for (const over of this.observed(pipeline_id).open) this.pauseEnded({ pipeline_id, ...over });
  }

  /** It runs well again after the death or a hold of its thread. */
  recovered(pipeline_id: string): void {
    this.observed(pipeline_id).hasHeld = false;
    const over = this.observed(pipeline_id).open.find((one) => one.class === "thread");
    if (over !== undefined) this.pauseEnded({ pipeline_id, ...over });
  }

  eventsRead({ pipeline_id, count, bytes, ingested, seconds }: EventOf<"eventsRead">): void {
    this.observed(pipeline_id).counters.events_read += count;
    if (bytes > 0) this.metrics.bytesProcessed.inc({ pipeline_id, component: "ingestor", direction: "in" }, bytes);
    if (ingested > 0) this.#took(pipeline_id, "ingestor", "batch", seconds / ingested);
  }

  prepared({ pipeline_id, events, bytes, mapping, seconds }: EventOf<"prepared">): void {
    if (events === 0) return;
    this.metrics.bytesProcessed.inc({ pipeline_id, component: "sink", direction: "in" }, bytes);
    this.#took(pipeline_id, "sink", "schema_mapping", mapping);
    this.#took(pipeline_id, "sink", "total_preparation", seconds);
    this.#took(pipeline_id, "sink", "per_message", seconds / events);
  }

  agedOut({ pipeline_id, count }: EventOf<"agedOut">): void {
    this.observed(pipeline_id).counters.events_aged_out += count;
    this.metrics.eventsAgedOut.inc({ pipeline_id }, count);
    this.log.error({ pipeline_id, count }, "Events grew older than max_age and were removed without being written.");
  }

  tablesCreated({ pipeline_id, count }: EventOf<"tablesCreated">): void {
    this.observed(pipeline_id).counters.tables_created += count;
    this.metrics.tablesCreated.inc({ pipeline_id }, count);
  }

  tombstonesSkipped({ pipeline_id, count }: EventOf<"tombstonesSkipped">): void {
    this.observed(pipeline_id).counters.tombstones_skipped += count;
    this.metrics.tombstonesSkipped.inc({ pipeline_id }, count);
  }

  lettersExpired({ pipeline_id, count }: EventOf<"lettersExpired">): void {
    this.metrics.lettersExpired.inc({ pipeline_id }, count);
    this.log.warn({ pipeline_id, count }, "Dead letters grew older than dead_letters_max_age and were removed.");
  }

  transformed(event: TransformedEvent): void {
    const { pipeline_id, component, passed, dropped, rejected } = event;
    const dropStatus = component === "filter" ? "filtered" : "duplicate";
    const { counters } = this.observed(pipeline_id);
    if (component === "filter") counters.events_filtered += dropped;
    if (component === "dedup") counters.duplicates_dropped += dropped;
    for (const [status, count] of [
      ["success", passed],
      [dropStatus, dropped],
      ["error", rejected],
    ] as const) {
      if (count > 0) this.metrics.processorMessages.inc({ pipeline_id, component, status }, count);
    }
    this.metrics.bytesProcessed.inc({ pipeline_id, component, direction: "in" }, event.bytesIn);
    this.metrics.bytesProcessed.inc({ pipeline_id, component, direction: "out" }, event.bytesOut);
    // The keys of a dedup are written with the batch, so there is no stage dedup_write.
    const stage = component === "dedup" ? "dedup_filter" : component;
    this.#took(pipeline_id, component, stage, event.seconds);
  }

  /** One observation for a batch. */
  #took(pipeline_id: string, component: string, stage: string, seconds: number): void {
    this.metrics.processingDuration.observe({ pipeline_id, component, stage }, seconds);
  }

  inserted({ pipeline_id, rows, bytes, seconds }: EventOf<"inserted">): void {
    this.metrics.bytesProcessed.inc({ pipeline_id, component: "sink", direction: "out" }, bytes);
    this.#took(pipeline_id, "sink", "insert", seconds);
    this.metrics.batchRecords.observe({ pipeline_id }, rows);
    this.metrics.batchBytes.observe({ pipeline_id }, bytes);
    this.log.debug({ pipeline_id, rows, bytes, seconds }, "Batch inserted.");
  }

  batchCommitted(record: EventOf<"batchCommitted">): void {
    const { pipeline_id, into, rows, rejections } = record;
    const { counters } = this.observed(pipeline_id);
    // One that holds its thread writes as well: others do not meanwhile.
    if (!this.observed(pipeline_id).hasHeld) this.recovered(pipeline_id);
    const read = holdsPositions(record)
      ? rangesOf(record).filter(({ feed }) => feed !== streamFeed && feed !== joinFeed)
      : [];
    for (const { count } of read) this.metrics.recordsRead.inc({ pipeline_id, component: "ingestor" }, count);
    const refused = refusedRows(rejections);
    counters.rows_excluded += refused;
    this.metrics.rowsExcluded.inc({ pipeline_id }, refused);
    const written = into === "join" ? 0 : rows;
    counters.rows_written += written;
    counters.dead_lettered += rejections.length;
    if (refused > 0) this.metrics.processorMessages.inc({ pipeline_id, component: "sink", status: "error" }, refused);
    if (written > 0) {
      this.observed(pipeline_id).rate.add(written);
      this.metrics.recordsWritten.inc({ pipeline_id, component: "sink" }, written);
      this.metrics.processorMessages.inc({ pipeline_id, component: "sink", status: "success" }, written);
    }
    this.metrics.allDeadLetters.inc({ pipeline_id }, rejections.length);
    for (const { component, reason } of rejections) this.metrics.deadLetters.inc({ pipeline_id, component, reason });
    if (rejections.length > 0) {
      this.log.warn({ pipeline_id, count: rejections.length }, "Events were written to the dead-letter queue.");
    }
  }

  batchReplayed({ pipeline_id, batch, rows }: EventOf<"batchReplayed">): void {
    this.observed(pipeline_id).counters.batches_replayed += 1;
    this.metrics.batchesReplayed.inc({ pipeline_id });
    this.log.info({ pipeline_id, batch, rows }, "Pending batch of an earlier run is resumed.");
  }

  batchReprepared({ pipeline_id, batch, from, to }: EventOf<"batchReprepared">): void {
    this.observed(pipeline_id).counters.batches_reprepared += 1;
    this.metrics.batchesReprepared.inc({ pipeline_id });
    this.log.info({ pipeline_id, batch, from, to }, "Batch is prepared again with the new config.");
  }

  batchUncertain({ pipeline_id, batch, rows, choice }: EventOf<"batchUncertain">): void {
    const { counters } = this.observed(pipeline_id);
    counters.batches_uncertain += 1;
    if (choice === "skip") counters.events_skipped += rows;
    this.metrics.batchesUncertain.inc({ pipeline_id, choice });
    if (choice === "skip") this.metrics.eventsSkipped.inc({ pipeline_id }, rows);
    this.log.error(
      { pipeline_id, batch, rows, choice },
      "Batch may already be in the table, and the table may no longer drop a repeated insert.",
    );
  }

  rangeSkipped({ pipeline_id, batch, positions, count }: EventOf<"rangeSkipped">): void {
    this.observed(pipeline_id).counters.events_skipped += count;
    this.metrics.eventsSkipped.inc({ pipeline_id }, count);
    this.log.error(
      { pipeline_id, batch, positions, count },
      "Events of a pending batch are gone from the source; the batch goes on without them.",
    );
  }

  dropsWaited({ pipeline_id, batch, repeats, again }: EventOf<"dropsWaited">): void {
    const { counters } = this.observed(pipeline_id);
    counters.drops_waited += repeats;
    counters.duplicates_dropped += repeats;
    counters.drops_judged_again += again;
    this.metrics.processorMessages.inc({ pipeline_id, component: "dedup", status: "duplicate" }, repeats);
    this.metrics.dropsWaited.inc({ pipeline_id, outcome: "repeat" }, repeats);
    this.metrics.dropsWaited.inc({ pipeline_id, outcome: "judged again" }, again);
    this.log.debug(
      { pipeline_id, batch, repeats, again },
      "Deferred duplicates settled: the batch of the original has ended.",
    );
    if (again > 0)
      this.log.info({ pipeline_id, batch, again }, "Deferred duplicates released: the original was rejected.");
  }

  tokenWithoutRows({ pipeline_id, batch, rows }: EventOf<"tokenWithoutRows">): void {
    this.observed(pipeline_id).counters.tokens_without_rows += 1;
    this.metrics.tokensWithoutRows.inc({ pipeline_id });
    this.log.warn(
      { pipeline_id, batch, rows },
      "The answer to an insert was lost and the table does not hold its rows; the batch is sent with a new token.",
    );
  }

  viewErrorIgnored({ pipeline_id, batch, rows }: EventOf<"viewErrorIgnored">): void {
    this.observed(pipeline_id).counters.view_errors_ignored += 1;
    this.metrics.viewErrorsIgnored.inc({ pipeline_id });
    this.log.error(
      { pipeline_id, batch, rows },
      "Batch was written to the table, but not to a materialized view that fails.",
    );
  }

  clockStepped({ pipeline_id, held, by }: EventOf<"clockStepped">): void {
    this.metrics.clockSteps.inc({ pipeline_id });
    const sentence = held
      ? "The wall clock jumped by more than an hour; the pipeline keeps its own time for up to an hour."
      : "The wall clock has kept its new time for an hour; the pipeline now follows it.";
    this.log.warn({ pipeline_id, by_ms: by }, sentence);
  }

  keysHeld({ pipeline_id, keys, memory, storage }: EventOf<"keysHeld">): void {
    this.observed(pipeline_id).keys = { keys, memory, storage };
    this.metrics.keys.set({ pipeline_id }, keys);
    this.metrics.keyBytes.set({ pipeline_id, where: "memory" }, memory);
    this.metrics.keyBytes.set({ pipeline_id, where: "disk" }, storage);
  }

  /** The keys of a pipeline were forgotten. How many are left is known when it runs. */
  keysForgotten(pipeline_id: string): void {
    delete this.observed(pipeline_id).keys;
    this.metrics.keys.remove({ pipeline_id });
    for (const where of ["memory", "disk"]) this.metrics.keyBytes.remove({ pipeline_id, where });
  }

  joined({ pipeline_id, rows, left, right, waiting, oldest, memory, storage }: EventOf<"joined">): void {
    const observed = this.observed(pipeline_id);
    observed.oldest_row = oldest;
    const held = { left: heldOf(left), right: heldOf(right), waiting, memory, storage };
    observed.join = held;
    observed.counters.rows_joined += rows;
    observed.counters.left_unmatched += left.unmatched;
    observed.counters.right_unmatched += right.unmatched;
    this.metrics.rowsJoined.inc({ pipeline_id }, rows);
    this.metrics.rowsWaiting.set({ pipeline_id }, waiting);
    for (const [side, of] of [
      ["left", left],
      ["right", right],
    ] as const) {
      this.metrics.joinUnmatched.inc({ pipeline_id, side }, of.unmatched);
      this.metrics.joinEvents.set({ pipeline_id, side }, of.events);
      this.metrics.joinEventBytes.set({ pipeline_id, side }, of.bytes);
    }
    this.metrics.joinBytes.set({ pipeline_id, where: "memory" }, memory);
    this.metrics.joinBytes.set({ pipeline_id, where: "disk" }, storage);
  }

  /** A pipeline was terminated: its join buffers nothing. */
  joinDropped(pipeline_id: string): void {
    const observed = this.observed(pipeline_id);
    delete observed.join;
    observed.oldest_row = undefined;
    for (const side of ["left", "right"]) {
      this.metrics.joinEvents.set({ pipeline_id, side }, 0);
      this.metrics.joinEventBytes.set({ pipeline_id, side }, 0);
    }
  }

  joinForgot({ pipeline_id, events }: EventOf<"joinForgot">): void {
    this.log.warn(
      { pipeline_id, events },
      "Keys, windows or sides of the join have changed: the events that it had buffered are forgotten.",
    );
  }

  insertFailed({ pipeline_id, rows, failure, unknown }: EventOf<"insertFailed">): void {
    const isRetryable = failure.class === "transient" || failure.class === "disk";
    const classification = isRetryable ? "retryable" : failure.class === "row" ? "permanent" : "unknown";
    this.metrics.sinkErrors.inc({ pipeline_id, classification, error_name: failure.name });
    this.metrics.sinkRetries.inc({ pipeline_id, outcome: "retry" }, rows);
    if (isRetryable) {
      this.metrics.sinkNacks.inc({ pipeline_id }, rows);
      this.metrics.processorMessages.inc({ pipeline_id, component: "sink", status: "retry" }, rows);
    }
    const { class: kind, code, text } = failure;
    this.log.warn({ pipeline_id, rows, class: kind, code, unknown, error: text }, "Insert failed; it is retried.");
  }

  insertRepeated({ pipeline_id, batch }: EventOf<"insertRepeated">): void {
    this.observed(pipeline_id).counters.inserts_repeated += 1;
    this.metrics.insertsRepeated.inc({ pipeline_id });
    this.log.info({ pipeline_id, batch }, "Insert is sent again with the same deduplication token.");
  }

  paused({ pipeline_id, pause }: EventOf<"paused">): void {
    const isNews = this.observed(pipeline_id).paused(pause);
    this.metrics.paused.set({ pipeline_id, class: pause.class }, 1);
    if (!isNews) return;
    const { class: kind, text, way_out } = pause;
    this.log.error({ pipeline_id, class: kind, reason: text, way_out }, "Pipeline is paused.");
  }

  pauseEnded({ pipeline_id, class: kind, seconds }: EventOf<"pauseEnded">): void {
    if (!this.observed(pipeline_id).pauseEnded(kind)) return;
    this.metrics.paused.set({ pipeline_id, class: kind }, 0);
    this.metrics.pausedSeconds.inc({ pipeline_id, class: kind }, seconds);
    this.log.info({ pipeline_id, class: kind, seconds }, "Pause of the pipeline has ended.");
  }

  atLeastOnce({ pipeline_id, reason }: EventOf<"atLeastOnce">): void {
    const observed = this.observed(pipeline_id);
    this.metrics.atLeastOnce.set({ pipeline_id }, reason === undefined ? 0 : 1);
    if (reason === undefined) {
      if (observed.at_least_once !== undefined)
        this.log.info({ pipeline_id }, "The target drops repeated inserts now.");
      delete observed.at_least_once;
      return;
    }
    observed.at_least_once = reason;
    this.log.warn({ pipeline_id, reason }, "The target cannot drop a repeated insert: delivery is at least once.");
  }

  profileRemark({ pipeline_id, remark }: EventOf<"profileRemark">): void {
    const observed = this.observed(pipeline_id);
    this.metrics.profileRemark.set({ pipeline_id }, remark === undefined ? 0 : 1);
    if (remark === undefined) {
      if (observed.profile_remark !== undefined)
        this.log.info({ pipeline_id }, "The settings profile has no setting any more that may change rows.");
      delete observed.profile_remark;
      return;
    }
    observed.profile_remark = remark;
    this.log.warn({ pipeline_id, remark }, "The settings profile of the target's user may change rows.");
  }

  threadDied({ pipelines, error }: EventOf<"threadDied">): void {
    this.metrics.threadDeaths.inc();
    this.log.error({ pipelines, error }, "A pipeline thread died; its pipelines are started again.");
  }

  /** It has kept its thread from everything else for more than a second. */
  threadHeld({ pipeline_id, pause }: EventOf<"paused">): void {
    this.observed(pipeline_id).hasHeld = true;
    this.metrics.threadHolds.inc({ pipeline_id });
    this.paused({ pipeline_id, pause });
  }

  grpcNotLoaded({ error }: EventOf<"grpcNotLoaded">): void {
    this.log.error(
      { error },
      "A connection of OTLP over gRPC was closed, because the files of its receiver cannot be loaded: after an upgrade, restart Sluice.",
    );
  }
}

function heldOf({ events, bytes }: SideHeld): SideHeld {
  return { events, bytes };
}
