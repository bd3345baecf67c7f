import type { EngineOptions } from "../../schemas/pipeline.ts";
import { mayBeInTable, type BatchRecord, type BatchState } from "../core/journal.ts";
import type { Answer, Failure, Reading } from "../core/sink.ts";
import {
  completesOnlyView,
  isInsideWindow,
  mayBeElsewhere,
  mayHaveRestarted,
  standingOf,
  type Standing,
} from "./target-window.ts";

/**
 * The rules of delivery as a pure function: from an event of a batch, and its state before, to the next steps
 * (docs/delivery-protocol.md). It reads no clock and no random number; `BatchSender` carries the steps out.
 *
 *     ready ─> read ─> send ─> answered ──────────────────────> commit
 *       ^       │ ^     ^          ├─> verify ─> verified ──────> commit
 *       │       │ └─────┼──────────┼── pause <──┘ │
 *       │       └─ a fresh token <─┼──────────────┘
 *       └─── retry, exclude <──────┘
 */

/** The options that hold for pending batches. */
export type SendOptions = Pick<EngineOptions, "on_uncertain" | "on_lost" | "on_view_error">;

/** The rules that apply to a batch and do not change while it is sent. */
export interface Rules extends Pick<SendOptions, "on_uncertain" | "on_view_error"> {
  /** An earlier revision makes the rows. It sends what is recorded; only the current revision prepares anything new. */
  isEarlier: boolean;
}

/** A batch between prepare and commit: its durable state, and what only this process knows of it. */
export interface Sending {
  state: BatchState;
  /** An answer has been missing since the token was drawn: rows may be in the table. In the state `sent` that is so. */
  isUncertain: boolean;
  /** The batch was reported as uncertain since its token was drawn. */
  isReported: boolean;
  /** Inserts that failed. */
  failures: number;
  /** Pauses in a row in which the options do not let it go on. */
  pauses: number;
  /** The target before the last repeat. */
  beforeRepeat?: Reading;
}

export type Refusal = Exclude<Answer, { kind: "ok" }>;

/** A row of a block that the target does not take, by its index from 0. */
export interface BadRow {
  row: number;
  failure: Failure;
}

/** Why an insert is retried later. */
export interface Trouble {
  class: Failure["class"] | "probe";
  text: string;
  connection?: Failure["connection"];
}

/** What has happened to a batch. `now`: milliseconds since the epoch, by the clock of this machine. */
export type BatchEvent =
  /** Its rows are encoded: `rows` of them. */
  | { kind: "ready"; rows: number; now: number }
  /** The target was read before an insert. */
  | { kind: "read"; reading: Reading }
  | { kind: "answered"; answer: Answer; now: number }
  /** The target was read after the OK to a repeat. */
  | { kind: "verified"; reading: Reading; now: number }
  /** The search for bad rows has ended, with the rows, or with a trouble in place of rows. */
  | { kind: "rowsFound"; rows: readonly BadRow[] }
  | { kind: "noRowFound"; answer: Refusal; trouble: Trouble };

/** A step without an event. */
export type Effect =
  | { do: "report"; what: "insertRepeated" | "tokenWithoutRows" | "viewErrorIgnored" }
  | { do: "report"; what: "batchUncertain"; choice: Choice }
  | { do: "report"; what: "insertFailed"; failure: Failure; unknown: boolean }
  /** Later batches are smaller. */
  | { do: "shrink" }
  /** Excluded rows are sent again. Durable with the next `note`. */
  | { do: "takeBackExcluded" }
  /** Makes the state durable. */
  | { do: "note" }
  /** Draws a fresh token, and makes the batch durable with it and with the state. */
  | { do: "drawToken" }
  /** Waits, longer with each pause, until the options or the target may have changed. */
  | { do: "pause"; class: "uncertain" | "view"; pauses: number; reading: Reading };

