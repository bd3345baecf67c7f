import type { Ending } from "../calls.ts";
import type { Deletion, EndTrigger, EndWait, Hindrance, Unsettled } from "../reason.ts";
import { placeText } from "./kafka.ts";
import { holdingParts, holdingsText, isOne, writtenFirst } from "./losses.ts";
import { counted, listed } from "./words.ts";

const ends: Readonly<Record<Ending, string>> = { prune: "is deleted", recreate: "is recreated" };

/** Why a pipeline ends. */
export function triggerText(trigger: EndTrigger): string {
  if (trigger.ending === "prune") return `${trigger.file} no longer has it`;
  return `${trigger.path} cannot change after creation, and x-sluice.recreate is true`;
}

/** What its deletion waits for; no person has to act. */
export function waitText({ ending }: EndTrigger, wait: EndWait): string {
  if (wait.for === "status") return `it is ${wait.status}: it ${ends[ending]} when that has ended`;
  const unsettled = unsettledText(wait.holds);
  if (wait.for === "settled") return `it ${ends[ending]} when it has settled ${unsettled}`;
  return `it takes no new events, and ${ends[ending]} when it has written ${unsettled}`;
}

/** What it still holds, why it cannot write or commit that, and the ways out. */
export function hindranceText({ cause, why }: Hindrance): string {
  if (why.code === "MoreDeadLetters") {
    const { planned, present } = why.facts;
    const counts = `the plan counted ${planned} of its dead letters, now there are ${present}`;
    return `${counts}: a new plan is made, and takes no new events meanwhile`;
  }
  const { ending, holds, reads, trouble } = why.facts;
  const shut = reads ? "" : "takes no new events, and ";
  const what = cause === "EventsHeld" ? "write" : "commit";
  const why_not = trouble === undefined ? "" : `. It cannot ${what}: ${trouble}`;
  const ways = ending === "prune" ? waysOut(cause, why.facts) : waysBack(why.facts.failed);
  return (
    `it ${shut}${ends[ending]} automatically when nothing of this is left: ${unsettledText(holds)}${why_not}. ` +
    `Ways out: ${ways.join("; or ")}`
  );
}

function waysOut(
  cause: Hindrance["cause"],
  { pipeline_id, failed, holds }: { pipeline_id: string; failed: boolean; holds: Unsettled },
): string[] {
  const isUnsettled = cause !== "DeadLettersHeld";
  const drops =
    cause === "GroupBehind"
      ? "after which these are read again by a pipeline with this pipeline_id"
      : "which drops all of this";
  return [
    ...(isUnsettled && !failed ? ["resolve what it waits for"] : []),
    ...(isUnsettled && failed ? ["restore the file and correct it"] : []),
    ...(holds.dead_letters > 0
      ? [`take the dead letters out with sluice dlq consume, discard or purge ${pipeline_id}`]
      : []),
    ...(isUnsettled ? [] : ["restore the file, and reprocess them"]),
    `restore it with x-sluice.state: Terminated, and then remove it, ${drops}`,
  ];
}

/** The old config writes what it holds, so the old config is corrected first, by a change that is possible. */
function waysBack(failed: boolean): string[] {
  const first = failed ? [] : ["resolve what it waits for"];
  return [...first, "restore the old value: the rest of the file is then applied, and it goes on as it was"];
}

/** What a deletion does to the events, dead letters and offsets that the pipeline holds. */
export function deletionText({ way, holds, place }: Deletion): string {
  const { dead_letters } = holds;
  const kept = place === undefined ? "" : placeText(place);
  if (way === "dropped") {
    const gone = holdingsText(holds);
    const goes = isOne(holds) ? "is" : "are";
    return `${gone === "" ? "" : `; ${gone} ${goes} deleted with it`}${kept}`;
  }
  const letters = holdingsText({ held: 0, pending_batches: 0, dead_letters });
  const stays = letters === "" ? "" : `; it is kept while there ${dead_letters === 1 ? "is" : "are"} ${letters}`;
  return `${writtenFirst(holds)}${stays}${kept}`;
}

/** What it holds, with the offsets that are not committed. */
function unsettledText(holds: Unsettled): string {
  const { uncommitted } = holds;
  return listed([...holdingParts(holds), ...(uncommitted === undefined ? [] : [uncommittedText(uncommitted)])]);
}

function uncommittedText(uncommitted: number | "unknown"): string {
  if (uncommitted === "unknown") return "offsets that are perhaps not committed to its consumer group";
  return `${counted(uncommitted, "offset")} that are not committed to its consumer group`;
}
