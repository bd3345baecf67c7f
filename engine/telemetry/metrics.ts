import { isForOperator, type RefusalReason, refusals } from "../core/refusals.ts";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Log } from "./log.ts";

const durations = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const backpressureDurations = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];
const records = [1, 10, 100, 1000, 10_000, 100_000];
const bytes = [1024, 10_240, 102_400, 1_048_576, 10_485_760, 104_857_600];
const receiverLabels = ["pipeline_id", "component", "transport", "status"] as const;

/** The engine's metrics (docs/reference/metrics.md): the names of the v3 format (`gfm_`) and Sluice's own (`sluice_`). */
export interface EngineMetrics {
  recordsWritten: Counter<"pipeline_id" | "component">;
  deadLetters: Counter<"pipeline_id" | "component" | "reason">;
  allDeadLetters: Counter<"pipeline_id">;
  bytesProcessed: Counter<"pipeline_id" | "component" | "direction">;
  processorMessages: Counter<"pipeline_id" | "component" | "status">;
  processingDuration: Histogram<"pipeline_id" | "component" | "stage">;
  sinkErrors: Counter<"pipeline_id" | "classification" | "error_name">;
  sinkRetries: Counter<"pipeline_id" | "outcome">;
  sinkNacks: Counter<"pipeline_id">;
  batchRecords: Histogram<"pipeline_id">;
  batchBytes: Histogram<"pipeline_id">;
  backpressureActive: Gauge<"pipeline_id" | "component">;
  backpressureEvents: Counter<"pipeline_id" | "component">;
  backpressureDuration: Histogram<"pipeline_id" | "component">;
  ingestorActive: Gauge<"pipeline_id">;
  ingestorEvents: Counter<"pipeline_id">;
  ingestorDuration: Histogram<"pipeline_id">;
  requests: Counter<"pipeline_id" | "status">;
  receiverRequests: Counter<"pipeline_id" | "component" | "transport" | "status">;
  receiverRequestsAlias: Counter<"pipeline_id" | "component" | "transport" | "status">;
  receiverDuration: Histogram<"pipeline_id" | "component" | "transport" | "status">;
  pushRefusals: Counter<"pipeline_id" | "reason">;
  receiverRefusals: Counter<"pipeline_id" | "component" | "transport" | "reason">;
  recordsRead: Counter<"pipeline_id" | "component">;
  eventsCompacted: Counter<"pipeline_id">;
  positionsSkipped: Counter<"pipeline_id">;
  logsCut: Counter<"pipeline_id">;
  topicsRecreated: Counter<"pipeline_id">;
  positionsMoved: Counter<"pipeline_id">;
  foreignCommits: Counter<"pipeline_id">;
  ownerChecks: Counter<"pipeline_id">;
  foreignMembers: Gauge<"pipeline_id">;
  fetchedBytes: Counter<"pipeline_id" | "from">;
  lag: Gauge<"pipeline_id">;
  lagSeconds: Gauge<"pipeline_id">;
  partitionLag: Gauge<"pipeline_id" | "topic" | "partition">;
  heldBack: Gauge<"pipeline_id">;
  throttledSeconds: Counter<"pipeline_id">;
  uncommitted: Gauge<"pipeline_id">;
  partitions: Gauge<"pipeline_id">;
  eventsAgedOut: Counter<"pipeline_id">;
  tablesCreated: Counter<"pipeline_id">;
  tombstonesSkipped: Counter<"pipeline_id">;
  spansRefused: Counter<"pipeline_id">;
  pointsLeftOut: Counter<"pipeline_id">;
  lettersExpired: Counter<"pipeline_id">;
  batchesReplayed: Counter<"pipeline_id">;
  insertsRepeated: Counter<"pipeline_id">;
  batchesReprepared: Counter<"pipeline_id">;
  batchesUncertain: Counter<"pipeline_id" | "choice">;
  viewErrorsIgnored: Counter<"pipeline_id">;
  eventsSkipped: Counter<"pipeline_id">;
  tokensWithoutRows: Counter<"pipeline_id">;
  dropsWaited: Counter<"pipeline_id" | "outcome">;
  clockSteps: Counter<"pipeline_id">;
  keys: Gauge<"pipeline_id">;
  keyBytes: Gauge<"pipeline_id" | "where">;
  rowsJoined: Counter<"pipeline_id">;
  rowsWaiting: Gauge<"pipeline_id">;
  joinUnmatched: Counter<"pipeline_id" | "side">;
  joinEvents: Gauge<"pipeline_id" | "side">;
  joinEventBytes: Gauge<"pipeline_id" | "side">;
  joinBytes: Gauge<"pipeline_id" | "where">;
  rowsExcluded: Counter<"pipeline_id">;
  paused: Gauge<"pipeline_id" | "class">;
  pausedSeconds: Counter<"pipeline_id" | "class">;
  atLeastOnce: Gauge<"pipeline_id">;
  profileRemark: Gauge<"pipeline_id">;
  threadDeaths: Counter;
  threadHolds: Counter<"pipeline_id">;
}