/** A step with an event as its result, or the end of the sending. */
export type Action =
  /** Reads the target: `read`. */
  | { do: "read" }
  /** Reads the target: `verified`. */
  | { do: "verify" }
  /** Inserts the rows, with the batch's token: `answered`. */
  | { do: "send"; ignoreViews: boolean }
  /** `rowsFound` or `noRowFound`. */
  | { do: "findBadRows"; answer: Refusal }
  /** The rows become dead letters, durably, and the others are encoded again: `ready`. */
  | { do: "exclude"; rows: readonly BadRow[] }
  /** Waits, opens the target anew and encodes the rows again: `ready`. */
  | { do: "retry"; trouble: Trouble; failures: number }
  /** Ends: the current revision makes the batch again, under the token that it has, or as a new one. */
  | { do: "remake"; token: "own" | "fresh" }
  /** Ends: the batch is settled. `by`: an insert; no row to insert; the option to skip it; or it was settled before. */
  | { do: "commit"; by: "insert" | "nothing" | "skip" | "before" };

/** What follows, in this order. `next` is the batch from then on. */
export interface Decision {
  next: Sending;
  steps: [...Effect[], Action];
}

type Choice = "insert" | "skip" | "pause";

/** Failures that another revision may avoid. */
const mendable = new Set<Failure["class"]>(["setup", "partitions", "row"]);
/** A reading of the target that is older than this is read anew before the first insert, in milliseconds. */
const oldestReading = 30_000;
/** The server has too little memory for the insert. */
const memoryLimit = 241;

/** A batch as it is taken up: just prepared, or left by an earlier start. */
export function beginSending(state: BatchState): Sending {
  return { state, isUncertain: state.kind === "sent", isReported: false, failures: 0, pauses: 0 };
}

/** Whether rows of the batch may be in the table. Rows added to it would then be dropped, by its token. */
export function mayBeThere({ state, isUncertain }: Sending): boolean {
  return isUncertain || state.kind === "viewFailed";
}

export function decide(batch: Sending, event: BatchEvent, rules: Rules): Decision {
  if (batch.state.kind === "written") return { next: batch, steps: [{ do: "commit", by: "before" }] };
  switch (event.kind) {
    case "ready":
      return whenReady(batch, event);
    case "read":
      return beforeInsert(batch, event.reading, rules);
    case "answered":
      return event.answer.kind === "ok" ? afterOk(batch, event.now, rules) : afterRefusal(batch, event.answer, rules);
    case "verified":
      return afterProof(batch, event, rules);
    case "rowsFound":
      return afterSearch(batch, event.rows);
    default:
      return retryLater(batch, event.answer, rules, { trouble: event.trouble, excludedGoInAgain: true });
  }
}

/**
 * The state to store for a batch when its pipeline leaves; undefined where it does not change. A batch that was not
 * sent, neither by this process (`wasSent`) nor by an earlier one, is in no table: the next start need not count it as
 * uncertain.
 */
export function whenLeft({ state }: Sending, { wasSent }: { wasSent: boolean }): BatchState | undefined {
  return wasSent || state.kind !== "prepared" ? undefined : { ...state, kind: "refused" };
}

/**
 * How a batch of an earlier start goes on, where the pipeline runs revision `current` now: its rows are made as
 * recorded, by this revision or by its own one; or filter, dedup and transforms of this revision process its events
 * anew.
 */
export function howToRecover(
  record: Pick<BatchRecord, "revision" | "state">,
  current: number,
): "as recorded" | "by its own revision" | "processed anew" {
  if (record.revision === current) return "as recorded";
  return mayBeInTable(record) ? "by its own revision" : "processed anew";
}

/**
 * How a batch goes on of which events are missing from the source. `isHeld`: the log still covers their offsets, so
 * that a compaction has replaced them.
 */
