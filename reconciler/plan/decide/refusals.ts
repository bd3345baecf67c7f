import { hasConsumerGroup } from "../../../engine/language.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import type { Change } from "../change.ts";
import type { EndTrigger, Reason } from "../reason.ts";
import { about, noOp, refusal } from "./changes.ts";
import { fromCreated, recreatedRows } from "./creation.ts";
import { differences, fieldsOf } from "./differences.ts";
import type { Difference } from "./differences.ts";
import { endOf, unwrittenOf } from "./ending.ts";
import { positionAfter, topicsAnew } from "./kafka.ts";
import { lossCodesOf, lossesOf } from "./losses.ts";

/** An immutable field changed, and the file does not set `x-sluice.recreate`. */
export function immutable(
  desired: DesiredPipeline,
  present: ActualPipeline,
  found: Difference[],
  { path, from, to, at }: Difference,
): Change {
  const reads = hasConsumerGroup(desired.config);
  // Without figures, which would make a new refusal in each plan.
  const anew = topicsAnew(desired, present);
  const facts = {
    path,
    from,
    to,
    reads,
    recreation_loses: lossCodesOf(desired, present),
    ...(anew !== undefined && { anew }),
  };
  return refusal(desired, "ImmutableField", { code: "ImmutableField", facts }, found, at);
}

/**
 * A refused change that is carried out, as `x-sluice.recreate` asks for: the pipeline is deleted as one whose file was
 * removed, except that its dead letters are dropped, and is then created. Accepted events are never lost; the reason
 * says what else is.
 *
 * The new pipeline depends on the file alone: an immutable field that the file leaves out has its default, whether the
 * creation follows the deletion at once or after a crash.
 */
export function recreation(desired: DesiredPipeline, present: ActualPipeline, { path, at }: Difference): Change {
  const found = differences(present, desired);
  const trigger: EndTrigger = { ending: "recreate", path };
  const step = endOf(present, "recreate");
  if (step.kind === "waits") {
    const why: Reason = { code: "EndWaits", facts: { trigger, wait: step.wait } };
    return { ...noOp(desired, "InTransition", why), ...fieldsOf(found) };
  }
  if (step.kind === "hindered") {
    const { hindrance } = step;
    return refusal(desired, hindrance.cause, { code: "EndHindered", facts: { trigger, hindrance } }, found, at);
  }
  const position = positionAfter(desired, present);
  const losses = lossesOf(desired, present);
  const cautions = recreatedRows(desired, present);
  const facts = {
    path,
    writes: unwrittenOf(present),
    losses,
    ...(position !== undefined && { position }),
    isDrifted: false,
  };
  return {
    ...about(desired),
    ...fieldsOf(found),
    kind: "recreate",
    cause: "Changed",
    why: { code: "Recreated", facts },
    ...(cautions.length > 0 && { cautions }),
    calls: [...step.calls, "create", ...fromCreated(desired.directives.state)],
    loses: { dead_letters: present.dead_letters },
  };
}
