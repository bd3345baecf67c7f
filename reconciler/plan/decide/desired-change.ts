import type { InventoryEntry } from "../../actual/inventory.ts";
import type { ActualPipeline, ActualState, Underway } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { wishOf } from "../../desired/fingerprint.ts";
import { route } from "../calls.ts";
import { doesSomething } from "../change.ts";
import type { Change, Refusal } from "../change.ts";
import { levelOf } from "../level.ts";
import { about, inPlace, noOp, refusal } from "./changes.ts";
import { creation, lost } from "./creation.ts";
import { differencesOf } from "./differences.ts";
import type { Difference } from "./differences.ts";
import { corrected, driftedFields, driftOf, isDrift, isTouched, leftAsItIs, strayState } from "./drift.ts";
import { edition } from "./edition.ts";
import { unmovedChange, whereMoved } from "./moved.ts";
import { immutable, recreation } from "./refusals.ts";

/** The change of a pipeline with a valid file. `described` are all pipelines with a valid file. */
export function desiredChange(desired: DesiredPipeline, actual: ActualState, described: ReadonlySet<string>): Change {
  const { pipeline_id, directives } = desired;
  if (directives.suspend) {
    const waiting = desiredChange({ ...desired, directives: { ...directives, suspend: false } }, actual, described);
    return suspended(desired, waiting);
  }
  const present = actual.pipelines.get(pipeline_id);
  const entry = Object.hasOwn(actual.owned, pipeline_id) ? actual.owned[pipeline_id] : undefined;
  const underway = actual.busy.get(pipeline_id);
  if (underway !== undefined) return meanwhile(desired, present, entry, underway);
  if (present !== undefined) return changeOf(desired, present, entry, actual);
  return entry?.applied === undefined || entry.changing === true
    ? creation(desired, actual, described)
    : lost(desired, actual, described, entry);
}

/** Nothing is done. `waiting` is what would be. */
function suspended(desired: DesiredPipeline, waiting: Change): Change {
  if (waiting.kind === "no-op") return noOp(desired, "Suspended", { code: "SuspendedByFile", facts: {} });
  const { fields, effect, events, why: waits } = waiting;
  return { ...noOp(desired, "Suspended", { code: "SuspendedByFile", facts: { waits } }), fields, effect, events };
}

/**
 * A change under way is completed, unless it still waits for a stop and the file has changed since. If it is a deletion
 * and the new file is refused, the pipeline is resumed instead.
 */
function meanwhile(
  desired: DesiredPipeline,
  present: ActualPipeline | undefined,
  entry: InventoryEntry | undefined,
  { wish, isStopping, isEnding }: Underway,
): Change {
  const inProgress = noOp(desired, "InProgress", { code: "InProgress", facts: {} });
  if (present === undefined || !isStopping || wish === wishOf(desired)) return inProgress;
  const stopped: ActualPipeline = { ...present, status: "Stopped", ...(isEnding && { intake: "closed" }) };
  const found = whereMoved(differencesOf(desired, stopped), stopped);
  const next = entry === undefined ? adoption(desired, stopped, found) : planned(desired, stopped, found);
  const isSpared = isEnding === true && next.kind === "refuse";
  return inPlace(isSpared ? goingOn(desired, next) : next) ?? inProgress;
}

/** Replaces a deletion that is no longer wanted; the next plan says what is refused. */
function goingOn(desired: DesiredPipeline, { why: of }: Refusal): Change {
  const way = route({ status: "Stopped", isShut: true }, desired.directives.state, false, []);
  const calls = way === "wait" ? [] : way;
  return {
    ...about(desired),
    kind: "resume",
    cause: "StateWished",
    why: { code: "EndTakenBack", facts: { of } },
    calls,
  };
}

function changeOf(
  desired: DesiredPipeline,
  present: ActualPipeline,
  entry: InventoryEntry | undefined,
  actual: ActualState,
): Change {
  const found = whereMoved(differencesOf(desired, present), present);
  if (entry === undefined) return adoption(desired, present, found);
  const change = planned(desired, present, found);
  if (!isDrift(desired, entry, found)) {
    const isEdit = found.length > 0 && doesSomething(change);
    return isEdit && isTouched(present, entry) ? alsoDrifted(change) : change;
  }
  const fields = driftedFields(desired, present, found);
  if (fields.length === 0) return change;
  if (desired.directives.drift === "correct") {
    const paths = fields.map(({ path }) => path);
    return corrected(desired, { ...change, fields }, driftOf(paths, entry, actual));
  }
  // A change that no person made, such as a failure, is not a drift.
  const rest = planned(desired, present, []);
  const isStray = strayState(desired, present) !== undefined;
  if (!isStray && rest.cause !== "InSync") return rest;
  const { status } = present;
  return found.length === 0
    ? leftAsItIs(desired, fields, { code: "StatusDiffers", facts: { status } })
    : leftAsItIs(desired, fields, { code: "FieldsDiffer", facts: { paths: found.map(({ path }) => path) } });
}

/** A change of the file also corrects a drift. */
function alsoDrifted(change: Change): Change {
  const { why } = change;
  if (why.code === "Edited") return { ...change, why: { ...why, facts: { ...why.facts, isDrifted: true } } };
  if (why.code === "Recreated") return { ...change, why: { ...why, facts: { ...why.facts, isDrifted: true } } };
  return change;
}

/** The change that makes a pipeline match its file, whatever caused the difference. */
function planned(desired: DesiredPipeline, present: ActualPipeline, found: Difference[]): Change {
  const refused = found.find(({ effect }) => effect === "refuse");
  if (refused === undefined) return edition(desired, present, found);
  const { moved_from: from } = present;
  if (from !== undefined && desired.directives.recreate)
    return unmovedChange(desired, { is: "recreated", from: [from], path: refused.path }, found);
  return desired.directives.recreate
    ? recreation(desired, present, refused)
    : immutable(desired, present, found, refused);
}

/**
 * The change of a pipeline that was not created from this source. One that matches its file is adopted as it runs; one
 * that differs is adopted only with `x-sluice.adopt`.
 */
function adoption(desired: DesiredPipeline, present: ActualPipeline, found: Difference[]): Change {
  const change = planned(desired, present, found);
  const fields = driftedFields(desired, present, found);
  if (fields.length === 0) return change;
  if (!desired.directives.adopt) return notAdopted(desired, present, change, fields, found);
  if (!doesSomething(change)) return change;
  return { ...change, cause: "Adopted", why: { code: "Adopted", facts: { of: change.why } }, fields };
}

/** `change` is what would make it so. */
function notAdopted(
  desired: DesiredPipeline,
  present: ActualPipeline,
  change: Change,
  fields: Change["fields"],
  found: Difference[],
): Change {
  const { moved_from } = present;
  const facts = {
    paths: fields.map(({ path }) => path),
    calls: change.calls,
    level: levelOf(change),
    ...(moved_from !== undefined && { moved_from }),
  };
  return { ...refusal(desired, "NotAdopted", { code: "NotAdopted", facts }, found), fields };
}
