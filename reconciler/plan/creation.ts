import type { InventoryEntry } from "../actual/inventory.ts";
import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { fingerprintOf } from "../desired/fingerprint.ts";
import type { Call, WishedState } from "./calls.ts";
import type { Change } from "./change.ts";
import type { FieldChange } from "./differences.ts";
import { corrected, driftOf, leftAsItIs } from "./drift.ts";
import { idle } from "./idle.ts";
import { lostInEngine } from "./losses.ts";
import { readAgain } from "./read-again.ts";
import { beginning } from "./reading.ts";

/** A pipeline that is not there yet. */
export function creation(
  desired: DesiredPipeline,
  actual: ActualState,
  described: ReadonlySet<string>,
  head = "it is new",
): Change {
  const { state } = desired.directives;
  const again = readAgain(desired, actual, described);
  const notes = again.filter(({ isSameTable }) => !isSameTable).map(({ text }) => `; ${text}`);
  const warnings = again.filter(({ isSameTable }) => isSameTable).map(({ text }) => text);
  const wish = state === "Running" ? "" : `, and x-sluice.state is ${state}`;
  const reason = `${head}${wish}${beginning(desired)}${notes.join("")}`;
  const calls: Call[] = ["create", ...fromCreated(desired)];
  return { ...idle(desired, "New", reason), kind: "create", calls, ...(warnings.length > 0 && { warnings }) };
}

/** One that was there, and that somebody deleted: a drift, unless its file asks for something else by now. */
export function lost(
  desired: DesiredPipeline,
  actual: ActualState,
  described: ReadonlySet<string>,
  entry: InventoryEntry,
): Change {
  const gone = `it was deleted in the engine, ${lostInEngine(desired)}`;
  const again = creation(desired, actual, described, `${gone}; it is made again`);
  if (entry.applied !== fingerprintOf(desired)) return again;
  const field: FieldChange = { path: "x-sluice.state", effect: "forget", to: desired.directives.state };
  if (desired.directives.drift !== "correct") return leftAsItIs(desired, [field], gone);
  return corrected(desired, { ...again, fields: [field], effect: "forget" }, driftOf([field.path], entry, actual));
}

/** The way to the state wished for after a creation, which starts a pipeline. */
export function fromCreated({ directives: { state } }: { directives: { state: WishedState } }): Call[] {
  return state === "Running" ? [] : [state === "Stopped" ? "stop" : "terminate"];
}
