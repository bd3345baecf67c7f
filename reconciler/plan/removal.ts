import type { InventoryEntry } from "../actual/inventory.ts";
import type { ActualPipeline, ActualState } from "../actual/state.ts";
import type { RefusedDocument } from "../desired/desired-state.ts";
import { overBudget } from "./budget.ts";
import type { Cause, Change, ChangeKind, WantedState } from "./change.ts";
import { effectOfDeletion, endOf } from "./ending.ts";
import { readsFromKafka } from "./reading.ts";
import { inPlace } from "./takeover.ts";

/** What is to be done with the pipelines that the engine has and no valid file describes. */
export function removals(left: readonly ActualPipeline[], actual: ActualState, wanted: WantedState): Change[] {
  const exchanged = exchanges(actual, wanted);
  const judged = left.map((present) => judge(present, actual, wanted, exchanged));
  const over = overBudget(judged.filter(({ isCounted }) => isCounted).length, actual.budget);
  return judged.map(({ change: planned, isCounted, isUnderway }) => {
    if (over === undefined || !isCounted || isUnderway) return planned;
    const { pipeline_id, file } = planned;
    return {
      ...planned,
      ...nothing,
      pipeline_id,
      ...refuse("DeletionBudget", `${file} no longer has it, but ${over}`),
    };
  });
}

interface Judged {
  change: Change;
  /** It counts against the deletion budget: its deletion waits to be begun. */
  isCounted: boolean;
  /** Another change is carried to its end first. */
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
    const reason = "it was not made from this source: it is left alone";
    return { change: change(present, "no-op", "NotOwned", reason), isCounted: false };
  }
  const underway = actual.busy.get(pipeline_id);
  const inProgress = change(present, "no-op", "InProgress", "an earlier change is still being carried out", entry);
  if (underway !== undefined && underway.wish === undefined) return { change: inProgress, isCounted: false };
  const kept = reasonToKeep(entry, actual, wanted, exchanged);
  const isCounted = kept === undefined && !isAllowed(present, entry);
  if (underway?.isStopping === false) return { change: inProgress, isCounted, isUnderway: true };
  if (kept !== undefined)
    return { change: change(present, kept.kind, kept.cause, kept.reason, entry), isCounted: false };
  if (underway === undefined) return { change: deletion(present, entry), isCounted };
  const next = inPlace(deletion({ ...present, status: "Stopped" }, entry));
  return { change: next ?? inProgress, isCounted };
}

/** A deletion that was begun, or that a file has asked for before it went: no mistake of this revision. */
function isAllowed({ status }: ActualPipeline, { ending, terminated }: InventoryEntry): boolean {
  return ending === true || (terminated === true && (status === "Terminated" || status === "Terminating"));
}

const nothing = { effect: "none", fields: [], calls: [], after: [] } as const satisfies Partial<Change>;

type Keeping = Pick<Change, "kind" | "cause" | "reason">;

const keep = (cause: Cause, reason: string): Keeping => ({ kind: "no-op", cause, reason });
const refuse = (cause: Cause, reason: string): Keeping => ({ kind: "refuse", cause, reason });

function reasonToKeep(
  entry: InventoryEntry,
  actual: ActualState,
  wanted: WantedState,
  exchanged: ReadonlyMap<string, Exchange>,
): Keeping | undefined {
  if (entry.suspend)
    return keep("Suspended", `${entry.file} no longer has it, but said x-sluice.suspend: true: it is left as it is`);
  if (!entry.prune)
    return keep("PruneDisabled", `${entry.file} no longer has it, but said x-sluice.prune: false: it is kept`);
  if (wanted.pipelines.length === 0) {
    return refuse(
      "EmptySource",
      "the source holds no valid pipeline at all, which looks like a mistake: nothing is deleted. " +
        "Ways out: check --path and the branch; or, to remove the last pipelines on purpose, keep one file with x-sluice.state: Terminated",
    );
  }
  const unread = wanted.refused.find((document) => mayHoldAny(document, actual));
  if (unread !== undefined) {
    const reason = `${entry.file} no longer has it, but ${unread.file}, which cannot be read, may: it is kept until that is mended`;
    return keep("PruneHeld", reason);
  }
  const exchange = exchanged.get(entry.file);
  return exchange === undefined ? undefined : refuse("IdChanged", idChanged(entry.file, exchange));
}

/** A file that nobody has seen a pipeline in before, and that does not tell which it holds: perhaps one that was moved. */
function mayHoldAny({ file, freezesFile, pipeline_ids }: RefusedDocument, { owned }: ActualState): boolean {
  return freezesFile && pipeline_ids.length === 0 && !Object.values(owned).some((entry) => entry.file === file);
}

/** Ids that vanished from a file, and ids that are new in it. */
export interface Exchange {
  from: string[];
  to: string[];
  /** The new ones read a topic. */
  isReader: boolean;
}

/**
 * Files in which one pipeline vanished and another one is new: most likely its pipeline_id was changed. To carry that
 * out would run both side by side, or drop the state of one.
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
      const isReader = there.some(({ config }) => readsFromKafka(config));
      const from = vanished.filter(([, entry]) => entry.file === file).map(([id]) => id);
      return to.length === 0 ? [] : [[file, { from, to, isReader }]];
    }),
  );
}

export function idChanged(file: string, exchange: Exchange): string {
  const [from, to] = [exchange.from.join(", "), exchange.to.join(", ")];
  const again = exchange.isReader ? ": its topic is then read again, by another consumer group" : "";
  return (
    `pipeline_id cannot change, and ${file} had ${from} where it now has ${to}: ${from} runs on unchanged. Ways out: put ` +
    `${from} back, and change name instead; or put ${to} into a file of its own, which creates it and deletes ${from}${again}`
  );
}

function deletion(present: ActualPipeline, entry: InventoryEntry): Change {
  const step = endOf(present, "prune");
  const gone = `${entry.file} no longer has it`;
  if (step.kind === "waits") return change(present, "no-op", "InTransition", `${gone}: ${step.text}`, entry);
  if (step.kind === "hindered") return change(present, "refuse", step.cause, `${gone}: ${step.text}`, entry);
  const removed = change(present, "delete", "FileRemoved", `${gone}${effectOfDeletion(present)}`, entry);
  return { ...removed, effect: "forget", calls: step.calls };
}

function change(
  { pipeline_id }: ActualPipeline,
  kind: ChangeKind,
  cause: Cause,
  reason: string,
  entry?: InventoryEntry,
): Change {
  const file = entry === undefined ? {} : { file: entry.file };
  return { pipeline_id, kind, cause, effect: "none", reason, ...file, fields: [], calls: [], after: [] };
}
