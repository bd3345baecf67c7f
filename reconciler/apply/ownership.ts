import type { AppliedBefore, Correction, Inventory, InventoryEntry } from "../actual/inventory.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { fingerprint, fingerprintOf, wishOf } from "../desired/fingerprint.ts";
import type { Call } from "../plan/calls.ts";
import type { Change, Plan } from "../plan/change.ts";
import { differencesOf, formerIds, recentOf } from "../plan/decide/index.ts";
import type { Kept } from "../plan/decide/index.ts";

/**
 * Owns the pipeline of a file. Facts in `known` replace those of the entry, and undefined removes one; the others stay. The ids
 * that its file moves it from count as its former ones, also where no pipeline had them: a revert of that file gives one back.
 */
export function own(inventory: Inventory, { pipeline_id, file, directives }: DesiredPipeline, known: Known = {}): void {
  const entry: Known = inventory.state.pipelines[pipeline_id] ?? {};
  const { terminated: _terminated, ending: _ending, ...before } = entry;
  const { prune, suspend, state } = directives;
  const moved_from = formerIds(pipeline_id, [
    ...(known.moved_from ?? before.moved_from ?? []),
    ...directives.moved_from,
  ]);
  const former = moved_from.length > 0 && { moved_from };
  const terminated = state === "Terminated" && ({ terminated: true } as const);
  const facts = Object.entries({ ...before, ...terminated, ...known, ...former }).filter(
    ([, fact]) => fact !== undefined,
  );
  inventory.own(pipeline_id, { ...Object.fromEntries(facts), file, prune, suspend });
}

type Known = { [Fact in keyof InventoryEntry]?: InventoryEntry[Fact] | undefined };

/** The pipeline matches its file of this revision: a later difference is a drift, or a change of the file. */
export function inSync(inventory: Inventory, desired: DesiredPipeline, revision: string, present: () => Kept): void {
  const entry = inventory.state.pipelines[desired.pipeline_id];
  const asked = fingerprintOf(desired);
  const isKnown = entry?.applied === asked && entry.changing !== true && entry.left !== undefined;
  const left = isKnown ? entry.left : fingerprint(present());
  const since = entry?.applied === asked ? (entry.since ?? entry.revision) : revision;
  const known = { revision, applied: asked, since, left, changing: undefined, fight: undefined };
  own(inventory, desired, { ...known, ...anew(entry, asked) });
}

/** What a pipeline is as now, before a change; undefined where it was never as a file said. */
export function appliedBefore(entry: InventoryEntry | undefined): AppliedBefore | undefined {
  const revision = entry?.since ?? entry?.revision;
  return entry?.applied === undefined || revision === undefined ? undefined : { applied: entry.applied, revision };
}

/** Owns the pipeline of a change before it is made, and stores what the plan found out about it. */
export function begin(inventory: Inventory, desired: DesiredPipeline, change: Change, now: number): void {
  const { cause, drift } = change;
  const calls: readonly Call[] = change.calls;
  const entry = inventory.state.pipelines[desired.pipeline_id];
  if (change.moved_from !== undefined && calls.includes("move")) {
    beginMove(inventory, desired, change.moved_from);
    return;
  }
  if (drift?.stance === "fight") {
    const { fields, times } = drift;
    const fight = entry?.fight ?? { since: new Date(now).toISOString(), fields: bounded(fields), times };
    own(inventory, desired, { fight });
    return;
  }
  const isPuttingBack = drift !== undefined && !calls.includes("delete");
  const changing = calls.length > 0 && !isPuttingBack && ({ changing: true } as const);
  const isOver = cause === "Suspended" || drift?.stance === "report";
  own(inventory, desired, { ...changing, ...(isOver ? settled : anew(entry, fingerprintOf(desired))) });
}

/** The pipeline is owned by both of its ids until it is moved: a crash finds it by the one that it has then. */
function beginMove(inventory: Inventory, desired: DesiredPipeline, from: string): void {
  const { pipeline_id } = desired;
  const former = inventory.state.pipelines[from];
  inventory.release(pipeline_id);
  const moved_from = [from, ...(former?.moved_from ?? [])];
  own(inventory, desired, { changing: true, moved_from, stopped: former?.stopped });
}

/** A change was carried out. It may have applied only a part of the file, where the rest is refused. */
export function applied(
  inventory: Inventory,
  desired: DesiredPipeline,
  change: Change,
  revision: string,
  now: Kept | undefined,
): void {
  if (now === undefined || differencesOf(desired, now).length > 0) return;
  inSync(inventory, desired, revision, () => now);
  if (change.cause === "Drifted") withInterrupted(inventory, desired, change, Date.now());
}

/** After a change of the file, earlier corrections and fights no longer count. */
function anew(entry: InventoryEntry | undefined, asked: string): Partial<typeof settled> {
  return entry?.applied === undefined || entry.applied === asked ? {} : settled;
}

/** A drift was corrected. */
function withInterrupted(inventory: Inventory, desired: DesiredPipeline, { drift }: Change, now: number): void {
  if (drift === undefined) return;
  const before = recentOf(inventory.state.pipelines[desired.pipeline_id]?.corrections, now);
  const correction: Correction = { at: new Date(now).toISOString(), fields: bounded(drift.fields) };
  own(inventory, desired, { corrections: [...before, correction].slice(-mostCorrections) });
}

/** Forgets corrections and fights. */
const settled = { corrections: undefined, fight: undefined };

/** Corrections that are kept. */
const mostCorrections = 20;
const bounded = (fields: readonly string[]): string[] => fields.slice(0, 20);

/** What a try attempts: the back-off begins again for another value. */
export function contentOf({ calls }: Change, desired: DesiredPipeline | undefined): string {
  return `${calls.at(-1)} ${desired === undefined ? "" : wishOf(desired)}`;
}

/**
 * Stores the deletions of this plan before they begin: they count for the limit of their revision, also after a crash,
 * and are completed whatever later revisions remove.
 */
export function noteDeletions(inventory: Inventory, { changes }: Plan, revision: string): void {
  const deletions = inventory.deletionsOf(revision);
  let begun = 0;
  for (const { pipeline_id, kind, calls } of changes) {
    const entry = inventory.state.pipelines[pipeline_id];
    if (kind !== "delete" || calls.length === 0 || entry === undefined) continue;
    // The deletion of a pipeline that its file had terminated is a single call.
    const isAllowed = entry.ending === true || (entry.terminated === true && calls.length === 1);
    if (!isAllowed) begun += 1;
    inventory.own(pipeline_id, { ...entry, changing: true, ending: true });
  }
  const isOver = changes.some(({ cause }) => cause === "DeletionBudget");
  if (begun > 0 || isOver) inventory.deletions({ ...deletions, begun: deletions.begun + begun });
}
