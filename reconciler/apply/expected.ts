import { isPushed } from "../../engine/language.ts";
import type { ActualPipeline } from "../actual/state.ts";
import type { Action } from "../plan/change.ts";
import type { Expected, Operation } from "./operation.ts";

/** Milliseconds: "about a second", as a plan says of a pipeline that drains. */
const pause = 1_000;

/** The figures of a plan at the moment in which its change begins. */
export function expectedOf({ calls, irreversible = [] }: Action, present: ActualPipeline | undefined): Expected {
  const isStopped = present?.status === "Running" && calls.includes("stop");
  const letters = irreversible.map(({ code, facts }) => (code === "DeadLetters" ? facts.count : 0));
  return {
    ...(isStopped && drainOf(present)),
    ...(isStopped && calls.includes("resume") && { pause_ms: pause }),
    dead_letters_dropped: letters.reduce((sum, count) => sum + count, 0),
  };
}

/** A stop does not wait for a pause. What a pipeline has read of a log and not written is not known. */
function drainOf({ config, held, paused }: ActualPipeline): { drained?: number } {
  if (!isPushed(config) || held === "unknown") return {};
  return { drained: paused === undefined ? held : 0 };
}

/** Dead letters that a change has dropped, by what the pipeline held before; `after` is absent where it is deleted. */
export function lettersDroppedBy({ plan, made }: Operation, after: ActualPipeline | undefined): number {
  if (!made.some(({ call }) => call === "delete")) return 0;
  return Math.max(0, (plan.held?.dead_letters ?? 0) - (after?.dead_letters ?? 0));
}
