import type { InventoryEntry } from "../actual/inventory.ts";
import type { ActualPipeline, ActualState, Underway } from "../actual/state.ts";
import type { DesiredPipeline, Directives } from "../desired/desired-state.ts";
import { wishOf } from "../desired/fingerprint.ts";
import { type Call, route } from "./calls.ts";
import type { Cause, Change, ChangeKind } from "./change.ts";
import { adoption } from "./adoption.ts";
import { creation, lost } from "./creation.ts";
import { type Difference, summaryOf, toldOf } from "./differences.ts";
import { alsoDrifted, corrected, driftOf, driftedFields, isDrift, leftAsItIs, strayState } from "./drift.ts";
import { writtenFirst } from "./ending.ts";
import { idle } from "./idle.ts";
import { differencesOf } from "./known-differences.ts";
import { leftInTopic, readsFromKafka, rereading } from "./reading.ts";
import { recreation } from "./recreation.ts";
import { immutable } from "./refusals.ts";
import { inPlace } from "./takeover.ts";

/** What is to be done for a pipeline that a valid file describes. `described` are all that files describe. */
export function desiredChange(desired: DesiredPipeline, actual: ActualState, described: ReadonlySet<string>): Change {
  const { pipeline_id } = desired;
  const present = actual.pipelines.get(pipeline_id);
  if (desired.directives.suspend) return idle(desired, "Suspended", "x-sluice.suspend is true: it is left as it is");
  const entry = Object.hasOwn(actual.owned, pipeline_id) ? actual.owned[pipeline_id] : undefined;
  const underway = actual.busy.get(pipeline_id);
  if (underway !== undefined) return meanwhile(desired, present, entry, underway);
  if (present !== undefined) return changeOf(desired, present, entry, actual);
  return entry?.applied === undefined || entry.changing === true
    ? creation(desired, actual, described)
    : lost(desired, actual, described, entry);
}

/**
 * A change under way is carried to its end, unless it still waits for a stop and the file asks for something else since.
 * What is to be deleted after that stop goes on instead, where the file asks for something that is refused.
 */
function meanwhile(
  desired: DesiredPipeline,
  present: ActualPipeline | undefined,
  entry: InventoryEntry | undefined,
  { wish, isStopping, isEnding }: Underway,
): Change {
  const inProgress = idle(desired, "InProgress", "an earlier change is still being carried out");
  if (present === undefined || !isStopping || wish === wishOf(desired)) return inProgress;
  const stopped: ActualPipeline = { ...present, status: "Stopped", ...(isEnding && { intake: "closed" }) };
  const found = differencesOf(desired, stopped);
  const next = entry === undefined ? adoption(desired, stopped, found, planned) : planned(desired, stopped, found);
  const isSpared = isEnding === true && next.kind === "refuse";
  return inPlace(isSpared ? goingOn(desired, next) : next) ?? inProgress;
}

/** Instead of a deletion that nobody asks for any more; the next plan says what is refused. */
function goingOn(desired: DesiredPipeline, refused: Change): Change {
  const { state } = desired.directives;
  const way = route({ status: "Stopped", isShut: true }, state, false, []);
  const reason = `it goes on as it was, because the file no longer asks for its end: ${refused.reason}`;
  return { ...idle(desired, "StateWished", reason), kind: "resume", calls: way === "wait" ? [] : way };
}

function changeOf(
  desired: DesiredPipeline,
  present: ActualPipeline,
  entry: InventoryEntry | undefined,
  actual: ActualState,
): Change {
  const found = differencesOf(desired, present);
  if (entry === undefined) return adoption(desired, present, found, planned);
  const change = planned(desired, present, found);
  if (!isDrift(desired, entry, found)) {
    const isEdit = found.length > 0 && change.calls.length > 0;
    return isEdit ? { ...change, reason: change.reason + alsoDrifted(present, entry) } : change;
  }
  const fields = driftedFields(desired, present, found);
  if (fields.length === 0) return change;
  if (desired.directives.drift === "correct") {
    const drift = driftOf(
      fields.map(({ path }) => path),
      entry,
      actual,
    );
    return corrected(desired, { ...change, fields }, drift);
  }
  // What nobody did by hand, such as a failure, is no matter of drift.
  const rest = planned(desired, present, []);
  const isStray = strayState(desired, present) !== undefined;
  if (!isStray && rest.cause !== "InSync") return rest;
  return leftAsItIs(desired, fields, found.length === 0 ? `it is ${present.status}` : summaryOf(found));
}

