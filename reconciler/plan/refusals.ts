import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Cause, Change } from "./change.ts";
import { toldOf } from "./differences.ts";
import type { Difference, FieldChange } from "./differences.ts";
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

/** Somebody else made it, otherwise than the file says. `change` is what would make it so. */
export function notAdopted(
  desired: DesiredPipeline,
  change: Change,
  fields: FieldChange[],
  found: Difference[],
): Change {
  const [differs] = fields;
  const others = fields.length > 1 ? ` and ${fields.length - 1} more` : "";
  const { calls, effect } = change;
  const way = calls.length === 0 ? "" : ` by ${calls.join(", ")}${effect === "none" ? "" : ` (${effect})`}`;
  const reason =
    `a pipeline with this pipeline_id is there already and was not made from this source; ${differs?.path}${others} ` +
    `${fields.length > 1 ? "differ" : "differs"}: it runs on unchanged. Ways out: set x-sluice.adopt: true, which makes ` +
    `it what the file says${way}; or make the file say what runs, which takes it over as it is; or choose another ` +
    `pipeline_id`;
  return { ...refusal(desired, "NotAdopted", reason, found, found[0]), fields };
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