export function whenEventsAreGone(
  isHeld: boolean,
  { on_lost }: Pick<SendOptions, "on_lost">,
): "goes on, compacted" | "goes on, skipped" | "waits" {
  if (isHeld) return "goes on, compacted";
  return on_lost === "skip" ? "goes on, skipped" : "waits";
}

function whenReady(batch: Sending, { rows, now }: { rows: number; now: number }): Decision {
  if (rows === 0) return { next: settled(batch), steps: [{ do: "commit", by: "nothing" }] };
  const next = { ...batch, pauses: 0 };
  if (mayBeThere(batch) || !isFreshlyRead(batch.state, now)) return { next, steps: [{ do: "read" }] };
  return { next, steps: [{ do: "send", ignoreViews: false }] };
}

/** As long as each insert was refused, the next one counts as the first: its target is read just before it. */
function isFreshlyRead({ kind, target }: BatchState, now: number): boolean {
  if (kind !== "prepared" || target === undefined) return false;
  const age = now - target.taken;
  return age >= 0 && age <= oldestReading;
}

function beforeInsert(batch: Sending, reading: Reading, rules: Rules): Decision {
  if (!mayBeThere(batch)) {
    const next: Sending = { ...batch, state: { kind: "prepared", target: reading } };
    return { next, steps: [{ do: "note" }, { do: "send", ignoreViews: false }] };
  }
  switch (standingNow(batch.state, reading)) {
    case "recognised": {
      const send: Action = { do: "send", ignoreViews: ignoresViews(batch, rules) };
      return {
        next: { ...batch, beforeRepeat: reading },
        steps: [{ do: "report", what: "insertRepeated" }, send],
      };
    }
    case "absent":
      return anew(batch, reading, rules, [{ do: "report", what: "tokenWithoutRows" }]);
    case "over":
      // The view is gone that lacks the rows, so that no repeat could complete it.
      return {
        next: settled(batch),
        steps: [
          { do: "report", what: "viewErrorIgnored" },
          { do: "commit", by: "skip" },
        ],
      };
    case "doubted":
      return inDoubt(batch, reading, rules);
    default:
      return byOptions(batch, reading, rules, "read");
  }
}

/**
 * Where a view failed, the server has confirmed that the table holds the rows and their token; `doubted` once it was started
 * since, as a loss of power takes tokens whose rows stay. Where a repeat could double rows, the batch is `over` once that view
 * is gone, or is another one.
 */
function standingNow(state: BatchState, now: Reading): Standing | "over" | "doubted" {
  const { target } = state;
  if (target === undefined) return "uncertain";
  if (state.kind !== "viewFailed") return standingOf(target, now);
  if (mayHaveRestarted(target, now)) return standingOf(target, now) === "absent" ? "absent" : "doubted";
  const { view } = state;
  const isSame = view === undefined || target.views?.[view] === now.views?.[view];
  if (isInsideWindow(target, now) || (isSame && completesOnlyView(target, now))) return "recognised";
  return isSame ? "uncertain" : "over";
}

/** A repeat completes the view. It writes the rows once more where the table has lost their token, so that `on_uncertain` decides. */
function inDoubt(batch: Sending, reading: Reading, rules: Rules): Decision {
  if (rules.on_view_error === "skip") return byOptions(batch, reading, rules, "read");
  const choice = rules.on_uncertain;
  const effects = reportOnce(batch, choice);
  const next: Sending = { ...batch, isReported: true };
  if (choice === "skip") return { next: settled(next), steps: [...effects, { do: "commit", by: "skip" }] };
  if (choice === "insert") {
    const send: Action = { do: "send", ignoreViews: false };
    return {
      next: { ...next, beforeRepeat: reading },
      steps: [...effects, { do: "report", what: "insertRepeated" }, send],
    };
  }
  const pauses = batch.pauses + 1;
  const pause: Effect = { do: "pause", class: "uncertain", pauses, reading };
  return { next: { ...next, pauses }, steps: [...effects, pause, { do: "read" }] };
}

