import { sleep } from "../../engine/index.ts";
import { healthOf } from "../actual/snapshot.ts";
import type { Underway } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { wishOf } from "../desired/fingerprint.ts";
import { doesSomething, isReplacing, isStopByOperator } from "../plan/change.ts";
import type { Action, Change, Plan } from "../plan/change.ts";
import { reasonText } from "../plan/render/index.ts";
import { Backoff } from "./backoff.ts";
import { Job, type JobDependencies } from "./job.ts";
import type { Origin } from "./operation.ts";
import type { Operations } from "./operations.ts";
import type { Outcome } from "./outcome.ts";
import { begin, contentOf, inSync, noteDeletions } from "./ownership.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

/** Changes that are carried out at the same time. */
const atOnce = 16;

/** Resumes of a failed pipeline before its condition is `Stalled` (docs/operations.md, Failed pipelines). */
const resumesAtMost = 5;

export interface ApplyOptions extends Pick<JobDependencies, "engine" | "inventory" | "telemetry" | "isSuspended"> {
  operations: Operations;
  /** Called with a change that ended after its turn. */
  onLate: (outcome: Outcome) => void;
}

/** A change that is carried out, or that waits for the end of its back-off. */
type Begun = Pick<Job, "outcome" | "isReplaced">;

/** A plan on its way to the engine. */
export interface Order {
  plan: Plan;
  desired: ReadonlyMap<string, DesiredPipeline>;
  origin: Origin;
  /**
   * Pipelines that were suspended when the plan was made: their changes in this plan are made despite the suspension.
   */
  suspended: ReadonlySet<string>;
  /** Milliseconds that the turn waits for slow changes. They go on after it. */
  applyTimeout: number;
  /** The files are not known: the plan says nothing about what it does not change. */
  isPartial?: true;
}

/**
 * Carries out plans. Pipelines are independent: one that fails or drains for minutes delays no other. After a crash, a
 * new plan is made from the state of the engine; the open operations say which changes were begun.
 *
 * A change that still waits for a stop is replaced by a newer one of the same pipeline: a stop may take minutes, and
 * its change may no longer be wanted.
 */
export class Apply {
  readonly #options: ApplyOptions;
  readonly #jobs = new Map<string, Job>();
  readonly #backoff = new Backoff();
  readonly #concurrency = new ConcurrencyLimit(atOnce);
  /** What the newest plan was made for. */
  #newest: Order["desired"] = new Map();
  readonly #isAsked: JobDependencies["isAsked"] = (id, asked) => wishIn(this.#newest.get(id)) === wishIn(asked);

  constructor(options: ApplyOptions) {
    this.#options = options;
  }

