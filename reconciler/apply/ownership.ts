import type { Correction, Inventory, InventoryEntry } from "../actual/inventory.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { fingerprint, fingerprintOf } from "../desired/fingerprint.ts";
import { wishOf } from "../desired/wish.ts";
import type { Call } from "../plan/calls.ts";
import type { Change } from "../plan/change.ts";
import { differencesOf, recentOf } from "../plan/decide/index.ts";
import type { Kept } from "../plan/decide/index.ts";

/** Owns the pipeline of a file. What is known of it stays, but for what is told anew; undefined forgets. */
export function own(inventory: Inventory, { pipeline_id, file, directives }: DesiredPipeline, known: Known = {}): void {
  const { terminated: _terminated, ending: _ending, ...before } = inventory.state.pipelines[pipeline_id] ?? {};
  const { prune, suspend, state } = directives;
  const terminated = state === "Terminated" && ({ terminated: true } as const);
  const facts = Object.entries({ ...before, ...terminated, ...known }).filter(([, fact]) => fact !== undefined);
  inventory.own(pipeline_id, { ...Object.fromEntries(facts), file, prune, suspend });
}

type Known = { [Fact in keyof InventoryEntry]?: InventoryEntry[Fact] | undefined };

/** The pipeline is what its file says, of this revision: what differs from now on is a drift, or another file. */
export function inSync(inventory: Inventory, desired: DesiredPipeline, revision: string, present: () => Kept): void {
  const entry = inventory.state.pipelines[desired.pipeline_id];
  const asked = fingerprintOf(desired);
  const isKnown = entry?.applied === asked && entry.changing !== true && entry.left !== undefined;
  const left = isKnown ? entry.left : fingerprint(present());
  const known = { revision, applied: asked, left, changing: undefined, fight: undefined };
  own(inventory, desired, { ...known, ...anew(entry, asked) });
}

/** Owns what a change is about to be made of, and notes what the plan found out about it. */
export function begin(inventory: Inventory, desired: DesiredPipeline, change: Change, now: number): void {
  const { cause, drift } = change;
  const calls: readonly Call[] = change.calls;
  const entry = inventory.state.pipelines[desired.pipeline_id];
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

/** A change was carried out. It may have made less than all that the file says, where that is refused. */
export function applied(
  inventory: Inventory,
  desired: DesiredPipeline,
  change: Change,
  revision: string,
  now: Kept | undefined,
): void {
  if (now === undefined || differencesOf(desired, now).length > 0) return;
  inSync(inventory, desired, revision, () => now);
  if (change.cause === "Drifted") putBack(inventory, desired, change, Date.now());
}

/** Another file begins anew: what it asks for was not fought for yet. */
function anew(entry: InventoryEntry | undefined, asked: string): Partial<typeof settled> {
  return entry?.applied === undefined || entry.applied === asked ? {} : settled;
}

/** A drift was put back. */
function putBack(inventory: Inventory, desired: DesiredPipeline, { drift }: Change, now: number): void {
  if (drift === undefined) return;
  const before = recentOf(inventory.state.pipelines[desired.pipeline_id]?.corrections, now);
  const correction: Correction = { at: new Date(now).toISOString(), fields: bounded(drift.fields) };
  own(inventory, desired, { corrections: [...before, correction].slice(-mostCorrections) });
}

/** Nothing is held against a pipeline any more. */
const settled = { corrections: undefined, fight: undefined };

/** More is not kept. */
const mostCorrections = 20;
const bounded = (fields: readonly string[]): string[] => fields.slice(0, 20);

/** What a try is about: another one begins its back-off anew. */
export function contentOf({ calls }: Change, desired: DesiredPipeline | undefined): string {
  return `${calls.at(-1)} ${desired === undefined ? "" : wishOf(desired)}`;
}
