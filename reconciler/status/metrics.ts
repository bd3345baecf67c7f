import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

const seconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800];

/** What runs, as a label: an alert can say since which version something is so. */
export function exposeBuild(registry: Registry, labels: { version: string; node: string }): void {
  const build = new Gauge({
    name: "sluice_build_info",
    help: "The version that runs, and of Node under it.",
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
      help: "Turns of the reconciler, by how they ended and what woke it.",
      labelNames: ["result", "trigger"],
      registers,
    }),
    turnSeconds: new Histogram({
      name: "sluice_gitops_reconcile_duration_seconds",
      help: "Duration of a turn of the reconciler.",
      labelNames: ["result"],
      buckets: seconds,
      registers,
    }),
    lastSuccess: new Gauge({
      name: "sluice_gitops_last_success_timestamp_seconds",
      help: "When everything was last found, or made, as the source says.",
      registers,
    }),
    lastAttempt: new Gauge({
      name: "sluice_gitops_last_attempt_timestamp_seconds",
      help: "When the last turn of the reconciler ended.",
      registers,
    }),
    inProgress: new Gauge({
      name: "sluice_gitops_in_progress_start_time_seconds",
      help: "When the turn that is under way began; 0 between turns.",
      registers,
    }),
    gitRequests: new Counter({
      name: "sluice_gitops_git_request_total",
      help: "Exchanges with the Git remote.",
      labelNames: ["op", "result"],
      registers,
    }),
    gitSeconds: new Histogram({
      name: "sluice_gitops_git_request_duration_seconds",
      help: "Duration of an exchange with the Git remote.",
      labelNames: ["op"],
      buckets: seconds,
      registers,
    }),
    operations: new Counter({
      name: "sluice_gitops_operation_total",
      help: "Lifecycle calls that the reconciler made.",
      labelNames: ["op", "result"],
      registers,
    }),
    operationSeconds: new Histogram({
      name: "sluice_gitops_operation_duration_seconds",
      help: "Duration of a lifecycle call.",
      labelNames: ["op"],
      buckets: seconds,
      registers,
    }),
    pruned: new Counter({
      name: "sluice_gitops_pruned_total",
      help: "Pipelines that were deleted because their files went.",
      registers,
    }),
    pruneBlocked: new Counter({
      name: "sluice_gitops_prune_blocked_total",
      help: "Deletions, also those of a recreation, that were refused or held back, counted when that begins.",
      labelNames: ["reason"],
      registers,
    }),
    driftDetected: new Counter({
      name: "sluice_gitops_drift_detected_total",
      help: "Pipelines that were changed through the engine while their file stayed as it was, counted when that is found.",
      registers,
    }),
    driftCorrected: new Counter({
      name: "sluice_gitops_drift_corrected_total",
      help: "Pipelines that were put back after a drift.",
      registers,
    }),
    fights: new Counter({
      name: "sluice_gitops_fights_total",
      help: "Drifts that came back so often that they are no longer put back, counted when that begins.",
      registers,
    }),
    immutable: new Counter({
      name: "sluice_gitops_immutable_rejections_total",
      help: "Changes of a field that cannot change, counted when the refusal begins.",
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
      help: "A pipeline, whether it is ready and why, and the revision that it holds.",
      labelNames: ["pipeline_id", "ready", "reason", "suspended", "state", "revision"],
      registers,
      collect: () => collect(gauges),
    }),
    condition: new Gauge({
      name: "sluice_gitops_condition",
      help: "Conditions of a pipeline: 1 for the status that holds.",
      labelNames: ["pipeline_id", "type", "status"],
      registers,
    }),
    sourceCondition: new Gauge({
      name: "sluice_gitops_source_condition",
      help: "Conditions of the source: 1 for the status that holds.",
      labelNames: ["type", "status"],
      registers,
    }),
    suspendedSince: new Gauge({
      name: "sluice_gitops_suspended_since_timestamp_seconds",
      help: "When a pipeline was suspended; of one that its file suspends, when this process first saw it.",
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
      help: "When the commit of a rollback was pinned; 0 while the followed ref is followed.",
      registers,
    }),
    revisionLag: new Gauge({
      name: "sluice_gitops_revision_lag_seconds",
      help: "Age of the newest commit while not everything is as it says; 0 when it is.",
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
  info: Gauge<"pipeline_id" | "ready" | "reason" | "suspended" | "state" | "revision">;
  condition: Gauge<"pipeline_id" | "type" | "status">;
  sourceCondition: Gauge<"type" | "status">;
  suspendedSince: Gauge<"pipeline_id">;
  everythingSuspendedSince: Gauge;
  pinnedSince: Gauge;
  revisionLag: Gauge;
  problems: Gauge<"severity">;
}