  /** Pipelines whose change is still being carried out. */
  get busy(): ReadonlyMap<string, Underway> {
    return new Map([...this.#jobs].map(([id, job]) => [id, job.underway]));
  }

  /** Begins every change that makes calls. Returns their outcomes when all have ended or `applyTimeout` is over. */
  async carryOut(order: Order, signal: AbortSignal): Promise<Outcome[]> {
    const { changes } = order.plan;
    this.#newest = order.desired;
    for (const job of this.#jobs.values()) job.reconsider();
    // Without an await since the plan was made: a change that is replaced must not make another call.
    const replaced = this.#replace(changes);
    this.#note(order);
    await this.#options.inventory.save();
    const begun = new Map<string, Begun>();
    for (const change of changes.filter(doesSomething)) {
      begun.set(change.pipeline_id, this.#begin(change, order, begun, replaced.get(change.pipeline_id), signal));
    }
    const outcomes = await this.#waitFor(begun, changes, order.applyTimeout, signal);
    await this.#options.inventory.save();
    return outcomes;
  }

  /**
   * Brings the inventory up to date before anything is done. A pipeline is owned before it is created, so that a crash
   * between the two leaves no pipeline that is never pruned.
   */
  #note({ plan, desired, origin: { revision }, isPartial }: Order): void {
    const { inventory, engine, operations, telemetry } = this.#options;
    for (const change of plan.changes) this.#noteStop(change);
    if (isPartial === true) return;
    noteDeletions(inventory, plan, revision);
    operations.settle(
      plan.changes,
      desired,
      (id) => healthOf(engine, id) !== undefined,
      (id) => this.#jobs.has(id),
    );
    for (const change of plan.changes) {
      const { pipeline_id, kind, cause } = change;
      const pipeline = desired.get(pipeline_id);
      const entry = inventory.state.pipelines[pipeline_id];
      if (cause === "InSync") this.#backoff.clear(pipeline_id);
      if (pipeline === undefined) continue;
      if (cause === "DriftFight" && entry && entry.fight === undefined) telemetry.fightBegan(change);
      if (cause === "InSync") inSync(inventory, pipeline, revision, () => engine.get(pipeline_id));
      else if (cause === "Interrupted") continue;
      else if (kind === "create" || cause === "Adopted" || entry || isMove(change))
        begin(inventory, pipeline, change, Date.now());
    }
    // One that is to be moved is owned by the id that it has as well.
    const known = new Set(
      plan.changes.flatMap(({ pipeline_id, moved_from = pipeline_id }) => [pipeline_id, moved_from]),
    );
    for (const id of Object.keys(inventory.state.pipelines)) {
      if (known.has(id)) continue;
      inventory.release(id);
      // Its creation may have failed, and nobody asks for it any more.
      engine.recreating(id, false);
    }
  }

  /** Before a pipeline is stopped by an operator it is noted that it ran, until it is seen to run again. */
  #noteStop(change: Change): void {
    const { inventory, engine } = this.#options;
    const { cause, moved_from, pipeline_id: wished } = change;
    const pipeline_id = moved_from ?? wished;
    const entry = inventory.state.pipelines[pipeline_id];
    if (entry === undefined || this.#jobs.has(pipeline_id)) return;
    if (isStopByOperator(change)) inventory.own(pipeline_id, { ...entry, stopped: true });
    else if (cause === "InSync" || healthOf(engine, pipeline_id)?.overall_status === "Running") {
      const { stopped: _stopped, ...rest } = entry;
      inventory.own(pipeline_id, rest);
    }
  }

  /** Ends the jobs that changes of this plan replace, and returns them by pipeline. */
  #replace(changes: readonly Change[]): Map<string, Job> {
    const replaced = new Map<string, Job>();
    for (const change of changes) {
      const { pipeline_id, moved_from = pipeline_id } = change;
      const job = isReplacing(change) ? (this.#jobs.get(pipeline_id) ?? this.#jobs.get(moved_from)) : undefined;
      job?.replace();
      if (job !== undefined) replaced.set(pipeline_id, job);
    }
    return replaced;
  }

  #begin(
    change: Action,
    order: Order,
    begun: ReadonlyMap<string, Begun>,
    earlier: Job | undefined,
    signal: AbortSignal,
  ): Begun {
    const { pipeline_id } = change;
    const { desired, origin, suspended } = order;
    // A pipeline that was stopped for the replaced change does not wait for a back-off.
    const backingOff = earlier === undefined ? this.#backingOff(change, order) : undefined;
    if (backingOff !== undefined) return { outcome: Promise.resolve(backingOff), isReplaced: false };
    const before = change.after.flatMap((id) => begun.get(id)?.outcome ?? []);
    const wasSuspended = suspended.has(pipeline_id);
    const task = { change, desired: desired.get(pipeline_id), origin, wasSuspended, before, earlier, signal };
    const shared = { backoff: this.#backoff, concurrency: this.#concurrency, isAsked: this.#isAsked };
    const job = new Job(task, { ...this.#options, ...shared });
    // A move is a change of both ids.
    const ids = new Set([pipeline_id, change.moved_from ?? pipeline_id]);
    for (const id of ids) this.#jobs.set(id, job);
    void job.outcome.then(() => {
      for (const id of ids) if (this.#jobs.get(id) === job) this.#jobs.delete(id);
    });
    return job;
  }

  #backingOff(change: Action, { desired }: Order): Outcome | undefined {
    const { pipeline_id, kind } = change;
    const content = contentOf(change, desired.get(pipeline_id));
    const count = this.#backoff.count(pipeline_id, content);
    if (kind === "resume" && count >= resumesAtMost) {
      const message = `it failed again after each of ${count} resumes: ${reasonText(change.why)}. Correct the cause and push a change`;
      return { pipeline_id, kind, result: "refused", message };
    }
    const stalls = this.#backoff.stalls(pipeline_id, content);
    if (stalls !== undefined) return { pipeline_id, kind, result: "refused", message: stalls };
    const next = this.#backoff.next(pipeline_id, content);
    if (next <= Date.now()) return undefined;
    const unready = this.#backoff.whyUnready(pipeline_id, content);
    if (unready !== undefined) return unready;
    const message = "the last attempt failed; the next one waits for the back-off";
    return { pipeline_id, kind, result: "waiting", message, next_attempt: new Date(next).toISOString() };
  }

  async #waitFor(
    begun: ReadonlyMap<string, Begun>,
    changes: readonly Change[],
    applyTimeout: number,
    signal: AbortSignal,
  ): Promise<Outcome[]> {
    const ended = new Map<string, Outcome>();
    let turnHasEnded = false;
    const jobs = [...begun].map(async ([id, job]) => {
      const outcome = await job.outcome;
      if (!turnHasEnded) ended.set(id, outcome);
      else if (!job.isReplaced) this.#late(outcome);
    });
    const over = new AbortController();
    const end = (): void => over.abort();
    signal.addEventListener("abort", end, { once: true });
    const timeout = sleep(applyTimeout, over.signal);
    await Promise.race([Promise.all(jobs), timeout]);
    signal.removeEventListener("abort", end);
    over.abort();
    turnHasEnded = true;
    return changes
      .filter(({ pipeline_id }) => begun.has(pipeline_id))
      .map(({ pipeline_id, kind }) => ended.get(pipeline_id) ?? { pipeline_id, kind, result: "under way" });
  }

  #late(outcome: Outcome): void {
    this.#options.inventory.save().catch((error: unknown) => this.#options.telemetry.inventoryNotSaved(error));
    this.#options.onLate(outcome);
  }
}

function isMove({ calls }: Change): boolean {
  return calls.some((call) => call === "move");
}

function wishIn(desired: DesiredPipeline | undefined): string | undefined {
  return desired && wishOf(desired);
}
