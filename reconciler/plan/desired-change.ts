import type { ActualPipeline, ActualState, Underway } from "../actual/state.ts";
import type { DesiredPipeline, Directives } from "../desired/desired-state.ts";
import { wishOf } from "../desired/wish.ts";
import { route } from "./calls.ts";
import type { Call } from "./calls.ts";
import type { Cause, Change, ChangeKind } from "./change.ts";
import { creation } from "./creation.ts";
import { summaryOf, toldOf } from "./differences.ts";
import type { Difference } from "./differences.ts";
import { writtenFirst } from "./ending.ts";
import { idle } from "./idle.ts";
import { differencesOf } from "./known-differences.ts";
import { leftInTopic, readsFromKafka, rereading } from "./reading.ts";
import { recreation } from "./recreation.ts";
import { immutable, notAdopted } from "./refusals.ts";
import { inPlace } from "./takeover.ts";

/** What is to be done for a pipeline that a valid file describes. `described` are all that files describe. */
export function desiredChange(desired: DesiredPipeline, actual: ActualState, described: ReadonlySet<string>): Change {
  const { pipeline_id } = desired;
  const present = actual.pipelines.get(pipeline_id);
  if (desired.directives.suspend) return idle(desired, "Suspended", "x-sluice.suspend is true: it is left as it is");
  const isOurs = Object.hasOwn(actual.owned, pipeline_id);
  const underway = actual.busy.get(pipeline_id);
  if (underway !== undefined) return meanwhile(desired, present, isOurs, underway);
  return present === undefined ? creation(desired, actual, described) : changeOf(desired, present, isOurs);
}

/**
 * A change under way is carried to its end, unless it still waits for a stop and the file asks for something else since.
 * What is to be deleted after that stop goes on instead, where the file asks for something that is refused.
 */
function meanwhile(
  desired: DesiredPipeline,
  present: ActualPipeline | undefined,
  isOurs: boolean,
  { wish, isStopping, isEnding }: Underway,
): Change {
  const inProgress = idle(desired, "InProgress", "an earlier change is still being carried out");
  if (present === undefined || !isStopping || wish === wishOf(desired)) return inProgress;
  const stopped: ActualPipeline = { ...present, status: "Stopped", ...(isEnding && { intake: "closed" }) };
  const next = changeOf(desired, stopped, isOurs);
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

function changeOf(desired: DesiredPipeline, present: ActualPipeline, isOurs: boolean): Change {
  const found = differencesOf(desired, present);
  const refused = found.find(({ effect }) => effect === "refuse");
  if (!isOurs && found.length > 0) return notAdopted(desired, found);
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
    return { ...idle(desired, cause, reasonOf(found, present, desired)), ...what, kind, calls: way };
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