/** None of their calls throws. */
export function engineMetrics(registry: Registry, log: Log): EngineMetrics {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    neverThrowing(new Counter<L>({ name, help, labelNames, registers }), name, log);
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    neverThrowing(new Gauge<L>({ name, help, labelNames, registers }), name, log);
  const histogram = <L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]) =>
    neverThrowing(new Histogram<L>({ name, help, buckets, labelNames, registers }), name, log);

  return {
    recordsWritten: counter("gfm_clickhouse_records_written_total", "Rows written.", "pipeline_id", "component"),
    deadLetters: counter(
      "gfm_dlq_records_written_total",
      "Events written to the dead-letter queue.",
      "pipeline_id",
      "component",
      "reason",
    ),
    allDeadLetters: counter(
      "sluice_dead_letters_total",
      "Events written to the dead-letter queue, whatever the reason.",
      "pipeline_id",
    ),
    bytesProcessed: counter(
      "gfm_bytes_processed_total",
      "Payload bytes that a component received or passed on.",
      "pipeline_id",
      "component",
      "direction",
    ),
    processorMessages: counter(
      "gfm_processor_messages_total",
      "Events, by component and outcome.",
      "pipeline_id",
      "component",
      "status",
    ),
    processingDuration: histogram(
      "gfm_processing_duration_seconds",
      "Processing time of a component for a batch, in seconds.",
      durations,
      "pipeline_id",
      "component",
      "stage",
    ),
    sinkErrors: counter(
      "gfm_sink_errors_by_classification_total",
      "Failed inserts, by class and name of the error.",
      "pipeline_id",
      "classification",
      "error_name",
    ),
    sinkRetries: counter(
      "gfm_sink_retries_total",
      "Rows of inserts that failed and are retried, counted at each failure.",
      "pipeline_id",
      "outcome",
    ),
    sinkNacks: counter(
      "gfm_sink_nack_messages_total",
      "Rows of inserts that failed for a reason that passes, counted at each failure.",
      "pipeline_id",
    ),
    batchRecords: histogram("gfm_sink_batch_size_records", "Rows per insert.", records, "pipeline_id"),
    batchBytes: histogram("gfm_sink_batch_size_bytes", "Bytes per insert.", bytes, "pipeline_id"),
    backpressureActive: gauge(
      "gfm_component_backpressure_active",
      "1 while the buffer is full and no more events are read or accepted.",
      "pipeline_id",
      "component",
    ),
    backpressureEvents: counter(
      "gfm_component_backpressure_events_total",
      "Episodes of back-pressure.",
      "pipeline_id",
      "component",
    ),
    backpressureDuration: histogram(
      "gfm_component_backpressure_duration_seconds",
      "Duration of an episode of back-pressure, in seconds.",
      backpressureDurations,
      "pipeline_id",
      "component",
    ),
    ingestorActive: gauge(
      "gfm_ingestor_backpressure_active",
      "1 while the buffer is full and no more events are read or accepted.",
      "pipeline_id",
    ),
    ingestorEvents: counter("gfm_ingestor_backpressure_events_total", "Episodes of back-pressure.", "pipeline_id"),
    ingestorDuration: histogram(
      "gfm_ingestor_backpressure_duration_seconds",
      "Duration of an episode of back-pressure, in seconds.",
      backpressureDurations,
      "pipeline_id",
    ),
    requests: counter("sluice_webhook_requests_total", "Webhook requests by HTTP status.", "pipeline_id", "status"),
    receiverRequests: counter("gfm_receiver_request_count_total", "OTLP requests.", ...receiverLabels),
    receiverRequestsAlias: counter("gfm_receiver_request_count", "OTLP requests.", ...receiverLabels),
    receiverDuration: histogram(
      "gfm_receiver_request_duration_seconds",
      "Duration of an OTLP request until its answer, in seconds.",
      durations,
      ...receiverLabels,
    ),
    pushRefusals: counter(
      "sluice_push_refusals_total",
      "Requests of senders that were refused, webhook and OTLP: nothing of them is stored.",
      "pipeline_id",
      "reason",
    ),
    receiverRefusals: counter(
      "sluice_otlp_refusals_total",
      "OTLP requests that were refused: nothing of them is stored.",
      "pipeline_id",
      "component",
      "transport",
      "reason",
    ),
    spansRefused: counter(
      "sluice_otlp_spans_refused_total",
      "Spans without valid ids that were refused in a request of which the rest was stored.",
      "pipeline_id",
    ),
    pointsLeftOut: counter(
      "sluice_otlp_points_left_out_total",
      "Data points without a recorded value that were left out.",
      "pipeline_id",
    ),
    recordsRead: counter("gfm_kafka_records_read_total", "Events read from Kafka.", "pipeline_id", "component"),
    eventsCompacted: counter(
      "sluice_events_compacted_total",
      "Events of pending batches that compaction removed from their topic.",
      "pipeline_id",
    ),
    positionsSkipped: counter(
      "sluice_kafka_offsets_skipped_total",
      "Offsets that were skipped because they are not in the topic any more.",
      "pipeline_id",
    ),
    logsCut: counter(
      "sluice_source_logs_cut_total",
      "Partitions whose log is not the one that was read; reading went on where the logs part.",
      "pipeline_id",
    ),
    topicsRecreated: counter(
      "sluice_source_topics_recreated_total",
      "Topics that were deleted and created again; the new topic is read.",
      "pipeline_id",
    ),
    positionsMoved: counter(
      "sluice_kafka_positions_moved_total",
      "Partitions whose committed offset was changed from outside.",
      "pipeline_id",
    ),
    foreignCommits: counter(
      "sluice_kafka_foreign_commits_total",
      "Offsets that other applications committed in the consumer group; Sluice ignores them.",
      "pipeline_id",
    ),
    ownerChecks: counter(
      "sluice_kafka_owner_checks_total",
      "Freezes of the process; after each, the owner of the consumer group is confirmed before any insert.",
      "pipeline_id",
    ),
    foreignMembers: gauge(
      "sluice_kafka_foreign_members",
      "Members of the consumer group that are other applications: Sluice does not read their partitions.",
      "pipeline_id",
    ),
    fetchedBytes: counter(
      "sluice_kafka_fetched_bytes_total",
      "Bytes of messages that were fetched, as brokers sent them: from the leaders of partitions, or from followers.",
      "pipeline_id",
      "from",
    ),
    lag: gauge(
      "sluice_kafka_lag",
      "Offsets between the last event that is written and the end of the topic.",
      "pipeline_id",
    ),
    lagSeconds: gauge(
      "sluice_kafka_lag_seconds",
      "Age of the oldest event that is not written, in seconds, as far as it is known.",
      "pipeline_id",
    ),
    partitionLag: gauge(
      "sluice_kafka_partition_lag",
      "Offsets between the last event that is written and the end of a partition, of pipelines with at most 100 partitions.",
      "pipeline_id",
      "topic",
      "partition",
    ),
    heldBack: gauge(
      "sluice_kafka_held_back_offsets",
      "Offsets that open transactions of producers hold back; they are no part of the lag.",
      "pipeline_id",
    ),
    throttledSeconds: counter(
      "sluice_kafka_throttled_seconds_total",
      "Time for which client quotas of brokers kept the pipeline from fetching, in seconds, of all brokers together.",
      "pipeline_id",
    ),
    uncommitted: gauge(
      "sluice_kafka_uncommitted_offsets",
      "Offsets that are written and not yet committed to the consumer group.",
      "pipeline_id",
    ),
    partitions: gauge(
      "sluice_kafka_partitions",
      "Partitions that the consumer group has assigned to this process.",
      "pipeline_id",
    ),
    lettersExpired: counter(
      "sluice_dead_letters_expired_total",
      "Dead letters older than dead_letters_max_age that were removed.",
      "pipeline_id",
    ),
    tablesCreated: counter(
      "sluice_tables_created_total",
      "Missing target tables that were created, at the start or later.",
      "pipeline_id",
    ),
    tombstonesSkipped: counter(
      "sluice_tombstones_skipped_total",
      "Records of a topic with a null value that were skipped.",
      "pipeline_id",
    ),
    eventsAgedOut: counter(
      "sluice_events_aged_out_total",
      "Events older than max_age that were removed without being written.",
      "pipeline_id",
    ),
    batchesReplayed: counter(
      "sluice_batches_replayed_total",
      "Pending batches taken from the journal after a restart.",
      "pipeline_id",
    ),
    insertsRepeated: counter(
      "sluice_inserts_repeated_total",
      "Inserts sent again with the same deduplication token.",
      "pipeline_id",
    ),
    batchesReprepared: counter(
      "sluice_batches_reprepared_total",
      "Pending batches that were prepared again with a newer config.",
      "pipeline_id",
    ),
    batchesUncertain: counter(
      "sluice_batches_uncertain_total",
      "Batches that may be written already, while the target may no longer drop a repeated insert.",
      "pipeline_id",
      "choice",
    ),
    viewErrorsIgnored: counter(
      "sluice_view_errors_ignored_total",
      "Batches written to the table, but not to a materialized view that failed.",
      "pipeline_id",
    ),
    tokensWithoutRows: counter(
      "sluice_tokens_without_rows_total",
      "Batches sent with a new token because the table did not hold their rows.",
      "pipeline_id",
    ),
    eventsSkipped: counter(
      "sluice_events_skipped_total",
      "Events of pending batches that were skipped: gone from the source, or possibly written already.",
      "pipeline_id",
    ),
    dropsWaited: counter(
      "sluice_dedup_drops_waited_total",
      "Duplicates whose drop was deferred until the batch of the original had ended, by outcome.",
      "pipeline_id",
      "outcome",
    ),
    clockSteps: counter("sluice_clock_steps_total", "Jumps of the wall clock by more than an hour.", "pipeline_id"),
    keys: gauge("sluice_dedup_keys", "Keys that dedup remembers.", "pipeline_id"),
    keyBytes: gauge(
      "sluice_dedup_bytes",
      "Bytes of the keys that dedup remembers, in memory and on disk.",
      "pipeline_id",
      "where",
    ),
    rowsJoined: counter("sluice_join_rows_total", "Rows that the join has made.", "pipeline_id"),
    rowsWaiting: gauge(
      "sluice_join_rows_waiting",
      "Rows that the join has made and that are not in the table yet.",
      "pipeline_id",
    ),
    joinUnmatched: counter(
      "sluice_join_unmatched_total",
      "Events that left their window without a match.",
      "pipeline_id",
      "side",
    ),
    joinEvents: gauge(
      "sluice_join_buffered_events",
      "Events that the join buffers: left ones without a match, and the newest right one of each key.",
      "pipeline_id",
      "side",
    ),
    joinEventBytes: gauge(
      "sluice_join_buffered_bytes",
      "Bytes of the events that the join buffers.",
      "pipeline_id",
      "side",
    ),
    joinBytes: gauge(
      "sluice_join_bytes",
      "Bytes of the index of the join in memory, and of its files on disk.",
      "pipeline_id",
      "where",
    ),
    rowsExcluded: counter(
      "sluice_rows_excluded_total",
      "Rows that ClickHouse refused: they became dead letters, without the rest of their batch.",
      "pipeline_id",
    ),
    paused: gauge(
      "sluice_pipeline_paused",
      "1 while the pipeline is paused, by class of the cause.",
      "pipeline_id",
      "class",
    ),
    pausedSeconds: counter(
      "sluice_pipeline_paused_seconds_total",
      "Time in pauses that have ended, in seconds.",
      "pipeline_id",
      "class",
    ),
    atLeastOnce: gauge(
      "sluice_pipeline_at_least_once",
      "1 if the target cannot drop a repeated insert: delivery is at least once.",
      "pipeline_id",
    ),
    profileRemark: gauge(
      "sluice_pipeline_profile_remark",
      "1 if the settings profile of the target's user has settings that may change rows.",
      "pipeline_id",
    ),
    threadDeaths: counter("sluice_thread_deaths_total", "Pipeline threads that died and were replaced."),
    threadHolds: counter(
      "sluice_thread_holds_total",
      "Times at which a pipeline kept its thread from all other work for more than a second.",
      "pipeline_id",
    ),
  };
}

