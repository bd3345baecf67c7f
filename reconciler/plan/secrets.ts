import type { ActualState } from "../actual/state.ts";
import type { Call } from "./calls.ts";
import type { Change } from "./change.ts";
import { listed } from "./wording.ts";

/** Calls after which a pipeline does not run with the secrets that it ran with. */
const renewing: ReadonlySet<Call> = new Set<Call>(["configure", "resume", "create", "stop", "terminate", "delete"]);

/**
 * A change that also takes the new values of the secrets which the pipeline uses. One whose secret is gone runs on with the
 * value that it has, and says so.
 */
export function withSecrets(change: Change, { pipelines }: ActualState): Change {
  const { pipeline_id, cause, calls } = change;
  const present = pipelines.get(pipeline_id);
  if (present?.secrets === undefined || present.status === "Terminated") return change;
  const { changed, missing } = present.secrets;
  const [gone] = missing;
  const told: Change = gone === undefined ? change : { ...change, missing_secret: gone };
  const isEdited = calls.length > 0 && !calls.some((call) => renewing.has(call));
  if (changed.length === 0 || missing.length > 0 || (cause !== "InSync" && !isEdited)) return told;
  const what = `${listed([...new Set(changed)])} ${changed.length === 1 ? "has another value" : "have other values"} now`;
  const how = "it starts anew with that, and sends what is under way once more with the same tokens";
  if (isEdited)
    return { ...told, effect: "restart", reason: `${change.reason}; ${what}: ${how}`, calls: [...calls, "configure"] };
  const renewal = { kind: "update", cause: "SecretChanged", effect: "restart", calls: ["configure"] } as const;
  return { ...told, ...renewal, calls: [...renewal.calls], reason: `${what}: ${how}` };
}
