import type { ActualPipeline, ActualState, Interrupted } from "../actual/state.ts";
import { fromCreated } from "./creation.ts";
import { route } from "./calls.ts";
import type { Cause, Change } from "./change.ts";

/** What ends by itself, and what is as it should be: nothing has to be put back for these. */
const settled: ReadonlySet<Cause> = new Set<Cause>(["InSync", "InTransition", "InProgress", "NotOwned"]);

/**
 * Instead of a change that leaves alone what an earlier one has begun: a pipeline that was stopped for it runs again as it
 * was, and one that was deleted to be made anew is made. The next plan says again why nothing else is done.
 */
export function putBack(change: Change, { pipelines, busy, interrupted }: ActualState): Change {
  const { pipeline_id, calls, cause } = change;
  const begun = interrupted?.get(pipeline_id);
  if (begun === undefined || busy.has(pipeline_id) || calls.length > 0 || settled.has(cause)) return change;
  const present = pipelines.get(pipeline_id);
  return present === undefined ? madeAfterAll(change, begun) : runningAgain(change, present, begun);
}

function runningAgain(change: Change, { status, intake }: ActualPipeline, { isOwed, revision }: Interrupted): Change {
  const isShut = intake === "closed";
  const hinders = change.cause === "EventsHeld" || change.cause === "GroupBehind" || change.cause === "DeadLettersHeld";
  if (!isOwed || hinders) return change;
  const way = route({ status, isShut }, "Running", false, []);
  if (way === "wait" || way.length === 0) return change;
  const reason = `it goes on as it was: what ${revision} had stopped it for is not asked for any more; ${change.reason}`;
  return { ...change, kind: "resume", cause: "Interrupted", effect: "none", reason, calls: way };
}

function madeAfterAll(change: Change, { successor, revision }: Interrupted): Change {
  if (successor === undefined || change.cause === "DependencyNotReady") return change;
  if (successor === "lost") {
    const why = "and what it was to become is not known, as a secret stands in its file as plain text: mend the file";
    return { ...change, reason: `${change.reason}; ${revision} had deleted it to make it anew, ${why}` };
  }
  const reason = `it is made as ${revision} says, which had deleted it to make it anew; ${change.reason}`;
  const made = ["create", ...fromCreated({ directives: { state: successor } })] as const;
  return { ...change, kind: "create", cause: "Interrupted", effect: "none", reason, calls: [...made] };
}
