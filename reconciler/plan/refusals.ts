import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Cause, Change } from "./change.ts";
import { summaryOf, toldOf } from "./differences.ts";
import type { Difference } from "./differences.ts";
import { idle } from "./idle.ts";
import { readsFromKafka } from "./reading.ts";
import { wayByRecreation } from "./losses.ts";

/** A field changed that cannot, and nobody said that the pipeline may be made anew for it. */
export function immutable(
  desired: DesiredPipeline,
  present: ActualPipeline,
  found: Difference[],
  refused: Difference,
): Change {
  const another = readsFromKafka(desired.config) ? ", which reads its topic in a consumer group of its own" : "";
  const values = `${JSON.stringify(refused.from)} to ${JSON.stringify(refused.to)}`;
  const reason =
    `${refused.path} cannot change after creation, and was changed from ${values}: the pipeline runs on unchanged. ` +
    `Ways out: put the old value back; or give the new config to a new pipeline with another pipeline_id${another}; ` +
    `or ${wayByRecreation(desired, present)}`;
  return refusal(desired, "ImmutableField", reason, found, refused);
}

/** Somebody else made it, otherwise than the file says. */
export function notAdopted(desired: DesiredPipeline, found: Difference[]): Change {
  const reason =
    `a pipeline with this pipeline_id is there already and was not made from this source; ${summaryOf(found)}: it runs on ` +
    `unchanged. Ways out: make the file say what runs, and change it in a later commit; or choose another pipeline_id`;
  return refusal(desired, "NotAdopted", reason, found, found[0]);
}

/** A change that waits for a person; its place is the field that is refused. */
export function refusal(
  desired: DesiredPipeline,
  cause: Cause,
  reason: string,
  found: Difference[],
  at?: Difference,
): Change {
  const change = { kind: "refuse", ...desired.place(at?.at ?? []), ...toldOf(found) } as const;
  return { ...idle(desired, cause, reason), ...change };
}
