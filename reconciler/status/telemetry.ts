import { isDeepStrictEqual } from "node:util";
import type { Registry } from "prom-client";
import type { Log } from "../../engine/index.ts";
import type { Outcome } from "../apply/outcome.ts";
import { documentCount } from "../desired/desired-state.ts";
import { SourceError, type Revision, type WaitingCommit } from "../git/revision.ts";
import type { Hold, Pin, StopHold } from "../holds/hold.ts";
import type { SourceChange } from "../holds/source-change.ts";
import { type Call, lifecycleCalls } from "../plan/calls.ts";
import { hasCalls } from "../plan/change.ts";
import type { Action, Change, Plan } from "../plan/change.ts";
import { newsOfBlockage, newsOfPlan } from "../plan/news.ts";
import { cautionText, printPlan, reasonText, summary } from "../plan/render/index.ts";
import { createMetrics, createStateGauges } from "./metrics.ts";
import type { StateGauges } from "./metrics.ts";
import type { ReconcileSnapshot } from "./status.ts";
import { isSettled, resultOf } from "./turn.ts";
import type { Turn } from "./turn.ts";

/** What happens in the reconciler: each event is one function, which logs it and counts it. */
export type Telemetry = ReturnType<typeof createTelemetry>;

export function createTelemetry(log: Log, registry: Registry) {
  const metrics = createMetrics(registry);
  beginAtZero(metrics);
  const news = new News();
  /** Why a pipeline does not match its file, by pipeline_id. */
  const blockages = new News();
  const drifts = new News();
  const secrets = new News();
  /** What was said of files of the last revision, besides errors. */
  let remarks: ReadonlySet<string> = new Set();
  /** Where the server of the source redirected last. */
  let redirect: string | undefined;
  /** When the newest commit that is not fully applied was made: ISO 8601. */
  let unapplied: string | undefined;
  return {
    turnBegan(): void {
      metrics.inProgress.set(Date.now() / 1000);
    },

    turnEnded(turn: Turn): void {
      const result = resultOf(turn);
      const now = Date.now() / 1000;
      metrics.turns.inc({ result, trigger: turn.trigger });
      metrics.turnSeconds.observe({ result }, (performance.now() - turn.began) / 1000);
      metrics.lastAttempt.set(now);
      metrics.inProgress.set(0);
      if (result === "success") metrics.lastSuccess.set(now);
      if (turn.revision !== undefined) unapplied = isSettled(turn) ? undefined : turn.revision.committedAt;
      const error = (turn.error ?? turn.fetchError)?.message;
      if (news.isNew("error", error)) {
        const revision = turn.revision?.id;
        if (error === undefined) log.info({ revision }, "The source can be read again.");
        else if (turn.error !== undefined) log.error({ error }, failedTurn(turn.error));
        else log.error({ error, revision }, "Fetching the source failed; the last good revision stays in effect.");
      }
    },

    gitRequestEnded(op: "ls-remote" | "fetch", result: "success" | "error", seconds: number): void {
      metrics.gitRequests.inc({ op, result });
      metrics.gitSeconds.observe({ op }, seconds);
    },

    revisionLoaded({ revision, desired }: Turn): void {
      if (!news.isNew("revision", revision?.id)) return;
      const { id, author, subject, skipped = [], notes = [], signature } = revision ?? {};
      const signed = signature && `${signature.signer}, ${signature.kind} key ${signature.fingerprint}`;
      log.info({ revision: id, author, subject, signed, pipelines: desired?.pipelines.length }, "A revision was read.");
      const isChanging = revision?.settling?.changing !== undefined;
      if (!isChanging && (desired === undefined || documentCount(desired) === 0))
        log.warn({ revision: id }, "No file of this revision describes a pipeline.");
      for (const note of notes) log.warn({ revision: id, note }, "The followed reference changed in an unusual way.");
      const found = new Set<string>();
      /** Whether it was not said of the revision before, wherever in its file. */
      const isNewRemark = (...facts: string[]): boolean => {
        const remark = JSON.stringify(facts);
        found.add(remark);
        return !remarks.has(remark);
      };
      for (const { path, reason } of skipped)
        if (isNewRemark(path, reason)) log.warn({ file: path, reason }, "A file was not read.");
      for (const { file, line, column, code, message, severity } of desired?.problems ?? []) {
        const fields = { at: `${file}:${line}:${column}`, code, problem: message };
        if (severity === "error") log.error(fields, "A pipeline file cannot be used.");
        else if (!isNewRemark(file, code, message)) continue;
        else if (severity === "warning") log.warn(fields, "A pipeline file has a warning.");
        else log.info(fields, "A pipeline file has a note.");
      }
      const count = [...found].filter((one) => remarks.has(one)).length;
      remarks = found;
      if (count > 0) log.info({ revision: id, count }, "The other warnings and notes of files are as before.");
    },

    planMade(plan: Plan): void {
      for (const change of plan.changes) {
        blocked(change);
        drifted(change);
        secretMissing(change);
      }
      const ids = plan.changes.map(({ pipeline_id }) => pipeline_id);
      for (const facts of [blockages, drifts, secrets]) facts.keepOnly(ids);
      if (!news.isNew("plan", newsOfPlan(plan)) || !hasCalls(plan)) return;
      log.info({ plan: printPlan(plan) }, `The plan: ${summary(plan)}.`);
      for (const { pipeline_id, cautions = [] } of plan.changes) {
        for (const caution of cautions)
          log.warn({ pipeline_id, warning: cautionText(caution) }, "The plan has a warning.");
      }
    },

    callEnded(op: Call, result: "success" | "error", seconds: number): void {
      metrics.operations.inc({ op, result });
      metrics.operationSeconds.observe({ op }, seconds);
    },

    fightBegan({ pipeline_id, drift }: Change): void {
      metrics.fights.inc();
      log.error({ pipeline_id, ...drift }, "A pipeline keeps drifting; its drift is no longer corrected.");
    },

    changeEnded(change: Action, { result, message, next_attempt }: Outcome): void {
      const { pipeline_id, kind, cause, calls } = change;
      const loses = change.kind === "recreate" ? change.loses : undefined;
      if (kind === "delete" && result === "applied") metrics.pruned.inc();
      if (cause === "Drifted" && result === "applied") {
        metrics.driftCorrected.inc();
        // The next one is another drift.
        drifts.isNew(pipeline_id, undefined);
      }
      if (result === "applied") log.info({ pipeline_id, kind, calls, loses }, "A change was applied.");
      else if (result === "replaced") log.info({ pipeline_id, kind }, "A change was replaced by a newer one.");
      else if (result === "suspended")
        log.info({ pipeline_id, kind }, "A change was not made: the pipeline is suspended.");
      else if (result === "waiting")
        log.debug({ pipeline_id, kind, reason: message }, "A change waits for its next attempt.");
      else if (result === "held") log.warn({ pipeline_id, kind, reason: message }, "A pipeline cannot be deleted yet.");
      else log.error({ pipeline_id, kind, error: message, next_attempt }, "A change could not be applied.");
    },

    tokenGenerated(pipeline_id: string): void {
      const way = `sluice token rotate ${pipeline_id}`;
      log.info({ pipeline_id, way }, "An access token was generated and not shown; rotate it to get a new one.");
    },

    suspended(pipeline_id: string | undefined, { by, reason }: Hold): void {
      log.info({ pipeline_id: pipeline_id ?? "all", by, reason }, "Suspended: nothing is changed until it is resumed.");
    },

    stopped(pipeline_id: string, { by, reason, until, way }: StopHold): void {
      const what = way === undefined ? "stops" : "terminates";
      log.warn({ pipeline_id, by, reason, until }, `An operator ${what} a pipeline without a commit.`);
    },

    resumed(pipeline_id: string | undefined, by: string | undefined): void {
      log.info({ pipeline_id: pipeline_id ?? "all", by }, "Resumed: changes of the source are applied again.");
    },

    pinned({ revision, author, subject, by }: Pin): void {
      log.info({ revision, author, subject, by }, "Rolled back: this revision stays until the followed ref moves on.");
    },

    unpinned({ revision }: Pin, by: string | undefined): void {
      log.info({ revision, by }, "The rollback was cancelled: the newest revision is followed again.");
    },

    pinLifted({ revision }: Pin, head: Revision): void {
      const { id, author, subject } = head;
      log.info({ pinned: revision, revision: id, author, subject }, "The followed ref moved on: the rollback is over.");
    },

    /** `revision` was read where the server redirected, or no longer is. */
    sourcePlaced(url: string, { id: revision, redirected }: Revision): void {
      const before = redirect;
      redirect = redirected;
      if (before === redirected) return;
      if (redirected === undefined) log.info({ revision, url }, "The server of the source no longer redirects.");
      else {
        const way = "if that is intended, name it with --repo";
        log.warn({ revision, url, redirected, way }, "The server of the source redirects to another of its addresses.");
      }
    },

    approved({ from, to, removes, edits }: SourceChange, by: string | undefined): void {
      log.info(
        { from, to, removes, edits, by },
        "Approved: the other source is followed, and what it lacks is deleted.",
      );
    },

    commitApproved({ from, to }: WaitingCommit, by: string | undefined): void {
      log.info({ from, to, by }, "Approved: a commit is followed that does not descend from the last one.");
    },

    holdsDamaged(error: string): void {
      log.error({ error }, "The file of suspensions is damaged; everything is suspended until an operator resumes it.");
    },

    journalNotSaved(error: unknown): void {
      log.error({ error: messageOf(error) }, "The journal of operations could not be written.");
    },

    historyNotSaved(error: unknown): void {
      log.error({ error: messageOf(error) }, "The history of operations could not be written.");
    },

    inventoryNotSaved(error: unknown): void {
      log.error({ error: messageOf(error) }, "The inventory of owned pipelines could not be saved.");
    },

    /** Reads the state for each scrape. */
    exposeState(snapshot: () => ReconcileSnapshot): void {
      createStateGauges(registry, (gauges) => {
        setState(gauges, snapshot());
        gauges.revisionLag.set(unapplied === undefined ? 0 : Math.max(0, (Date.now() - Date.parse(unapplied)) / 1000));
      });
    },
  };

  /** Logs a missing secret when it begins to be missing, not at every turn. */
  function secretMissing({ pipeline_id, missing_secret: reason }: Change): void {
    if (!secrets.isNew(pipeline_id, reason) || reason === undefined) return;
    log.warn({ pipeline_id, reason }, "A secret is missing; the pipeline runs on with the old value.");
  }

  /** Counts and logs a refusal when it begins, not at every turn. */
  function blocked(change: Change): void {
    const { pipeline_id, cause, file, line, column, fields } = change;
    const blockage = newsOfBlockage(change);
    if (!blockages.isNew(pipeline_id, blockage) || blockage === undefined) return;
    if (pruneCauses.has(cause)) metrics.pruneBlocked.inc({ reason: cause });
    for (const { path, effect } of cause === "ImmutableField" ? fields : []) {
      if (effect === "refuse") metrics.immutable.inc({ field: path.replaceAll(/\[[^\]]*\]/g, "[]") });
    }
    const at = file === undefined || line === undefined ? file : `${file}:${line}:${column}`;
    log.error(
      { pipeline_id, cause, at, reason: reasonText(change.why) },
      "A change was refused; the pipeline is unchanged.",
    );
  }

  /** Counts and logs a drift when it begins. */
  function drifted({ pipeline_id, drift, fields }: Change): void {
    if (!drifts.isNew(pipeline_id, drift?.fields) || drift === undefined) return;
    metrics.driftDetected.inc();
    log.warn(
      { pipeline_id, fields, stance: drift.stance },
      "A pipeline drifted: it was changed through the engine and not in its file.",
    );
  }
}

