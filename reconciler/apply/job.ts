import type { Inventory } from "../actual/inventory.ts";
import { healthOf, presentOf } from "../actual/snapshot.ts";
import type { Underway } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { wishOf } from "../desired/fingerprint.ts";
import type { Call } from "../plan/calls.ts";
import { type Backoff, policyOf } from "./backoff.ts";
import { type AppliedEngine, carryOut, DeletionBlockedError, readinessFor, type Wanted } from "./carry-out.ts";
import type { Action } from "../plan/change.ts";
import { hindranceText } from "../plan/render/index.ts";
import type { Operation, Origin } from "./operation.ts";
import type { Operations } from "./operations.ts";
import { lettersDroppedBy } from "./expected.ts";
import { applied, appliedBefore, contentOf } from "./ownership.ts";
import type { Outcome } from "./outcome.ts";
import type { ApplyTelemetry } from "./telemetry.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { PipelineHealth, Readiness } from "../../engine/index.ts";

/** What every job works with. */
export interface JobDependencies {
  engine: AppliedEngine;
  inventory: Inventory;
  telemetry: ApplyTelemetry;
  operations: Operations;
  backoff: Backoff;
  concurrency: ConcurrencyLimit;
  /** Whether a pipeline is suspended at this moment: a change that waits is then not begun. */
  isSuspended: (pipeline_id: string) => boolean;
  /** Whether the newest plan is still for this. */
  isAsked: (pipeline_id: string, desired: DesiredPipeline | undefined) => boolean;
}

/** One change, and the changes that have to end before it is begun. */
export interface Task {
  change: Action;
  /** Absent for a deletion. */
  desired: DesiredPipeline | undefined;
  origin: Origin;
  /** It was planned although the pipeline is suspended. */
  wasSuspended: boolean;
  /** Changes of the same plan that come first. */
  before: readonly Promise<Outcome>[];
  /** The job of the same pipeline that it replaces. */
  earlier: Job | undefined;
  signal: AbortSignal;
}

/**
 * Makes the calls of one change. While it waits for a stop, another job may replace it: it then makes no further call,
 * and the other job continues with the pipeline as it is.
 */
export class Job {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  readonly #task: Task;
  readonly #dependencies: JobDependencies;
  #call: Call | undefined;
  /** True until the job that it replaces has ended. */
  #isWaiting: boolean;
  #isReplaced = false;
  /** Has no effect once it has begun. */
  #giveUp: () => void = () => undefined;
  /** Nothing was done yet: another job may still take its place. */
  #isChecking = false;

  constructor(task: Task, dependencies: JobDependencies) {
    this.#task = task;
    this.#dependencies = dependencies;
    this.#isWaiting = task.earlier !== undefined;
    this.outcome = this.#run().catch((error: unknown) => this.#faulty(error));
  }

