import type { EngineOptions, PipelineConfig } from "../../engine/index.ts";
import type { Effect, EventEffect } from "../../schemas/index.ts";
import type { AppliedBefore } from "../actual/inventory.ts";
import type { WishedState } from "../desired/desired-state.ts";
import type { Call } from "../plan/calls.ts";
import type { Cause, ChangeKind } from "../plan/change.ts";
import type { Level } from "../plan/level.ts";
import type { OutcomeResult } from "./outcome.ts";

/** The plan of a change, as it is stored. Holds no value of a field. */
export interface Predicted {
  kind: ChangeKind | "rewind";
  cause: Cause | "RewoundByOperator";
  effect: Effect;
  /** Absent in records of earlier versions. */
  events?: EventEffect;
  reason: string;
  calls: Call[];
  /** Paths of the fields that change. */
  fields: string[];
  /** What the pipeline held when the change began; absent where there was none. */
  held?: Quantities;
  /** How grave it is. Absent in records of earlier versions, as are the following three. */
  level?: Level;
  /** What it costs, and what a rollback does not restore, as sentences. */
  costs?: string[];
  losses?: string[];
  expects?: Expected;
}

/** The figures of a plan that are compared with what happens. */
export interface Expected {
  /** Events that are written while it is being stopped; absent where that is not known. */
  drained?: number;
  /** Milliseconds that it does not run; absent where it is not stopped, or stays stopped. */
  pause_ms?: number;
  dead_letters_dropped: number;
}

/** Figures of a pipeline at one moment. */
export interface Quantities {
  /** Absent where its stream could not be opened. */
  events?: number;
  pending_batches: number;
  dead_letters: number;
  /** Of a pipeline that reads a topic, in offsets. */
  lag?: number;
  /** With dedup. */
  keys?: number;
  /** With a join: events that it buffers, and rows that are not in the table. */
  join_events?: number;
  join_rows?: number;
}

/** Who asked for it. */
export interface Origin {
  revision: string;
  author?: string;
  subject?: string;
}

/** The pipeline that a recreation makes, as far as its journal may hold it: with references to secrets, never values. */
export interface Successor {
  config: PipelineConfig;
  options: EngineOptions;
  state: WishedState;
}

/** Since when a change keeps a pipeline stopped, and whether the pipeline has to run again. */
export interface Off {
  /** ISO 8601, UTC. */
  since: string;
  /** It ran before and was stopped only for a change: it must not stay stopped. */
  isOwed: boolean;
}

/** One call that was made. */
export interface MadeCall {
  call: Call;
  result: "success" | "error";
  seconds: number;
}

/** A change from its first call to its end, over all tries and crashes. */
export interface Operation {
  id: number;
  pipeline_id: string;
  /** The id that it has until it is moved; absent where it is not. */
  moved_from?: string;
  /** For a move: the fingerprint of what its file asked for, which has no secret. */
  asks?: string;
  origin: Origin;
  plan: Predicted;
  /** Salted digest of the wanted config: the same config continues the same operation. */
  content: { salt: string; digest: string };
  /** ISO 8601, UTC. */
  began: string;
  /** Of the present try. */
  calls: Call[];
  /** Index of the call that is under way. */
  calling?: number;
  ranBefore: boolean;
  /** Absent where the pipeline was never as a file said. */
  before?: AppliedBefore;
  off?: Off;
  /** For a recreation; `lost` where its file holds a secret in plain text. */
  successor?: Successor | "lost";
  tries: number;
  /** How often the process ended meanwhile. */
  interruptions: number;
  errors: number;
  /** Events that were settled while it was being stopped. */
  drained: number;
  /** Milliseconds that it did not run, so far. Absent where it ran all the time, or is not running again. */
  pause?: number;
  made: MadeCall[];
  /** The result of the last try, where the operation goes on. */
  lastAttempt?: { result: OutcomeResult; message?: string };
}

/** What is known of an operation when it begins. */
export type Beginning = Pick<
  Operation,
  | "pipeline_id"
  | "moved_from"
  | "asks"
  | "origin"
  | "plan"
  | "content"
  | "calls"
  | "ranBefore"
  | "before"
  | "off"
  | "successor"
>;

/** One thing that happened to an operation; `at` is ISO 8601, UTC. */
export type OperationLine = { op: number; at: string } & (
  | { says: "begin"; what: Beginning }
  /** It is tried again, or continued, with these calls. */
  | { says: "again"; calls: Call[] }
  | { says: "calling"; index: number }
  | { says: "called"; index: number; result: MadeCall["result"]; seconds: number; drained?: number }
  /** The pipeline runs again with its old config. */
  | { says: "resumed" }
  | { says: "attempt-failed"; result: OutcomeResult; message?: string }
  /** The process that made its calls has ended. */
  | { says: "interrupted" }
  /** A whole operation, after the journal was rewritten. */
  | { says: "snapshot"; operation: Operation }
  | { says: "end" }
);

/** Calls kept of one operation, so that one that is tried for days does not grow. */
const madeAtMost = 20;

/** Adds one more line to the open operations. Throws RangeError for a line about an operation that was not begun. */
export function addLine(open: Map<number, Operation>, line: OperationLine): void {
  if (line.says === "begin") return void open.set(line.op, begun(line.op, line.at, line.what));
  if (line.says === "snapshot") return void open.set(line.op, line.operation);
  const operation = open.get(line.op);
  if (operation === undefined) throw new RangeError(`expected operation ${line.op} to be open, it is not`);
  switch (line.says) {
    case "again":
      operation.calls = line.calls;
      operation.tries += 1;
      delete operation.lastAttempt;
      break;
    case "calling":
      calling(operation, line.index, line.at);
      break;
    case "called":
      called(operation, line, line.at);
      break;
    case "resumed":
      noteResumed(operation, line.at);
      break;
    case "attempt-failed":
      operation.lastAttempt = { result: line.result, ...(line.message !== undefined && { message: line.message }) };
      break;
    case "interrupted":
      operation.interruptions += 1;
      delete operation.calling;
      break;
    case "end":
      open.delete(line.op);
  }
}

function begun(id: number, began: string, what: Beginning): Operation {
  return { ...what, id, began, tries: 1, interruptions: 0, errors: 0, drained: 0, made: [] };
}

function calling(operation: Operation, index: number, at: string): void {
  const { calls, ranBefore } = operation;
  operation.calling = index;
  const call = calls[index];
  if (call !== "stop" && call !== "terminate") return;
  // Without a following resume or deletion, the stop is the purpose of the change.
  const isPassing = ["resume", "delete"].includes(
    calls.slice(index + 1).find((next) => next !== "update" && next !== "move") ?? "",
  );
  operation.off ??= { since: at, isOwed: ranBefore && isPassing };
}

function called(
  operation: Operation,
  { index, result, seconds, drained = 0 }: OperationLine & { says: "called" },
  at: string,
): void {
  const call = operation.calls[index];
  delete operation.calling;
  if (call === undefined) return;
  operation.made.push({ call, result, seconds });
  operation.made.splice(0, operation.made.length - madeAtMost);
  operation.drained += drained;
  if (result === "error") operation.errors += 1;
  const isOpen = !operation.calls.includes("delete", index);
  if (result === "success" && isOpen && (call === "resume" || call === "create")) noteResumed(operation, at);
}

function noteResumed(operation: Operation, at: string): void {
  const { off, pause = 0 } = operation;
  if (off === undefined) return;
  operation.pause = pause + Math.max(0, Date.parse(at) - Date.parse(off.since));
  delete operation.off;
}
