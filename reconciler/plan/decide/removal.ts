import type { InventoryEntry } from "../../actual/inventory.ts";
import { hasConsumerGroup } from "../../../engine/language.ts";
import type { ActualPipeline, ActualState, DeletionBudget } from "../../actual/state.ts";
import type { RefusedDocument } from "../../desired/desired-state.ts";
import { allowed } from "../budget.ts";
import type { Change, NoOp, Refusal, WantedState } from "../change.ts";
import type { EndTrigger, Exchange, Reason } from "../reason.ts";
import { inPlace, nothing } from "./changes.ts";
import { effectOfDeletion, endOf } from "./ending.ts";
import { keptUnmoved } from "./moved.ts";

/** The changes of pipelines that the engine has and no valid file describes. */
export function removals(left: readonly ActualPipeline[], actual: ActualState, wanted: WantedState): Change[] {
  const exchanged = exchanges(actual, wanted);
  const judged = left.map((present) => judge(present, actual, wanted, exchanged));
  const waiting = judged.filter(({ isCounted }) => isCounted).length;
  const { budget } = actual;
  if (budget === undefined || !isOver(waiting, budget)) return judged.map(({ change }) => change);
  return judged.map(({ change, isCounted, isUnderway }) =>
    isCounted && isUnderway !== true ? overBudget(change, waiting, budget) : change,
  );
}

/**
 * Whether the limit forbids the deletion of `waiting` more pipelines. All or none: a revision that removes more than
 * the limit is most likely a mistake, and which part was intended is not known.
 */
function isOver(waiting: number, { limit, begun, of }: DeletionBudget): boolean {
  return waiting > 0 && begun + waiting > allowed(limit, of);
}

function overBudget({ pipeline_id, file = "" }: Change, waiting: number, budget: DeletionBudget): Refusal {
  const { begun, of, limit } = budget;
  const why = { code: "DeletionBudget", facts: { file, waiting, begun, of, limit } } as const;
  return { pipeline_id, file, ...nothing(), kind: "refuse", cause: "DeletionBudget", why };
}

interface Judged {
  change: Change;
  /** It counts for the deletion limit: its deletion has not begun yet. */
  isCounted: boolean;
  /** Another change is completed first. */
  isUnderway?: boolean;
}

function judge(
  present: ActualPipeline,
  actual: ActualState,
  wanted: WantedState,
  exchanged: ReadonlyMap<string, Exchange>,
): Judged {
  const { pipeline_id } = present;
  const entry = Object.hasOwn(actual.owned, pipeline_id) ? actual.owned[pipeline_id] : undefined;
  if (entry === undefined) {
    const why = { code: "NotOwned", facts: {} } as const;
    return { change: { pipeline_id, ...nothing(), kind: "no-op", cause: "NotOwned", why }, isCounted: false };
  }
  const gone = { pipeline_id, file: entry.file, ...nothing() };
  const underway = actual.busy.get(pipeline_id);
  const inProgress: NoOp = { ...gone, kind: "no-op", cause: "InProgress", why: { code: "InProgress", facts: {} } };
  if (underway !== undefined && underway.wish === undefined) return { change: inProgress, isCounted: false };
  const kept = reasonToKeep(pipeline_id, entry, { actual, wanted, exchanged });
  const isCounted = kept === undefined && !isAllowed(present, entry);
  if (underway?.isStopping === false) return { change: inProgress, isCounted, isUnderway: true };
  if (kept !== undefined) return { change: { ...gone, ...kept }, isCounted: false };
  if (underway === undefined) return { change: deletion(present, entry), isCounted };
  const next = inPlace(deletion({ ...present, status: "Stopped" }, entry));
  return { change: next ?? inProgress, isCounted };
}

/** A deletion that was begun, or whose file had set Terminated before: not a mistake of this revision. */
function isAllowed({ status }: ActualPipeline, { ending, terminated }: InventoryEntry): boolean {
  return ending === true || (terminated === true && (status === "Terminated" || status === "Terminating"));
}

type Keeping = Pick<NoOp, "kind" | "cause" | "why"> | Pick<Refusal, "kind" | "cause" | "why">;

interface Facts {
  actual: ActualState;
  wanted: WantedState;
  exchanged: ReadonlyMap<string, Exchange>;
}