/** What makes a pipeline what its file says, whoever it is that made it otherwise. */
function planned(desired: DesiredPipeline, present: ActualPipeline, found: Difference[]): Change {
  const refused = found.find(({ effect }) => effect === "refuse");
  if (refused === undefined) return edition(desired, present, found);
  return desired.directives.recreate
    ? recreation(desired, present, refused)
    : immutable(desired, present, found, refused);
}

/** The edit and the state wished for are reached in one way. */
function edition(desired: DesiredPipeline, present: ActualPipeline, found: Difference[]): Change {
  const edit = found.some(({ effect }) => effect !== "hot");
  const standing = { status: present.status, isShut: present.intake === "closed" };
  const way = route(standing, desired.directives.state, edit, hotCalls(found));
  const what = toldOf(found);
  if (way === "wait") {
    const reason = `it is ${present.status}: this is carried out when that has ended`;
    return { ...idle(desired, "InTransition", reason), ...what };
  }
  if (way.length > 0) {
    const cause: Cause = found.length > 0 ? "Changed" : "StateWished";
    const kind = kindOf(way, found);
    const isDrained = found.length > 0 && way.includes("stop") && way.includes("resume");
    // A stop does not wait for a pause: what is held then outlives the edit.
    const drained = isDrained && present.paused === undefined ? writtenFirst(present) : "";
    return { ...idle(desired, cause, reasonOf(found, present, desired) + drained), ...what, kind, calls: way };
  }
  return idle(desired, "InSync", `it is as its file says, ${present.status}`);
}

function hotCalls(found: Difference[]): Call[] {
  const calls = found.flatMap(({ at, effect }): Call[] => {
    if (effect !== "hot") return [];
    if (at[0] === "name") return ["rename"];
    return [at[0] === "metadata" ? "tag" : "configure"];
  });
  return [...new Set(calls)];
}

function kindOf(calls: Call[], found: Difference[]): ChangeKind {
  if (found.length > 0) return calls.length === 1 && calls[0] === "rename" ? "rename" : "update";
  const last = calls.at(-1);
  return last === "stop" || last === "terminate" ? last : "resume";
}

function reasonOf(found: Difference[], present: ActualPipeline, desired: DesiredPipeline): string {
  const { state: wish } = desired.directives;
  const state = `it is ${present.status}${shut(present)}, x-sluice.state is ${wish}${leftBy(wish, present)}`;
  if (found.length === 0) return present.failure === undefined ? state : `${state}; ${present.failure}`;
  const edit = `${summaryOf(found)}${rereading(present, desired)}`;
  return present.status === wish ? edit : `${edit}; ${state}`;
}

/** A deletion, or a recreation, that was begun and is no longer asked for. */
function shut({ intake, config }: ActualPipeline): string {
  if (intake === undefined) return "";
  return readsFromKafka(config) ? " and was about to end" : " and takes no events, as it was about to end";
}

/** What the way from Running to another state does to events that are not written yet. */
function leftBy(wish: Directives["state"], present: ActualPipeline): string {
  const { status, config, held } = present;
  if (status !== "Running" || wish === "Running") return "";
  if (readsFromKafka(config)) return leftInTopic(present);
  if (wish === "Stopped") return `${writtenFirst(present)}${keptAtRest(config)}`;
  if (held === 0) return "";
  return held === 1
    ? "; 1 accepted event goes if it is not under way"
    : `; of ${held} accepted events those go that are not under way`;
}

/** How long a stream keeps what is pushed at a pipeline that is stopped. */
function keptAtRest({ resources }: ActualPipeline["config"]): string {
  const { max_age } = resources.nats.stream;
  return (
    `; what comes while it is stopped waits for at most ${max_age} (resources.nats.stream.max_age), after which it is ` +
    `removed unwritten, and counted`
  );
}
