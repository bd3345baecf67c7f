import { createHmac, randomBytes } from "node:crypto";
import type { AppliedBefore } from "../actual/inventory.ts";
import type { ActualPipeline, Interrupted } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { fingerprint, fingerprintOf, wishOf } from "../desired/fingerprint.ts";
import { longestText, type OperationHistory, type OperationRecord, recordOf } from "./history.ts";
import { isReplacing } from "../plan/change.ts";
import type { Action, Cause, Change } from "../plan/change.ts";
import { costsOf } from "../plan/costs/costs.ts";
import { levelOf } from "../plan/level.ts";
import { costText, lossText, reasonText } from "../plan/render/index.ts";
import { expectedOf } from "./expected.ts";
import type { Journal, Said } from "./journal.ts";
import type { Beginning, Operation, Origin, Predicted, Quantities, Successor } from "./operation.ts";
import type { Outcome } from "./outcome.ts";
import type { ApplyTelemetry } from "./telemetry.ts";
import { isDeepStrictEqual } from "node:util";
import { shown } from "../desired/shown.ts";

/** A change whose first call is about to be made. */
export interface Begun {
  change: Action;
  /** Absent for a deletion. */
  desired: DesiredPipeline | undefined;
  origin: Origin;
  /** The pipeline at this moment; absent where there is none. */
  present: ActualPipeline | undefined;
  /** Absent where it was never as a file said. */
  before?: AppliedBefore | undefined;
}

/** Fields that are named in a record. */
const fieldsAtMost = 50;

/** Causes with which a begun change stays open: it continues by itself, or after a hindrance is resolved. */
const goesOn: ReadonlySet<Cause> = new Set<Cause>([
  "InTransition",
  "InProgress",
  "DependencyNotReady",
  "EventsHeld",
  "GroupBehind",
  "DeadLettersHeld",
]);

/**
 * The open operations. Each step is written to the journal, and the end of each to the history. A pipeline has at most
 * one. It stays open over tries and crashes, until the wanted state is reached or the file wants another one.
 */
export class Operations {
  readonly #journal: Journal;
  readonly #history: OperationHistory;
  readonly #telemetry: ApplyTelemetry;
  /** Whose record is being written. */
  readonly #ending = new Set<number>();
  #last: number;

  constructor(journal: Journal, history: OperationHistory, telemetry: ApplyTelemetry) {
    this.#journal = journal;
    this.#history = history;
    this.#telemetry = telemetry;
    this.#last = Math.max(journal.last, history.last);
  }

  /** The open operations for the planner, by pipeline: one that moves a pipeline also by the id of before. */
  get interrupted(): ReadonlyMap<string, Interrupted> {
    const all = this.#open();
    const moves = all.flatMap((one) => (one.moved_from === undefined ? [] : [[one.moved_from, one] as const]));
    const byId = new Map([...moves, ...all.map((one) => [one.pipeline_id, one] as const)]);
    return new Map([...byId].map(([id, operation]) => [id, interruptedBy(operation)]));
  }

  /** What pipelines were as before, the oldest first, as far as the history goes back. */
  get appliedBefore(): ReadonlyMap<string, AppliedBefore[]> {
    return this.#history.appliedBefore;
  }

  /** The open operation of a pipeline, which may be one that moves it. */
  of(pipeline_id: string): Operation | undefined {
    const all = this.#open();
    return all.find((one) => one.pipeline_id === pipeline_id) ?? all.find((one) => one.moved_from === pipeline_id);
  }