/** The gauge of rows written per second. It is read at each scrape. */
export function exposeRowRates(
  registry: Registry,
  ratesOf: () => Iterable<[pipeline_id: string, { rate: { perSecond: number } }]>,
): void {
  const gauge: Gauge<"pipeline_id" | "component"> = new Gauge({
    name: "gfm_clickhouse_records_written_per_second",
    help: "Rows written per second, over the last ten seconds.",
    labelNames: ["pipeline_id", "component"],
    registers: [registry],
    collect: () => {
      gauge.reset();
      for (const [pipeline_id, { rate }] of ratesOf()) gauge.set({ pipeline_id, component: "sink" }, rate.perSecond);
    },
  });
}

type Metric = Counter | Gauge | Histogram;

/**
 * Exports 0 for the counters of a pipeline that have no other label, so that `increase` sees their first event: it does
 * not see a series begin.
 */
export function beginAtZero(metrics: EngineMetrics, pipeline_id: string): void {
  for (const metric of Object.values(metrics) as Metric[]) {
    // The library keeps them, and its types do not say so.
    const { labelNames = [] } = metric as { labelNames?: readonly string[] };
    if (metric instanceof Counter && labelNames.join() === "pipeline_id") metric.inc({ pipeline_id }, 0);
  }
  for (const reason of Object.keys(refusals) as RefusalReason[]) {
    if (isForOperator(reason)) metrics.pushRefusals.inc({ pipeline_id, reason }, 0);
  }
}