  get underway(): Underway {
    const { change, desired } = this.#task;
    const isStopping = this.#isWaiting || this.#isChecking || this.#call === "stop";
    const isEnding = change.calls.includes("delete");
    return { isStopping, ...(desired !== undefined && { wish: wishOf(desired) }), ...(isEnding && { isEnding }) };
  }

  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** Ends it where it waits for other changes, and something else is asked for by now. */
  reconsider(): void {
    if (this.#isOutdated()) this.#giveUp();
  }

  /** Ends it after the call that is being made. */
  replace(): void {
    this.#isReplaced = true;
  }

  async #run(): Promise<Outcome> {
    const { change, wasSuspended, before, earlier } = this.#task;
    const last = await earlier?.outcome;
    this.#isWaiting = false;
    if (this.#isReplaced) return this.#end("replaced");
    const missing = await Promise.race([missingOf(before), this.#whenGivenUp()]);
    if (missing === "given up") return this.#outdated();
    if (missing !== undefined) {
      const why = `${missing.pipeline_id}, on which it depends, was not applied: ${missing.message ?? missing.result}`;
      return this.#end("blocked", `${why}${earlier === undefined ? "" : await this.#resume()}`);
    }
    // The change that this one replaced has stopped the pipeline, which must not stay stopped.
    const ids = [change.pipeline_id, change.moved_from ?? change.pipeline_id];
    const isSuspended = (): boolean =>
      !wasSuspended && earlier === undefined && ids.some((id) => this.#dependencies.isSuspended(id));
    const outcome = await this.#dependencies.concurrency.run(async () => {
      if (isSuspended()) return this.#end("suspended", "the pipeline was suspended before the change began");
      return this.#isOutdated() ? this.#outdated() : this.#makeCalls(last);
    });
    this.#dependencies.telemetry.changeEnded(change, outcome);
    return outcome;
  }

  /** A fault of Sluice on one pipeline holds up no other. */
  #faulty(error: unknown): Outcome {
    const { change } = this.#task;
    const outcome = this.#end("failed", `an error of Sluice itself: ${messageOf(error)}`);
    this.#dependencies.telemetry.changeEnded(change, outcome);
    return outcome;
  }

  /** The id by which the engine has the pipeline at this moment. */
  get #id(): string {
    const { pipeline_id, moved_from } = this.#task.change;
    const isMoved = moved_from === undefined || healthOf(this.#dependencies.engine, moved_from) === undefined;
    return isMoved ? pipeline_id : moved_from;
  }

  #whenGivenUp(): Promise<"given up"> {
    return new Promise((resolve) => (this.#giveUp = () => resolve("given up")));
  }

  /** Something else was asked for while it waited for other changes. One that replaces another has to go on. */
  #isOutdated(): boolean {
    const { change, desired, before, earlier } = this.#task;
    if (before.length === 0 || earlier !== undefined) return false;
    return !this.#dependencies.isAsked(change.pipeline_id, desired);
  }

  #outdated(): Outcome {
    const why = "something else was asked for before the change began: a new plan is made";
    return { ...this.#end("waiting", why), next_attempt: new Date().toISOString() };
  }

  async #makeCalls(last: Outcome | undefined): Promise<Outcome> {
    const { change, desired, origin, signal } = this.#task;
    const { engine, inventory, backoff, operations } = this.#dependencies;
    const { pipeline_id } = change;
    if (last !== undefined && healthOf(engine, this.#id)?.overall_status !== "Stopped") return this.#planAnew(last);
    backoff.attempt(pipeline_id, contentOf(change, desired), Date.now());
    const unready = await this.#unready();
    if (unready !== undefined) return unready;
    const present = presentOf(engine, this.#id);
    const before = appliedBefore(inventory.state.pipelines[this.#id]);
    const operation = operations.begin({ change, desired, origin, present, before });
    const outcome = (await this.#callsOf(operation)) ?? this.#applied();
    if (outcome.result === "applied")
      await operations.end(operation, outcome, lettersDroppedBy(operation, presentOf(engine, pipeline_id)));
    // The next process continues a change that the end of this one interrupted.
    else if (!signal.aborted) await operations.attemptFailed(operation, outcome);
    return outcome;
  }

  /**
   * The outcome of a change that must not begin: the pipeline runs on as it is, because it could not run as its file
   * says. It is asked again with growing pauses, since a secret or a table may be corrected without a commit.
   */
  async #unready(): Promise<Outcome | undefined> {
    const { change, desired } = this.#task;
    const { engine, backoff } = this.#dependencies;
    if (change.cause === "Interrupted") return undefined;
    this.#isChecking = true;
    const found = await readinessFor(engine, change, desired).catch(unknown);
    this.#isChecking = false;
    if (this.#isReplaced || found === undefined || found.kind === "ready") return undefined;
    const isRefused = found.kind === "refused";
    const message = isRefused
      ? `it runs on as it is, because it could not run as the file says: ${found.text}`
      : `it runs on as it is, because it is not known whether it could run as the file says: ${found.text}`;
    const content = contentOf(change, desired);
    const next_attempt = new Date(backoff.next(change.pipeline_id, content)).toISOString();
    const outcome = {
      ...this.#end(isRefused ? "refused" : "waiting", message),
      cause: "NotReady",
      next_attempt,
    } as const;
    backoff.unready(change.pipeline_id, content, outcome);
    return outcome;
  }

  /** Makes the calls in order; returns the outcome of the change where one of them ends it. */
  async #callsOf(operation: Operation): Promise<Outcome | undefined> {
    const { pipeline_id, kind, cause, calls } = this.#task.change;
    const { engine } = this.#dependencies;
    engine.recreating(pipeline_id, kind === "recreate" || (cause === "Interrupted" && calls.includes("create")));
    for (const [index, call] of this.#task.change.calls.entries()) {
      if (this.#isReplaced) return this.#end("replaced");
      const ended = await this.#make(operation, call, index);
      if (ended !== undefined) return ended;
    }
    engine.recreating(pipeline_id, false);
    return undefined;
  }

  #applied(): Outcome {
    const { change, desired, origin } = this.#task;
    const { engine, inventory, backoff } = this.#dependencies;
    const { pipeline_id, kind, cause, calls } = change;
    // A pipeline that was resumed may fail again at once: its back-off ends when it is found running.
    if (kind !== "resume" || cause === "Drifted") backoff.clear(pipeline_id);
    if (change.moved_from !== undefined && calls.includes("move")) inventory.release(change.moved_from);
    if (kind === "delete") inventory.release(pipeline_id);
    else if (desired !== undefined && cause !== "Interrupted")
      applied(inventory, desired, change, origin.revision, presentOf(engine, pipeline_id));
    return this.#end("applied");
  }

  /** Makes one call; returns the outcome of the change where that ends it. */
  async #make(operation: Operation, call: Call, index: number): Promise<Outcome | undefined> {
    const { change, signal } = this.#task;
    const { engine, operations, telemetry } = this.#dependencies;
    const start = performance.now();
    const took = (): number => (performance.now() - start) / 1000;
    this.#call = call;
    try {
      signal.throwIfAborted();
      await operations.calling(operation, index);
      const before = call === "stop" ? healthOf(engine, this.#id) : undefined;
      const { generatedToken = false } = await carryOut(engine, change, index, this.#wanted(operation));
      const drained = before && settledBy(before, healthOf(engine, this.#id));
      operations.called(operation, index, "success", took(), drained);
      telemetry.callEnded(call, "success", took());
      if (generatedToken) telemetry.tokenGenerated(change.pipeline_id);
      return undefined;
    } catch (error) {
      if (error instanceof DeletionBlockedError) return this.#deletionBlocked(error);
      if (operation.calling === index) operations.called(operation, index, "error", took());
      telemetry.callEnded(call, "error", took());
      return this.#failed(call, error);
    } finally {
      this.#call = undefined;
    }
  }

  /** An interrupted recreation creates the config with which it was begun. */
  #wanted({ successor }: Operation): Wanted | undefined {
    const { change, desired } = this.#task;
    const isCarriedOn = change.cause === "Interrupted" && successor !== undefined && successor !== "lost";
    return isCarriedOn ? { ...successor, pipeline_id: change.pipeline_id } : desired;
  }

  /** A pipeline that was stopped for an edit which then failed is resumed with its old config. */
  async #failed(call: Call, error: unknown): Promise<Outcome> {
    const { change, desired, signal } = this.#task;
    const { pipeline_id, calls } = change;
    const { backoff, operations } = this.#dependencies;
    const isOwed = operations.of(pipeline_id)?.off?.isOwed ?? false;
    const isEdit = call === "update" || call === "move";
    const goesOn = isEdit && isOwed && calls.includes("resume") && !signal.aborted;
    const isGone =
      call === "create" && calls[0] !== "create"
        ? "; the old pipeline is deleted, and the creation of the new one is tried again"
        : "";
    const message = `${call}: ${messageOf(error)}${goesOn ? await this.#resume() : isGone}`;
    const content = contentOf(change, desired);
    const policy = policyOf(error);
    backoff.failed(pipeline_id, content, policy, message);
    if (policy === "stalling") return { ...this.#end("refused", message), call };
    const next_attempt = new Date(backoff.next(pipeline_id, content)).toISOString();
    if (policy === "waiting") return { ...this.#end("waiting", message), cause: "InTransition", call, next_attempt };
    return { ...this.#end("failed", message), call, next_attempt };
  }

  /** A pipeline that cannot be deleted yet goes on writing what it holds and committing offsets. It takes no new events. */
  async #deletionBlocked({ hindrance }: DeletionBlockedError): Promise<Outcome> {
    const { change, signal } = this.#task;
    const { engine, backoff } = this.#dependencies;
    const { pipeline_id } = change;
    backoff.clear(pipeline_id);
    const isStopped = healthOf(engine, pipeline_id)?.overall_status === "Stopped";
    if (hindrance.cause !== "DeadLettersHeld" && isStopped && !signal.aborted) {
      // A pipeline that cannot be started becomes Failed, and its status says why.
      await engine.resume(pipeline_id, { intake: "closed" }).catch(() => undefined);
    }
    const isPlannedAnew = change.kind === "recreate" && hindrance.cause === "DeadLettersHeld";
    return {
      ...this.#end("held", hindranceText(hindrance)),
      cause: hindrance.cause,
      ...(isPlannedAnew && { next_attempt: new Date().toISOString() }),
    };
  }

  /** Resumes the pipeline with its old config. Returns the end of a message that says whether that succeeded. */
  async #resume(): Promise<string> {
    const { engine, operations } = this.#dependencies;
    try {
      await engine.resume(this.#id);
      operations.resumed(this.#task.change.pipeline_id);
      return "; the pipeline was resumed with its old config";
    } catch (error) {
      return `; and the pipeline could not be resumed with its old config: ${messageOf(error)}`;
    }
  }

  /** The replaced change did not leave the pipeline in the status that this one was planned for. */
  #planAnew({ result, message = result }: Outcome): Outcome {
    const why = `the previous change did not end as planned (${message}): a new plan is made`;
    return { ...this.#end("failed", why), next_attempt: new Date().toISOString() };
  }

  #end(result: Outcome["result"], message?: string): Outcome {
    const { pipeline_id, kind } = this.#task.change;
    return { pipeline_id, kind, result, ...(message !== undefined && { message }) };
  }
}

/** The first change that was not applied, when all have ended. */
async function missingOf(changes: Task["before"]): Promise<Outcome | undefined> {
  return (await Promise.all(changes)).find(({ result }) => result !== "applied");
}

/** A check that failed, such as one whose thread died. */
function unknown(error: unknown): Readiness {
  return { kind: "unreachable", text: messageOf(error) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Events that a pipeline has settled between two moments; 0 where that is not known. */
function settledBy(before: PipelineHealth, after: PipelineHealth | undefined): number {
  return Math.max(0, settledIn(after) - settledIn(before)) || 0;
}

/** Without a stream, the count since the process started; NaN where it is not known. */
function settledIn(health: PipelineHealth | undefined): number {
  if (health === undefined) return NaN;
  const { source, stream, counters } = health;
  if (source === undefined) return stream === undefined ? NaN : stream.last - stream.messages;
  const { rows_written, events_filtered, tombstones_skipped, duplicates_dropped, dead_lettered } = counters;
  return rows_written + events_filtered + tombstones_skipped + duplicates_dropped + dead_lettered;
}
