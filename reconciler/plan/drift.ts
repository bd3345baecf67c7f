import type { Correction, InventoryEntry } from "../actual/inventory.ts";
import type { ActualPipeline, ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { fingerprint, fingerprintOf } from "../desired/fingerprint.ts";
import type { Change } from "./change.ts";
import { toldOf } from "./differences.ts";
import type { Difference, FieldChange } from "./differences.ts";
import { idle } from "./idle.ts";
import { counted } from "./wording.ts";

/** What is done about a drift: `wait` puts it back later, `fight` no more. */
export type Stance = "correct" | "wait" | "report" | "fight";

/** What was changed behind the file's back. */
export interface Drift {
  /** Paths of the fields, `x-sluice.state` where it was stopped, started or deleted. */
  fields: string[];
  stance: Stance;
  /** Corrections of the same fields within the last hour; of a fight, those that it took. */
  times: number;
  /** When it is corrected, where that waits: milliseconds since the epoch. */
  next?: number;
}

/** Milliseconds: how far back corrections count, and the first pause between two of them, which doubles each time. */
const window = 3_600_000;
const firstPause = 30_000;
/** Corrections of one field within that time, after which somebody is taken to fight for it. */
const corrections = 5;

/** A state that somebody else has brought a pipeline into; undefined where it is as wished, or no person's doing. */
export function strayState(desired: DesiredPipeline, { status, intake }: ActualPipeline): FieldChange | undefined {
  const wish = desired.directives.state;
  const isTold = status === "Running" || status === "Stopped" || status === "Terminated";
  // One whose end has begun is on our way, not on anybody else's.
  if (!isTold || status === wish || intake === "closed") return undefined;
  return { path: "x-sluice.state", effect: "none", from: status, to: wish };
}

/**
 * Whether what differs was changed in the engine, and not in the file. A secret in plain text is left out of what is
 * remembered of a file, so that one that differs may have been changed in either.
 */
export function isDrift(desired: DesiredPipeline, entry: InventoryEntry | undefined, found: Difference[]): boolean {
  if (entry === undefined || entry.changing === true || entry.applied !== fingerprintOf(desired)) return false;
  return !found.some(({ isHidden }) => isHidden === true);
}

/** Says of a change of the file that the engine was changed as well, where that can be told. */
export function alsoDrifted(present: ActualPipeline, entry: InventoryEntry | undefined): string {
  if (entry?.left === undefined || entry.changing === true || entry.left === fingerprint(present)) return "";
  return "; it was also changed in the engine meanwhile, which this undoes";
}

/** The drift of a pipeline that is to be put back, or why it is not yet, or no more. */
export function driftOf(fields: string[], entry: InventoryEntry | undefined, { now }: ActualState): Drift {
  if (entry?.fight !== undefined) return { fields, stance: "fight", times: entry.fight.times };
  const recent = recentOf(entry?.corrections, now).filter((one) => one.fields.some((path) => fields.includes(path)));
  const times = Math.max(0, ...fields.map((path) => recent.filter((one) => one.fields.includes(path)).length));
  if (times >= corrections) return { fields, stance: "fight", times };
  const last = Math.max(0, ...recent.map(({ at }) => Date.parse(at)));
  const next = times === 0 ? 0 : last + firstPause * 2 ** (times - 1);
  return next > now ? { fields, stance: "wait", times, next } : { fields, stance: "correct", times };
}

/** Corrections that still count. Where the clock was put back, those of its future do not. */
export function recentOf(all: readonly Correction[] = [], now: number): Correction[] {
  return all.filter(({ at }) => Date.parse(at) > now - window && Date.parse(at) <= now);
}

/** What a drift says of itself: the fields that differ, and the state. */
export function driftedFields(desired: DesiredPipeline, present: ActualPipeline, found: Difference[]): FieldChange[] {
  const stray = strayState(desired, present);
  return [...toldOf(found).fields, ...(stray === undefined ? [] : [stray])];
}

/** The change that puts a pipeline back, or says why that waits or is over. `change` is what would put it back. */
export function corrected(desired: DesiredPipeline, change: Change, drift: Drift): Change {
  const { stance, times, next } = drift;
  if (change.cause === "InTransition") return change;
  // What cannot be put back is refused for its own reason.
  if (change.calls.length === 0) return { ...change, drift: { ...drift, stance: "report" } };
  const told = { ...change, drift, reason: `it drifted from its file: ${change.reason}` };
  if (stance === "correct") return { ...told, cause: "Drifted" };
  const before = `${told.reason}; it was put back ${counted(times, "time")} within an hour`;
  const { fields, effect } = change;
  if (stance === "wait") {
    const reason = `${before}, and is put back again at ${new Date(next ?? 0).toISOString()}`;
    return { ...idle(desired, "Drifted", reason), fields, effect, drift };
  }
  const reason =
    `${before}: somebody else keeps changing it, and it is left as it is. Ways out: find out who does; or make the file ` +
    `say what is meant; or set x-sluice.drift: report; or suspend it for a turn, after which it is put back again`;
  return { ...idle(desired, "DriftFight", reason), kind: "refuse", fields, effect, drift };
}

/** A drift that its file leaves as it is. */
export function leftAsItIs(desired: DesiredPipeline, fields: FieldChange[], what: string): Change {
  const paths = fields.map(({ path }) => path);
  if (desired.directives.drift === "ignore")
    return idle(desired, "DriftIgnored", `${what}, which x-sluice.drift: ignore lets be`);
  const drift: Drift = { fields: paths, stance: "report", times: 0 };
  const reason = `it drifted from its file: ${what}, which x-sluice.drift: report leaves as it is`;
  return { ...idle(desired, "Drifted", reason), fields, drift };
}
