import { healthOf } from "../actual/snapshot.ts";
import type { ObservedEngine } from "../actual/snapshot.ts";
import type { Inventory } from "../actual/inventory.ts";
import type { Outcome } from "../apply/outcome.ts";
import type { WishedState } from "../desired/desired-state.ts";
import type { SkippedFile, SourceDescription } from "../git/revision.ts";
import type { Hold, Pin } from "../holds/hold.ts";
import type { Holds } from "../holds/holds.ts";
import { whyStopped } from "../holds/held-plan.ts";
import { ownHold, stopFor, suspendedId } from "../holds/hold.ts";
import { documentCount } from "../desired/desired-state.ts";
import { isReplacing } from "../plan/change.ts";
import type { Change } from "../plan/change.ts";
import { reasonText, shownChange } from "../plan/render/index.ts";
import type { ShownChange } from "../plan/render/index.ts";
import type { Problem } from "../language/problem.ts";
import { conditionsOf, sourceConditions } from "./conditions.ts";
import type { Condition, Open } from "./conditions.ts";
import { History } from "./turn-history.ts";
import type { HistoryEntry } from "./turn-history.ts";
import { suspensionOf, withHolds } from "./hold-conditions.ts";
import type { Requests } from "./reconcile-request.ts";
import { isSettled } from "./turn.ts";
import type { Turn } from "./turn.ts";

/** A condition with the time of the last change of its status or reason: ISO 8601, UTC. */
export interface TimedCondition extends Condition {
  lastTransitionTime: string;
}

export interface PipelineStatus {
  pipeline_id: string;
  /** Absent where no file describes it. */
  file?: string;
  conditions: TimedCondition[];
  /** An operator, or its file, has suspended it. */
  suspended: boolean;
  /** Who suspended this pipeline alone, and why. */
  suspension?: Hold;
  /** Absent where the engine has no such pipeline. */
  status?: string;
  /** Last revision that the pipeline matched completely. */
  lastAppliedRevision?: string;
  /** Its change in the last plan. */
  change: ShownChange;
  outcome?: Outcome;
}

/** Everything the reconciler knows about itself. Holds no secret. */
export interface ReconcileSnapshot {
  source: SourceDescription;
  conditions: TimedCondition[];
  lastAttemptedRevision?: string;
  lastAppliedRevision?: string;
  /** Token of the newest request that a turn has answered; absent where there was none since the start. */
  lastHandledReconcileAt?: string;
  /** Who suspended everything, and why. */
  suspension?: Hold;
  /** The commit of a rollback, which is desired instead of the newest one. */
  pin?: Pin;
  /** ISO 8601, UTC; absent before the first turn has ended. */
  lastTurn?: string;
  pipelines: PipelineStatus[];
  problems: Problem[];
  /** Files under the watched path that were not read. */
  skipped: readonly SkippedFile[];
  /** Newest first. */
  history: readonly HistoryEntry[];
}

export interface StatusOptions {
  source: { readonly description: SourceDescription };
  engine: ObservedEngine;
  inventory: Inventory;
  holds: Holds;
  requests: Requests;
  /** Pipelines with a change under way. */
  busy: () => ReadonlyMap<string, unknown>;
}

interface Entry {
  change: Change;
  outcome?: Outcome;
  wished?: WishedState;
}

/** The state of the reconciler for the API. `record` is called once per turn and is the only place that writes. */
export class Status {
  readonly #options: StatusOptions;
  readonly #history = new History();
  readonly #times = new Map<string, TimedCondition[]>();
  readonly #entries = new Map<string, Entry>();
  #last: Turn | undefined;
  #problems: Problem[] = [];
  #skipped: readonly SkippedFile[] = [];
  #revision: string | undefined;

  constructor(options: StatusOptions) {
    this.#options = options;
  }

  /** Records a turn that has ended. After a failed step, the known state of the pipelines stays. */
  record(turn: Turn): void {
    this.#last = turn;
    // What is written at this moment is part of what was asked for, unless it is written all the time.
    const isUnderWay = turn.isFetching === true || turn.revision?.settling?.changing?.isBrief === true;
    const read = isUnderWay ? undefined : { newest: turn.readSince };
    this.#options.requests.handle(turn.requestedAt, read);
    if (turn.revision !== undefined) {
      this.#options.inventory.attempted(turn.revision.id);
      this.#revision = turn.revision.id;
      this.#skipped = turn.revision.skipped;
    }
    if (turn.desired !== undefined) this.#problems = turn.desired.problems;
    if (turn.plan !== undefined) this.#replaceEntries(turn);
    if (turn.revision !== undefined && isSettled(turn)) this.#options.inventory.applied(turn.revision.id);
    for (const change of turn.plan?.changes.filter(isReplacing) ?? [])
      this.#history.replaced(change.pipeline_id, `${turn.revision?.id} asks for something else`);
    this.#history.add(turn);
  }

  /** Records the outcome of a change that ended after its turn. */
  late(outcome: Outcome): void {
    const entry = this.#entries.get(outcome.pipeline_id);
    if (entry?.outcome?.result === "under way") entry.outcome = outcome;
    if (outcome.kind === "delete" && outcome.result === "applied") this.#entries.delete(outcome.pipeline_id);
    this.#history.late(outcome);
  }

  /** The turn that ended last. */
  get last(): Turn | undefined {
    return this.#last;
  }

  /** Ids of revisions that were seen, newest first. */
  get revisions(): string[] {
    return this.#history.entries.flatMap(({ revision }) => revision ?? []);
  }

  /** Whether the last plan has this pipeline. */
  knows(pipeline_id: string): boolean {
    return this.#entries.has(pipeline_id);
  }