/**
 * It is not known whether the batch is in the table, or the table does not recognise a repeat any more: the options
 * decide. A batch with a failed view is in the table, so `on_uncertain` does not apply to it. A batch is skipped only
 * after a read before a repeat; after an answer the target is read once more.
 */
function byOptions(batch: Sending, reading: Reading, rules: Rules, look: "read" | "verify"): Decision {
  const isFromView = batch.state.kind === "viewFailed";
  const choice: Choice = isFromView ? rules.on_view_error : rules.on_uncertain;
  const effects = isFromView ? reportOfView(choice) : reportOnce(batch, choice);
  const next = isFromView ? batch : { ...batch, isReported: true };
  if (choice === "skip" && look === "verify") return { next, steps: [...effects, { do: "read" }] };
  if (choice === "skip") return { next: settled(next), steps: [...effects, { do: "commit", by: "skip" }] };
  if (choice === "insert") return anew(next, reading, rules, effects);
  const pauses = batch.pauses + 1;
  const pause: Effect = { do: "pause", class: isFromView ? "view" : "uncertain", pauses, reading };
  return { next: { ...next, pauses }, steps: [...effects, pause, { do: look }] };
}

function reportOfView(choice: Choice): Effect[] {
  return choice === "skip" ? [{ do: "report", what: "viewErrorIgnored" }] : [];
}

/** Once for each token. */
function reportOnce({ isReported }: Sending, choice: Choice): Effect[] {
  return isReported ? [] : [{ do: "report", what: "batchUncertain", choice }];
}

/** The batch is sent as if for the first time. If that answer is missing too, its rows may be in the table twice. */
function anew(batch: Sending, target: Reading, { isEarlier }: Rules, effects: Effect[]): Decision {
  if (isEarlier) return { next: batch, steps: [...effects, { do: "remake", token: "fresh" }] };
  const next: Sending = {
    ...batch,
    state: { kind: "prepared", target },
    isUncertain: false,
    isReported: false,
    pauses: 0,
  };
  return { next, steps: [...effects, { do: "drawToken" }, { do: "send", ignoreViews: false }] };
}

function afterOk(batch: Sending, now: number, rules: Rules): Decision {
  // A server that dies during an insert may keep its token without the rows, and then answers OK to a repeat.
  if (batch.isUncertain) return { next: { ...batch, pauses: 0 }, steps: [{ do: "verify" }] };
  return inserted(batch, now, rules);
}

/**
 * If the block numbers are those before the first insert, the table has no row of the batch, and a fresh token doubles
 * nothing. A replicated table's OK is trusted: its block numbers may come from a server that does not have all parts
 * yet.
 */
function afterProof(batch: Sending, { reading, now }: { reading: Reading; now: number }, rules: Rules): Decision {
  const { state, isUncertain, beforeRepeat } = batch;
  const { target } = state;
  if (!isUncertain || target === undefined || reading.isReplicated === true || reading.table !== target.table) {
    return inserted(batch, now, rules);
  }
  if (mayBeElsewhere(target, reading)) return insertedSomewhere(batch, now, rules);
  if (reading.blocks !== undefined && reading.blocks === target.blocks) {
    return anew(batch, reading, rules, [{ do: "report", what: "tokenWithoutRows" }]);
  }
  if (!mayHaveRestarted(beforeRepeat ?? target, reading)) return inserted(batch, now, rules);
  return byOptions(batch, reading, rules, "verify");
}

/** A repeat was answered, and the table that was sent to before may be another one: both may have the rows. */
function insertedSomewhere(batch: Sending, now: number, rules: Rules): Decision {
  const { next, steps } = inserted(batch, now, rules);
  return { next, steps: [...reportOnce(batch, "insert"), ...steps] };
}

