import type { ActualPipeline, ActualState, Interrupted } from "../../actual/state.ts";
import { renewing, route } from "../calls.ts";
import type { Call } from "../calls.ts";
import { doesSomething } from "../change.ts";
import type { Cause, Change } from "../change.ts";
import { fromCreated } from "./creation.ts";

/**
 * A change that also takes the new values of the secrets which the pipeline uses. One whose secret is gone runs on with the
 * value that it has, and says so.
 */
export function withSecrets(change: Change, { pipelines }: ActualState): Change {
  const { pipeline_id, cause, calls, why: of } = change;
  const present = pipelines.get(pipeline_id);
  if (present?.secrets === undefined || present.status === "Terminated") return change;
  const { changed, missing } = present.secrets;
  const [gone] = missing;
  const said: Change = gone === undefined ? change : { ...change, missing_secret: gone };
  if (changed.length === 0 || missing.length > 0) return said;
  const secrets = [...new Set(changed)];
  if (doesSomething(said)) {
    if (calls.length === 0 || calls.some((call) => renewing.has(call))) return said;
    const why = { code: "SecretsToo", facts: { of, secrets } } as const;
    return { ...said, effect: "restart", why, calls: [...calls, "configure"] };
  }
  if (cause !== "InSync") return said;
  const why = { code: "SecretChanged", facts: { secrets } } as const;
  return { ...said, kind: "update", cause: "SecretChanged", effect: "restart", why, calls: ["configure"] };
}

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
  const calls = route({ status, isShut }, "Running", false, []);
  if (calls === "wait" || calls.length === 0) return change;
  const why = { code: "RunsAgain", facts: { of: change.why, revision } } as const;
  return { ...change, kind: "resume", cause: "Interrupted", effect: "none", why, calls };
}

function madeAfterAll(change: Change, { successor, revision }: Interrupted): Change {
  if (successor === undefined || change.cause === "DependencyNotReady") return change;
  const facts = { of: change.why, revision };
  if (successor === "lost") return { ...change, why: { code: "SuccessorLost", facts } };
  const why = { code: "RecreationFinished", facts } as const;
  const calls: Call[] = ["create", ...fromCreated(successor)];
  return { ...change, kind: "create", cause: "Interrupted", effect: "none", why, calls };
}
