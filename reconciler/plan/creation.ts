import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Call, WishedState } from "./calls.ts";
import type { Change } from "./change.ts";
import { idle } from "./idle.ts";
import { readAgain } from "./read-again.ts";
import { beginning } from "./reading.ts";

/** A pipeline that is not there yet. */
export function creation(desired: DesiredPipeline, actual: ActualState, described: ReadonlySet<string>): Change {
  const { state } = desired.directives;
  const again = readAgain(desired, actual, described);
  const notes = again.filter(({ isSameTable }) => !isSameTable).map(({ text }) => `; ${text}`);
  const warnings = again.filter(({ isSameTable }) => isSameTable).map(({ text }) => text);
  const wish = state === "Running" ? "" : `, and x-sluice.state is ${state}`;
  const reason = `it is new${wish}${beginning(desired)}${notes.join("")}`;
  const calls: Call[] = ["create", ...fromCreated(desired)];
  return { ...idle(desired, "New", reason), kind: "create", calls, ...(warnings.length > 0 && { warnings }) };
}

/** The way to the state wished for after a creation, which starts a pipeline. */
export function fromCreated({ directives: { state } }: { directives: { state: WishedState } }): Call[] {
  return state === "Running" ? [] : [state === "Stopped" ? "stop" : "terminate"];
}