  /** Begins an operation, or continues the one for the same wanted config. Durable with its first call. */
  begin(begun: Begun): Operation {
    const { change, desired, origin, present, before } = begun;
    const { pipeline_id, moved_from, calls } = change;
    const earlier = this.of(pipeline_id) ?? (moved_from === undefined ? undefined : this.of(moved_from));
    if (earlier?.pipeline_id === pipeline_id && isSame(earlier, change, desired)) {
      this.#note({ op: earlier.id, says: "again", calls });
      return earlier;
    }
    if (earlier !== undefined) void this.end(earlier, superseded(earlier, change, origin));
    const op = (this.#last += 1);
    const { status } = present ?? {};
    const what: Beginning = {
      pipeline_id,
      ...(moved_from !== undefined && { moved_from }),
      ...(calls.includes("move") && desired !== undefined && { asks: fingerprintOf(desired) }),
      origin,
      plan: predicted(change, present, desired),
      content: sealed(desired),
      calls,
      ranBefore: status === "Running" || status === "Created" || status === "Resuming",
      ...(before !== undefined && { before }),
      ...(earlier?.off !== undefined && { off: earlier.off }),
      ...(change.kind === "recreate" && desired !== undefined && { successor: successorOf(desired) }),
    };
    this.#note({ op, says: "begin", what });
    const operation = this.#journal.open.get(op);
    if (operation === undefined) throw new Error(`expected operation ${op} to be open, it is not`);
    return operation;
  }

  /** Records what an operator did without a change of a file. Resolves when that is durable, or known to have failed. */
  async note(record: Omit<OperationRecord, "id">): Promise<void> {
    const id = (this.#last += 1);
    await this.#history.put({ id, ...record }).catch((error: unknown) => this.#telemetry.historyNotSaved(error));
  }

  /** Records which call is made next. Resolves when that is durable; the call must not be made before. */
  async calling({ id }: Operation, index: number): Promise<void> {
    await this.#journal.say({ op: id, says: "calling", index });
  }

  called({ id }: Operation, index: number, result: "success" | "error", seconds: number, drained?: number): void {
    this.#note({ op: id, says: "called", index, result, seconds, ...(drained !== undefined && { drained }) });
  }

  /** A pipeline that was stopped for a change which failed runs as before. */
  resumed(pipeline_id: string): void {
    const operation = this.of(pipeline_id);
    if (operation !== undefined) this.#note({ op: operation.id, says: "resumed" });
  }

  /** A try has ended, and the operation has not. Resolves when that is noted: a start after that counts no interruption. */
  async attemptFailed(operation: Operation, { result, message }: Outcome): Promise<void> {
    const noted = this.#noted({
      op: operation.id,
      says: "attempt-failed",
      result,
      ...(message !== undefined && { message }),
    });
    await this.#record(operation, { result, ...(message !== undefined && { message }) });
    await noted;
  }

  /**
   * The record in the history is durable before the journal drops the operation, so that none is missing after a crash.
   * `lettersDropped` are the dead letters that were dropped, where that is known.
   */
  async end(
    operation: Operation,
    outcome: Pick<Outcome, "result" | "message">,
    lettersDropped?: number,
  ): Promise<void> {
    this.#ending.add(operation.id);
    await this.#record(operation, outcome, lettersDropped);
    this.#note({ op: operation.id, says: "end" });
    this.#ending.delete(operation.id);
  }

  /**
   * Ends the operations that a plan shows to be over: completed before a crash, or no longer wanted by any file. One
   * that left its pipeline stopped or deleted stays open until the pipeline is restored.
   */
  settle(
    changes: readonly Change[],
    desired: ReadonlyMap<string, DesiredPipeline>,
    has: (pipeline_id: string) => boolean,
    isBusy: (pipeline_id: string) => boolean,
  ): void {
    const byId = new Map(changes.map((change) => [change.pipeline_id, change]));
    for (const operation of this.#open()) {
      const { pipeline_id, moved_from = "" } = operation;
      const change =
        byId.get(pipeline_id) ?? byId.get(moved_from) ?? changes.find((one) => one.moved_from === pipeline_id);
      if (isBusy(pipeline_id) || (change !== undefined && staysOpen(operation, change, has(pipeline_id)))) continue;
      const isWished = change?.cause === "InSync" && isAskedBy(operation, desired.get(pipeline_id));
      const isDeleted = change === undefined && operation.calls.at(-1) === "delete";
      void this.end(operation, isWished || isDeleted ? { result: "applied" } : givenUp(operation));
    }
  }

  #open(): Operation[] {
    return [...this.#journal.open.values()].filter(({ id }) => !this.#ending.has(id));
  }

  /** Lines about past events: most callers do not wait until they are durable. */
  #note(line: Said): void {
    void this.#noted(line);
  }

  #noted(line: Said): Promise<void> {
    return this.#journal.say(line).catch((error: unknown) => this.#telemetry.journalNotSaved(error));
  }

  async #record(
    operation: Operation,
    outcome: Pick<Outcome, "result" | "message">,
    lettersDropped?: number,
  ): Promise<void> {
    try {
      await this.#history.put(recordOf(operation, outcome, lettersDropped));
    } catch (error) {
      this.#telemetry.historyNotSaved(error);
    }
  }
}

