import { collectDefaultMetrics, Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

const seconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800];

/** The parts of the distribution of the event loop's delay, by which prom-client names its metrics. */
const delays = ["min", "max", "mean", "stddev", "p50", "p90", "p99"];

/**
 * Metrics of Node and of the process, without the distribution of the event loop's delay: to measure that, prom-client
 * wakes the process up every ten milliseconds, which costs about as much as a hundred idle pipelines.
 */
export function exposeProcess(registry: Registry): void {
  // The timer fires after 24 days.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 2 ** 31 - 1 });
  for (const delay of delays) registry.removeSingleMetric(`nodejs_eventloop_lag_${delay}_seconds`);
}

/** The running version as a label, so that an alert can compare versions. */
export function exposeBuild(registry: Registry, labels: { version: string; node: string }): void {
  const build = new Gauge({
    name: "sluice_build_info",
    help: "The running versions of Sluice and of Node.",
    labelNames: ["version", "node"],
    registers: [registry],
  });
  build.set({ version: labels.version, node: labels.node }, 1);
}

/** The metrics of the reconciler. Labels are closed sets, and pipelines that exist. */
export function createMetrics(registry: Registry) {
  const registers = [registry];
  return {
    turns: new Counter({
      name: "sluice_gitops_reconcile_total",
      help: "Reconciliations (turns of the reconciler), by result and trigger.",
      labelNames: ["result", "trigger"],
      registers,
    }),
    turnSeconds: new Histogram({
      name: "sluice_gitops_reconcile_duration_seconds",
      help: "Duration of a reconciliation.",
      labelNames: ["result"],
      buckets: seconds,
      registers,
    }),
    lastSuccess: new Gauge({
      name: "sluice_gitops_last_success_timestamp_seconds",
      help: "When a reconciliation last ended with every pipeline matching the source.",
      registers,
    }),
    lastAttempt: new Gauge({
      name: "sluice_gitops_last_attempt_timestamp_seconds",
      help: "When the last reconciliation ended.",
      registers,
    }),
    inProgress: new Gauge({
      name: "sluice_gitops_in_progress_start_time_seconds",
      help: "When the current reconciliation began; 0 while there is none.",
      registers,
    }),
    gitRequests: new Counter({
      name: "sluice_gitops_git_request_total",
      help: "Requests to the Git remote, by operation and result.",
      labelNames: ["op", "result"],
      registers,
    }),
    gitSeconds: new Histogram({
      name: "sluice_gitops_git_request_duration_seconds",
      help: "Duration of a request to the Git remote.",
      labelNames: ["op"],
      buckets: seconds,
      registers,
    }),
    operations: new Counter({
      name: "sluice_gitops_operation_total",
      help: "Lifecycle calls of the reconciler to the engine, by call and result.",
      labelNames: ["op", "result"],
      registers,
    }),
    operationSeconds: new Histogram({
      name: "sluice_gitops_operation_duration_seconds",
      help: "Duration of a lifecycle call to the engine.",
      labelNames: ["op"],
      buckets: seconds,
      registers,
    }),
    pruned: new Counter({
      name: "sluice_gitops_pruned_total",
      help: "Pipelines that were deleted because their files were removed.",
      registers,
    }),
    pruneBlocked: new Counter({
      name: "sluice_gitops_prune_blocked_total",
      help: "Deletions, including those of recreations, that were refused or wait, by reason; counted once when that begins.",
      labelNames: ["reason"],
      registers,
    }),
    driftDetected: new Counter({
      name: "sluice_gitops_drift_detected_total",
      help: "Drifts: pipelines that were changed through the engine and not in their file; counted once when detected.",
      registers,
    }),
    driftCorrected: new Counter({
      name: "sluice_gitops_drift_corrected_total",
      help: "Drifts that were corrected.",
      registers,
    }),
    fights: new Counter({
      name: "sluice_gitops_fights_total",
      help: "Drifts that returned so often that they are no longer corrected; counted once when that begins.",
      registers,
    }),
    immutable: new Counter({
      name: "sluice_gitops_immutable_rejections_total",
      help: "Refused changes of an immutable field; counted once when the refusal begins.",
      labelNames: ["field"],
      registers,
    }),
  };
}

/** Gauges that are read from the status at the moment of a scrape, so that a deleted pipeline leaves no series. */
export function createStateGauges(registry: Registry, collect: (gauges: StateGauges) => void): void {
  const registers = [registry];
  const gauges: StateGauges = {
    // A scrape reads them in this order: the first fills them all.
    info: new Gauge({
      name: "sluice_gitops_pipeline_info",
      help: "1 for each pipeline, labelled with its readiness, reason and state.",
      labelNames: ["pipeline_id", "ready", "reason", "suspended", "state"],
      registers,
      collect: () => collect(gauges),
    }),
    revision: new Gauge({
      name: "sluice_gitops_revision_info",
      help: "1, labelled with the last revision that every pipeline matched.",
      labelNames: ["revision"],
      registers,
    }),
    condition: new Gauge({
      name: "sluice_gitops_condition",
      help: "Conditions of a pipeline: 1 for the current status.",
      labelNames: ["pipeline_id", "type", "status"],
      registers,
    }),
    sourceCondition: new Gauge({
      name: "sluice_gitops_source_condition",
      help: "Conditions of the source: 1 for the current status.",
      labelNames: ["type", "status"],
      registers,
    }),
    suspendedSince: new Gauge({
      name: "sluice_gitops_suspended_since_timestamp_seconds",
      help: "When a pipeline was suspended; if its file suspends it, when this process first read that file.",
      labelNames: ["pipeline_id"],
      registers,
    }),
    everythingSuspendedSince: new Gauge({
      name: "sluice_gitops_everything_suspended_since_timestamp_seconds",
      help: "When everything was suspended; 0 while it is not.",
      registers,
    }),
    pinnedSince: new Gauge({
      name: "sluice_gitops_pinned_since_timestamp_seconds",
      help: "When a rollback pinned its commit; 0 without a rollback.",
      registers,
    }),
    revisionLag: new Gauge({
      name: "sluice_gitops_revision_lag_seconds",
      help: "Age of the newest commit while it is not fully applied; 0 when it is.",
      registers,
    }),
    problems: new Gauge({
      name: "sluice_gitops_problems",
      help: "Problems found in the files of the last revision.",
      labelNames: ["severity"],
      registers,
    }),
  };
}

export interface StateGauges {
  info: Gauge<"pipeline_id" | "ready" | "reason" | "suspended" | "state">;
  revision: Gauge<"revision">;
  condition: Gauge<"pipeline_id" | "type" | "status">;
  sourceCondition: Gauge<"type" | "status">;
  suspendedSince: Gauge<"pipeline_id">;
  everythingSuspendedSince: Gauge;
  pinnedSince: Gauge;
  revisionLag: Gauge;
  problems: Gauge<"severity">;
}