function inserted(batch: Sending, now: number, rules: Rules): Decision {
  const { target } = batch.state;
  const at = target && target.time + Math.max(0, now - target.taken);
  const effects: Effect[] = ignoresViews(batch, rules) ? [{ do: "report", what: "viewErrorIgnored" }] : [];
  return { next: settled(batch, at), steps: [...effects, { do: "commit", by: "insert" }] };
}

function ignoresViews({ state }: Sending, { on_view_error }: Rules): boolean {
  return state.kind === "viewFailed" && on_view_error === "skip";
}

function afterRefusal(batch: Sending, answer: Refusal, rules: Rules): Decision {
  const { failure } = answer;
  const unknown = answer.kind === "unknown";
  const effects: Effect[] = [{ do: "report", what: "insertFailed", failure, unknown }];
  if (failure.code === memoryLimit) effects.push({ do: "shrink" });
  const next = unknown && failure.class !== "view" ? uncertain(batch) : batch;
  // After a failed view the table has all rows: none of them is a dead letter, whatever refuses it by now.
  const mayExclude = failure.class === "row" && batch.state.kind !== "viewFailed";
  if (mayExclude) return { next, steps: [...effects, { do: "findBadRows", answer }] };
  const later = retryLater(next, answer, rules, { trouble: failure, excludedGoInAgain: false });
  return { ...later, steps: [...effects, ...later.steps] };
}

/** The answer is noted before the wait: a crash in a pause after refusals makes nothing uncertain. */
function retryLater(
  batch: Sending,
  { kind, failure }: Refusal,
  { isEarlier }: Rules,
  { trouble, excludedGoInAgain }: { trouble: Trouble; excludedGoInAgain: boolean },
): Decision {
  const isFromView = failure.class === "view" || batch.state.kind === "viewFailed";
  const isRefused = kind === "refused" && !isFromView && !batch.isUncertain;
  const failures = batch.failures + 1;
  const next = isFromView
    ? withFailedView({ ...batch, failures }, failure)
    : withState({ ...batch, failures }, isRefused ? "refused" : "sent");
  // If the table is wrong, the rows that were excluded before are sent again with the others.
  const effects: Effect[] = excludedGoInAgain && isRefused ? [{ do: "takeBackExcluded" }] : [];
  const action: Action =
    isEarlier && mendable.has(failure.class)
      ? { do: "remake", token: isRefused ? "fresh" : "own" }
      : { do: "retry", trouble, failures };
  return { next, steps: [...effects, { do: "note" }, action] };
}

function afterSearch(batch: Sending, rows: readonly BadRow[]): Decision {
  const kind = batch.state.kind === "viewFailed" ? "viewFailed" : batch.isUncertain ? "sent" : "prepared";
  return { next: withState(batch, kind), steps: [{ do: "exclude", rows }] };
}

function uncertain(batch: Sending): Sending {
  const next = batch.state.kind === "viewFailed" ? batch : withState(batch, "sent");
  return { ...next, isUncertain: true };
}

/** The target is read before any insert, so that only `prepared` and `refused` may lack a reading. */
function withState(batch: Sending, kind: "prepared" | "sent" | "refused" | "viewFailed"): Sending {
  const { target } = batch.state;
  if (kind === "prepared" || kind === "refused") return { ...batch, state: { kind, ...(target && { target }) } };
  if (target === undefined || batch.state.kind === kind) return batch;
  return { ...batch, state: { kind, target } };
}

/** The view that failed, and how, are kept until the batch is settled: another failure may follow. */
function withFailedView(batch: Sending, failure: Failure): Sending {
  const next = withState(batch, "viewFailed");
  const { state } = next;
  if (state.kind !== "viewFailed" || failure.view === undefined) return next;
  return { ...next, state: { ...state, view: failure.view, error: failure.text } };
}

function settled(batch: Sending, at?: number): Sending {
  const { target } = batch.state;
  return { ...batch, state: { kind: "written", ...(target && { target }), ...(at !== undefined && { at }) } };
}