function reasonToKeep(
  pipeline_id: string,
  { file, suspend, prune }: InventoryEntry,
  { actual, wanted, exchanged }: Facts,
): Keeping | undefined {
  if (suspend) return { kind: "no-op", cause: "Suspended", why: { code: "SuspendedFileGone", facts: { file } } };
  if (!prune) return { kind: "no-op", cause: "PruneDisabled", why: { code: "PruneDisabled", facts: { file } } };
  if (wanted.pipelines.length === 0)
    return { kind: "refuse", cause: "EmptySource", why: { code: "EmptySource", facts: {} } };
  const unmoved = keptUnmoved(pipeline_id, actual);
  if (unmoved !== undefined) return unmoved;
  const unread = wanted.refused.find((one) => becomes(one, pipeline_id, file, actual) || mayHoldAny(one, actual));
  if (unread !== undefined) {
    const why: Reason = { code: "PruneHeld", facts: { file, unread: unread.file } };
    return { kind: "no-op", cause: "PruneHeld", why };
  }
  const hiding = wanted.skipped.filter(({ mayHold }) => mayHold?.includes(pipeline_id));
  if (hiding.length > 0) {
    const mayHold = hiding.map(({ path, reason }) => ({ path, ...(reason !== undefined && { reason }) }));
    return { kind: "no-op", cause: "PruneHeld", why: { code: "PruneHeld", facts: { file, mayHold } } };
  }
  const exchange = exchanged.get(file);
  return exchange && { kind: "refuse", cause: "IdChanged", why: idChanged(file, exchange) };
}

/**
 * Whether a document that cannot be used is that of this pipeline by another id: it names the former one, gives back an id
 * that it had, or stands where the pipeline was, and has an id that no pipeline has.
 */
function becomes(
  { file, pipeline_ids, moved_from = [] }: RefusedDocument,
  pipeline_id: string,
  was: string,
  { pipelines, owned }: ActualState,
): boolean {
  const isNew = (id: string): boolean => !pipelines.has(id) && !Object.hasOwn(owned, id);
  const had = (Object.hasOwn(owned, pipeline_id) ? owned[pipeline_id]?.moved_from : undefined) ?? [];
  if (moved_from.includes(pipeline_id) || pipeline_ids.some((id) => isNew(id) && had.includes(id))) return true;
  return file === was && pipeline_ids.length > 0 && pipeline_ids.every(isNew);
}

/** An unreadable file in which no pipeline was seen before: perhaps a file that was moved. */
function mayHoldAny({ file, freezesFile, pipeline_ids }: RefusedDocument, { owned }: ActualState): boolean {
  return freezesFile && pipeline_ids.length === 0 && !Object.values(owned).some((entry) => entry.file === file);
}

/**
 * Files in which one pipeline vanished and another one is new: most likely its pipeline_id was changed. Applying that
 * would run both pipelines, or drop the state of one.
 */
export function exchanges({ pipelines, owned }: ActualState, wanted: WantedState): Map<string, Exchange> {
  const stays = new Set(wanted.pipelines.map(({ pipeline_id }) => pipeline_id));
  const vanished = Object.entries(owned).filter(
    ([id, { prune, suspend }]) => !stays.has(id) && pipelines.has(id) && prune && !suspend,
  );
  const fresh = wanted.pipelines.filter(({ pipeline_id: id }) => !pipelines.has(id) && !Object.hasOwn(owned, id));
  const files = new Set(vanished.map(([, { file }]) => file));
  return new Map(
    [...files].flatMap((file): [string, Exchange][] => {
      const there = fresh.filter((one) => one.file === file);
      const to = there.map(({ pipeline_id }) => pipeline_id);
      const isReader = there.some(({ config }) => hasConsumerGroup(config));
      const from = vanished.filter(([, entry]) => entry.file === file).map(([id]) => id);
      return to.length === 0 ? [] : [[file, { from, to, isReader }]];
    }),
  );
}

export function idChanged(file: string, exchange: Exchange): Reason {
  return { code: "IdChanged", facts: { file, ...exchange } };
}

function deletion(present: ActualPipeline, { file }: InventoryEntry): Change {
  const gone = { pipeline_id: present.pipeline_id, file, ...nothing() };
  const trigger: EndTrigger = { ending: "prune", file };
  const step = endOf(present, "prune");
  if (step.kind === "waits") {
    const why: Reason = { code: "EndWaits", facts: { trigger, wait: step.wait } };
    return { ...gone, kind: "no-op", cause: "InTransition", why };
  }
  if (step.kind === "hindered") {
    const { hindrance } = step;
    const why: Reason = { code: "EndHindered", facts: { trigger, hindrance } };
    return { ...gone, kind: "refuse", cause: hindrance.cause, why };
  }
  const why: Reason = { code: "FileRemoved", facts: { file, ...effectOfDeletion(present) } };
  return { ...gone, kind: "delete", cause: "FileRemoved", events: "forget", why, calls: step.calls };
}
