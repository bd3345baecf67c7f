import type { Correction, InventoryEntry } from "../../actual/inventory.ts";
import type { ActualPipeline, ActualState } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { fingerprint, fingerprintOf } from "../../desired/fingerprint.ts";
import type { Action, Change, Drift, FieldChange } from "../change.ts";
import type { Reason } from "../reason.ts";
import { noOp } from "./changes.ts";
import { fieldsOf } from "./differences.ts";
import type { Difference } from "./differences.ts";

/** Milliseconds: how far back corrections count, and the first pause between two of them, which doubles each time. */
const window = 3_600_000;
const firstPause = 30_000;
/** Corrections of one field within that time, after which another writer is assumed to keep changing it. */
const corrections = 5;

/** The state into which a person brought a pipeline through the engine; undefined where there is none. */
export function strayState(desired: DesiredPipeline, { status, intake }: ActualPipeline): FieldChange | undefined {
  const wish = desired.directives.state;
  const isAskedFor = status === "Running" || status === "Stopped" || status === "Terminated";
  // An own plan has stopped a pipeline whose deletion has begun.
  if (!isAskedFor || status === wish || intake === "closed") return undefined;
  return { path: "x-sluice.state", effect: "none", events: "same", from: status, to: wish };
}

/**
 * Whether the differences come from the engine, and not from the file. The stored fingerprint of a file leaves out
 * plain-text secrets, so a secret that differs may have been changed in either.
 */
export function isDrift(desired: DesiredPipeline, entry: InventoryEntry | undefined, found: Difference[]): boolean {
  if (entry === undefined || entry.changing === true || entry.applied !== fingerprintOf(desired)) return false;
  return !found.some(({ isHidden }) => isHidden === true);
}

/** Whether the engine was changed since the reconciler left it, where that is known. */
export function isTouched(present: ActualPipeline, entry: InventoryEntry | undefined): boolean {
  return entry?.left !== undefined && entry.changing !== true && entry.left !== fingerprint(present);
}

/** The drift of a pipeline, and whether it is corrected now, later, or no more. */
export function driftOf(fields: string[], entry: InventoryEntry | undefined, { now }: ActualState): Drift {
  if (entry?.fight !== undefined) return { fields, stance: "fight", times: entry.fight.times };
  const recent = recentOf(entry?.corrections, now).filter((one) => one.fields.some((path) => fields.includes(path)));
  const times = Math.max(0, ...fields.map((path) => recent.filter((one) => one.fields.includes(path)).length));
  if (times >= corrections) return { fields, stance: "fight", times };
  const last = Math.max(0, ...recent.map(({ at }) => Date.parse(at)));
  const next = times === 0 ? 0 : last + firstPause * 2 ** (times - 1);
  return next > now ? { fields, stance: "wait", times, next } : { fields, stance: "correct", times };
}

/** Corrections that still count. After the clock was set back, those in the future do not. */
export function recentOf(all: readonly Correction[] = [], now: number): Correction[] {
  return all.filter(({ at }) => Date.parse(at) > now - window && Date.parse(at) <= now);
}

/** The fields of a drift: those that differ, and the state. */
export function driftedFields(desired: DesiredPipeline, present: ActualPipeline, found: Difference[]): FieldChange[] {
  const stray = strayState(desired, present);
  return [...fieldsOf(found).fields, ...(stray === undefined ? [] : [stray])];
}

/** The change that corrects a drift, or the reason why that waits or is over. `change` is the correction. */
export function corrected(desired: DesiredPipeline, change: Change, drift: Drift): Change {
  if (change.cause === "InTransition") return change;
  // A drift that cannot be corrected is refused for its own reason.
  if (change.kind === "no-op" || change.kind === "refuse") return { ...change, drift: { ...drift, stance: "report" } };
  if (drift.stance === "correct") return puttingBack(change, drift);
  const { fields, effect, events, why: of } = change;
  const { times, next = 0 } = drift;
  const left = { fields, effect, events, drift };
  if (drift.stance === "wait")
    return { ...noOp(desired, "Drifted", { code: "DriftWaits", facts: { of, times, next } }), ...left };
  const why: Reason = { code: "DriftFight", facts: { of, times } };
  return { ...noOp(desired, "Drifted", why), ...left, kind: "refuse", cause: "DriftFight" };
}

function puttingBack(change: Action, drift: Drift): Action {
  return { ...change, cause: "Drifted", drift, why: { code: "Drifted", facts: { of: change.why } } };
}

/** A drift that its file accepts. `of` is its subject. */
export function leftAsItIs(desired: DesiredPipeline, fields: FieldChange[], of: Reason): Change {
  const paths = fields.map(({ path }) => path);
  if (desired.directives.drift === "ignore")
    return noOp(desired, "DriftIgnored", { code: "DriftLeft", facts: { of, mode: "ignore" } });
  const drift: Drift = { fields: paths, stance: "report", times: 0 };
  return { ...noOp(desired, "Drifted", { code: "DriftLeft", facts: { of, mode: "report" } }), fields, drift };
}