  snapshot(): ReconcileSnapshot {
    const { source, inventory, requests, holds } = this.#options;
    const { everything, pin } = holds.state;
    const { last_attempted_revision, last_applied_revision } = inventory.state;
    const busy = this.#options.busy();
    const pipelines = [...this.#entries].map(([id, entry]) => this.#pipeline(id, entry, busy));
    this.#forget(pipelines);
    const { error, fetchError, revision, desired } = this.#last ?? {};
    const seen = {
      ...(error && { error }),
      ...(fetchError && { fetchError }),
      ...(this.#revision !== undefined && { revision: this.#revision }),
      ...(revision?.redirected !== undefined && { redirected: revision.redirected }),
      ...(revision?.settling?.changing && { changing: revision.settling.changing }),
      ...(revision?.signature && { signature: revision.signature }),
      ...(desired && { documents: documentCount(desired) }),
    };
    const open = this.#open(pipelines);
    const conditions = withHolds(sourceConditions(seen, open), holds.state, open.suspended);
    return {
      source: source.description,
      conditions: this.#timed("", conditions),
      ...(last_attempted_revision !== undefined && { lastAttemptedRevision: last_attempted_revision }),
      ...(last_applied_revision !== undefined && { lastAppliedRevision: last_applied_revision }),
      ...(requests.handled !== undefined && { lastHandledReconcileAt: requests.handled }),
      ...(everything !== undefined && { suspension: everything }),
      ...(pin !== undefined && { pin }),
      ...(this.#last !== undefined && { lastTurn: this.#last.started.toISOString() }),
      pipelines,
      problems: this.#problems,
      skipped: this.#skipped,
      history: this.#history.entries,
    };
  }

  #replaceEntries({ plan, desired, outcomes = [] }: Turn): void {
    const ends = new Map(outcomes.map((outcome) => [outcome.pipeline_id, outcome]));
    const wishes = new Map(desired?.pipelines.map((one) => [one.pipeline_id, one.directives.state]));
    const before = new Map(this.#entries);
    this.#entries.clear();
    for (const change of plan?.changes ?? []) {
      const { pipeline_id, kind, cause } = change;
      const earlier = cause === "InProgress" ? before.get(pipeline_id) : undefined;
      if (earlier !== undefined) {
        this.#entries.set(pipeline_id, earlier);
        continue;
      }
      const outcome = ends.get(pipeline_id);
      if (kind === "delete" && outcome?.result === "applied") continue;
      const wished = wishes.get(pipeline_id);
      this.#entries.set(pipeline_id, { change, ...(outcome && { outcome }), ...(wished && { wished }) });
    }
  }

  #pipeline(pipeline_id: string, entry: Entry, busy: ReadonlyMap<string, unknown>): PipelineStatus {
    const { change, outcome } = entry;
    const { engine, holds } = this.#options;
    const { state } = holds;
    const { moved_from = pipeline_id } = change;
    const health = healthOf(engine, pipeline_id) ?? healthOf(engine, moved_from);
    const held = suspendedId(state, change);
    const hold = ownHold(state, held);
    const suspended = suspensionOf(change, held, hold, state.everything);
    const stop = health?.overall_status === "Running" ? undefined : stopFor(state, change);
    const observation = {
      ...entry,
      busy: busy.has(pipeline_id),
      ...(health && { health }),
      ...(suspended && { suspended }),
      ...(stop && { stopped: reasonText(whyStopped(stop)) }),
    };
    const revision = this.#options.inventory.state.pipelines[pipeline_id]?.revision;
    return {
      pipeline_id,
      ...(change.file !== undefined && { file: change.file }),
      conditions: this.#timed(pipeline_id, conditionsOf(observation)),
      suspended: suspended !== undefined,
      ...(hold && { suspension: hold }),
      ...(health && { status: health.overall_status }),
      ...(revision !== undefined && { lastAppliedRevision: revision }),
      change: shownChange(change),
      ...(outcome && { outcome }),
    };
  }

  /** Pipelines that do not match their files, and unusable files without a known pipeline. */
  #open(pipelines: readonly PipelineStatus[]): Open {
    const has = (type: string) => (one: PipelineStatus) => one.conditions.some((condition) => condition.type === type);
    const names = (list: readonly PipelineStatus[]) => list.map(({ pipeline_id }) => pipeline_id);
    const named = new Set(pipelines.map(({ file }) => file));
    const files = this.#problems.filter(({ severity, file }) => severity === "error" && !named.has(file));
    return {
      stalled: [...names(pipelines.filter(has("Stalled"))), ...new Set(files.map(({ file }) => file))],
      retrying: names(pipelines.filter(has("Reconciling"))),
      suspended: names(pipelines.filter(isHeldBack)),
      kept: names(pipelines.filter(({ change }) => change.cause === "PruneHeld")),
    };
  }

  /** A condition keeps its time as long as its status and reason stay; the message may change meanwhile. */
  #timed(key: string, conditions: Condition[]): TimedCondition[] {
    const now = new Date().toISOString();
    const timed = conditions.map((condition) => {
      const before = this.#times.get(key)?.find(({ type }) => type === condition.type);
      const same = before?.status === condition.status && before.reason === condition.reason;
      return { ...condition, lastTransitionTime: same ? before.lastTransitionTime : now };
    });
    this.#times.set(key, timed);
    return timed;
  }

  #forget(pipelines: readonly PipelineStatus[]): void {
    const known = new Set(["", ...pipelines.map(({ pipeline_id }) => pipeline_id)]);
    for (const key of this.#times.keys()) if (!known.has(key)) this.#times.delete(key);
  }
}

/** Whether a change of a pipeline waits for the end of its suspension. */
function isHeldBack({ conditions: [first] }: PipelineStatus): boolean {
  return first?.status === "False" && first.reason === "Suspended";
}