/** The methods that take a number, with the least valid number. */
const numericMethods = { inc: 0, dec: 0, set: -Infinity, observe: 0 } as const;

/**
 * A metric whose calls never throw: a call with an invalid number or label is ignored, and the first one is logged. A
 * wrong count must not break the code that it counts.
 */
function neverThrowing<M extends Metric>(metric: M, name: string, log: Log): M {
  let isLogged = false;
  const refuse = (reason: string): void => {
    if (isLogged) return;
    isLogged = true;
    log.error(
      { metric: name, reason },
      "A metric got an invalid number or label; such calls are ignored, and only the first one is logged.",
    );
  };
  const calls = metric as unknown as Record<string, ((...given: unknown[]) => unknown) | undefined>;
  for (const [method, least] of Object.entries(numericMethods)) {
    const call = calls[method]?.bind(metric);
    if (call === undefined) continue;
    calls[method] = (...given: unknown[]): void => {
      const value = given.find((one) => typeof one === "number");
      if (value !== undefined && !(Number.isFinite(value) && value >= least)) {
        refuse(`${method} of ${value}: expected a finite number${least === 0 ? " of at least 0" : ""}`);
        return;
      }
      try {
        call(...given);
      } catch (error) {
        refuse(`${method}: ${(error as Error).message}`);
      }
    };
  }
  return metric;
}