/** Exports 0 for what an alert asks for: `increase` does not see a series begin. */
function beginAtZero(metrics: ReturnType<typeof createMetrics>): void {
  const results = ["success", "error"] as const;
  metrics.turns.inc({ result: "success", trigger: "start" }, 0);
  for (const reason of pruneCauses) metrics.pruneBlocked.inc({ reason }, 0);
  for (const op of lifecycleCalls) for (const result of results) metrics.operations.inc({ op, result }, 0);
  for (const op of ["ls-remote", "fetch"]) for (const result of results) metrics.gitRequests.inc({ op, result }, 0);
}

/** Refusals of a deletion. */
const pruneCauses: ReadonlySet<string> = new Set([
  "EmptySource",
  "DeletionBudget",
  "SourceChanged",
  "EventsHeld",
  "GroupBehind",
  "DeadLettersHeld",
  "PruneHeld",
  "IdChanged",
]);

/** The last logged facts of each subject, so that a turn logs only changes. */
class News {
  readonly #logged = new Map<string, unknown>();

  /** Stores the facts; true if they differ from the last ones. Undefined for none. */
  isNew(subject: string, facts: unknown): boolean {
    if (isDeepStrictEqual(this.#logged.get(subject), facts)) return false;
    if (facts === undefined) this.#logged.delete(subject);
    else this.#logged.set(subject, facts);
    return true;
  }

  /** Forgets all other subjects. */
  keepOnly(subjects: readonly string[]): void {
    if (this.#logged.size === 0) return;
    const known = new Set(subjects);
    for (const subject of this.#logged.keys()) if (!known.has(subject)) this.#logged.delete(subject);
  }
}

function setState(gauges: StateGauges, snapshot: ReconcileSnapshot): void {
  const { conditions, pipelines, problems, pin, suspension, lastAppliedRevision } = snapshot;
  for (const gauge of Object.values(gauges)) (gauge as StateGauges["info"]).reset();
  if (lastAppliedRevision !== undefined) gauges.revision.set({ revision: lastAppliedRevision }, 1);
  if (suspension !== undefined) gauges.everythingSuspendedSince.set(Date.parse(suspension.since) / 1000);
  if (pin !== undefined) gauges.pinnedSince.set(Date.parse(pin.since) / 1000);
  for (const { type, status } of conditions) gauges.sourceCondition.set({ type, status }, 1);
  for (const severity of ["error", "warning", "info"]) {
    gauges.problems.set({ severity }, problems.filter((one) => one.severity === severity).length);
  }
  for (const { pipeline_id, conditions: own, suspended, suspension: hold, ...one } of pipelines) {
    const ready = own.find(({ type }) => type === "Ready");
    const since = suspended
      ? (hold?.since ?? own.find(({ type }) => type === "Suspended")?.lastTransitionTime)
      : undefined;
    const { status = "" } = one;
    const labels = { ready: ready?.status ?? "Unknown", reason: ready?.reason ?? "", suspended: String(suspended) };
    gauges.info.set({ pipeline_id, ...labels, state: status }, 1);
    for (const { type, status: holds } of own) gauges.condition.set({ pipeline_id, type, status: holds }, 1);
    if (since !== undefined) gauges.suspendedSince.set({ pipeline_id }, Date.parse(since) / 1000);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function failedTurn(error: Error): string {
  const what = error instanceof SourceError ? "Fetching the source failed" : "Reconciling failed";
  return `${what}; running pipelines are unchanged.`;
}
