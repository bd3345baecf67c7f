import type { ActualPipeline, ActualState, Interrupted } from "../../actual/state.ts";
import { renewing, route } from "../calls.ts";
import type { Call } from "../calls.ts";
import { doesSomething } from "../change.ts";
import type { Cause, Change } from "../change.ts";
import { fromCreated } from "./creation.ts";

/**
 * The change, which also applies new values of the secrets of the pipeline. If a secret is missing, the pipeline runs
 * on with the old value, and the change says so.
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

/**
 * Causes for which an interrupted change needs no repair: a transition that ends, or a pipeline in its wanted state.
 */
const settled: ReadonlySet<Cause> = new Set<Cause>(["InSync", "InTransition", "InProgress", "NotOwned"]);

/**
 * Repairs an interrupted change where `change` makes no call: a pipeline that it stopped runs again with its old
 * config, and one that it deleted to recreate it is created. The next plan gives the reason of `change` again.
 */
export function withInterrupted(change: Change, { pipelines, busy, interrupted }: ActualState): Change {
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