function interruptedBy({ origin, off, successor, asks }: Operation): Interrupted {
  const begun = { revision: origin.revision, isOwed: off?.isOwed ?? false, ...(asks !== undefined && { asks }) };
  if (successor === undefined || successor === "lost") return { ...begun, ...(successor && { successor }) };
  return { ...begun, successor: successor.state, asks: fingerprint(successor, successor.state) };
}

function predicted(
  change: Action,
  present: ActualPipeline | undefined,
  desired: DesiredPipeline | undefined,
): Predicted {
  const { kind, cause, effect, events, why, calls, fields, irreversible = [] } = change;
  return {
    kind,
    cause,
    effect,
    events,
    reason: reasonText(why).slice(0, longestText),
    calls,
    fields: fields.slice(0, fieldsAtMost).map(({ path }) => path.slice(0, longestText)),
    ...(present !== undefined && { held: quantitiesOf(present) }),
    level: levelOf(change),
    costs: bounded(costsOf(change, present, desired).map((cost) => costText(cost))),
    losses: bounded(irreversible.map((loss) => lossText(loss))),
    expects: expectedOf(change, present),
  };
}

/** Sentences about costs that are kept, and characters of one. */
const [mostSentences, longestSentence] = [10, 500];

function bounded(sentences: readonly string[]): string[] {
  return sentences.slice(0, mostSentences).map((text) => text.slice(0, longestSentence));
}

function quantitiesOf({ held, pending_batches, dead_letters, lag, keys, join }: ActualPipeline): Quantities {
  return {
    ...(held !== "unknown" && { events: held }),
    pending_batches,
    dead_letters,
    ...(lag !== undefined && { lag }),
    ...(keys !== undefined && { keys }),
    ...(join?.events !== undefined && { join_events: join.events }),
    ...(join !== undefined && { join_rows: join.rows }),
  };
}

/** A file may hold a secret in plain text, so only a digest of its content is kept. */
function sealed(desired: DesiredPipeline | undefined, salt = randomBytes(16).toString("hex")): Operation["content"] {
  const wish = desired === undefined ? "" : wishOf(desired);
  return { salt, digest: createHmac("sha256", salt).update(wish).digest("hex") };
}

function isAskedBy({ content }: Operation, desired: DesiredPipeline | undefined): boolean {
  return sealed(desired, content.salt).digest === content.digest;
}

function isSame(operation: Operation, { kind, cause }: Change, desired: DesiredPipeline | undefined): boolean {
  if (cause === "Interrupted")
    return kind === "create" ? operation.successor !== undefined : operation.plan.cause === cause;
  const isEnd = operation.plan.kind === "delete";
  return isEnd === (kind === "delete") && operation.plan.cause !== "Interrupted" && isAskedBy(operation, desired);
}

function staysOpen({ off, successor }: Operation, change: Change, isThere: boolean): boolean {
  const { calls, cause } = change;
  if (calls.length > 0 || isReplacing(change) || goesOn.has(cause)) return true;
  return cause !== "InSync" && ((off?.isOwed ?? false) || (successor !== undefined && !isThere));
}

function superseded(
  { lastAttempt }: Operation,
  { cause }: Change,
  { revision }: Origin,
): Pick<Outcome, "result" | "message"> {
  const why = cause === "Interrupted" ? "no file asks for it any more" : `${revision} asks for something else`;
  const before = lastAttempt?.message === undefined ? "" : `; before that: ${lastAttempt.message}`;
  return { result: "replaced", message: `${why}${before}` };
}

function givenUp({ lastAttempt }: Operation): Pick<Outcome, "result" | "message"> {
  if (lastAttempt !== undefined) return lastAttempt;
  return { result: "replaced", message: "it was interrupted, and no file asks for it any more" };
}

/**
 * The config that a recreation will create, for when its file no longer describes it. References to secrets are kept. A
 * plain-text secret is not stored, and without it the pipeline cannot be created.
 */
function successorOf({ config, options, directives }: DesiredPipeline): Successor | "lost" {
  const isOpen =
    isDeepStrictEqual(shown(config, []), config) && isDeepStrictEqual(shown(options, ["x-sluice"]), options);
  return isOpen ? { config, options, state: directives.state } : "lost";
}
