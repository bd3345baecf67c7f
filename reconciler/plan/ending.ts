import type { ActualPipeline } from "../actual/state.ts";
import { routeToEnd } from "./calls.ts";
import type { Call, Ending } from "./calls.ts";
import type { Cause } from "./change.ts";
import { keptInKafka, readsFromKafka } from "./reading.ts";
import { counted, listed } from "./wording.ts";

/** What a pipeline holds that its deletion would take away. */
type Holdings = Pick<ActualPipeline, "held" | "pending_batches" | "dead_letters">;

/** Why a pipeline whose end has begun cannot be deleted yet. */
export interface Hindrance {
  cause: Extract<Cause, "EventsHeld" | "GroupBehind" | "DeadLettersHeld">;
  /** What it holds, why that does not go, and the ways out. */
  text: string;
}

/** The next step to the end: calls, or what it waits for: its own end of something, or a person. */
export type EndingStep =
  { kind: "calls"; calls: Call[] } | { kind: "waits"; text: string } | ({ kind: "hindered" } & Hindrance);

const words: Readonly<Record<Ending, string>> = { prune: "is deleted", recreate: "is made anew" };

/**
 * How a pipeline ends (delivery, section 2): it refuses new events, what it has accepted is written, its consumer group
 * is told how far it came, then it is deleted. Nothing that was accepted is thrown away or read again by that, and by a
 * prune no dead letter either; only a pipeline that is Terminated and whose file is gone is deleted with all that it
 * holds, as its file asked for that.
 */
export function endOf(present: ActualPipeline, ending: Ending): EndingStep {
  const { status, paused } = present;
  const isShut = present.intake === "closed";
  const isSettled = !holdsEvents(present) && isTold(present);
  const calls = routeToEnd({ status, isShut }, isSettled, ending);
  if (calls === "wait") return { kind: "waits", text: `it is ${status}: it ${words[ending]} when that has ended` };
  if (!isShut || mayHelp(present, isSettled)) return { kind: "calls", calls };
  const hindrance = hindranceOf(present, ending);
  if (hindrance === undefined) return { kind: "calls", calls };
  if (status !== "Running" || paused !== undefined) return { kind: "hindered", ...hindrance };
  const unsettled = unsettledOf({ ...present, dead_letters: 0 });
  if (readsFromKafka(present.config))
    return { kind: "waits", text: `it ${words[ending]} when it has settled ${unsettled}` };
  return { kind: "waits", text: `it takes no new events, and ${words[ending]} when it has written ${unsettled}` };
}

/**
 * Whether the calls can bring one nearer to its end that takes no events any more. One that reads a topic reads on, so
 * that it is never done by itself; it has to have joined its group once before it can tell it anything.
 */
function mayHelp({ status, paused, config, unsaid }: ActualPipeline, isSettled: boolean): boolean {
  const isReading = readsFromKafka(config) && unsaid !== undefined && paused === undefined;
  if (status === "Running") return isSettled || isReading;
  return (status === "Stopped" || status === "Terminated") && !isSettled;
}

/** What keeps a pipeline whose end has begun from being deleted; undefined if nothing does. */
export function hindranceOf(present: ActualPipeline, ending: Ending): Hindrance | undefined {
  const { status, dead_letters, paused, failure, config } = present;
  if (ending === "prune" && status === "Terminated") return undefined;
  const letters = ending === "prune" ? dead_letters : 0;
  const cause = holdsEvents(present) ? "EventsHeld" : isTold(present) ? "DeadLettersHeld" : "GroupBehind";
  if (cause === "DeadLettersHeld" && letters === 0) return undefined;
  const why = cause === "DeadLettersHeld" ? undefined : (paused ?? failure);
  const shut = readsFromKafka(config) ? "" : "takes no new events, and ";
  const text =
    `it ${shut}${words[ending]} by itself when what it holds is gone: ${unsettledOf({ ...present, dead_letters: letters })}` +
    `${why === undefined ? "" : `. It cannot ${cause === "EventsHeld" ? "write" : "tell it"}: ${why}`}. ` +
    `Ways out: ${(ending === "prune" ? waysOut(present, cause) : waysBack(present)).join("; or ")}`;
  return { cause, text };
}

function holdsEvents({ held, pending_batches }: ActualPipeline): boolean {
  return held > 0 || pending_batches > 0;
}

/** Whether the consumer group knows how far a pipeline has come. Where that is not known, it may not. */
function isTold({ config, unsaid }: ActualPipeline): boolean {
  return !readsFromKafka(config) || unsaid === 0;
}

function waysOut({ pipeline_id, status, dead_letters }: ActualPipeline, cause: Hindrance["cause"]): string[] {
  const isUnsettled = cause !== "DeadLettersHeld";
  const dropped =
    cause === "GroupBehind"
      ? "after which these are read again by a pipeline with this pipeline_id"
      : "which drops all of this";
  return [
    ...(isUnsettled && status !== "Failed" ? ["mend what it waits for"] : []),
    ...(isUnsettled && status === "Failed" ? ["put the file back and mend it"] : []),
    ...(dead_letters > 0 ? [`take the dead letters out with sluice dlq consume, discard or purge ${pipeline_id}`] : []),
    ...(isUnsettled ? [] : ["put the file back, and reprocess them"]),
    `put it back with x-sluice.state: Terminated, and then remove it, ${dropped}`,
  ];
}

/** The old config writes it, so what is wrong with that is mended first, by a change that can be made. */
function waysBack({ status }: ActualPipeline): string[] {
  const mend = status === "Failed" ? [] : ["mend what it waits for"];
  return [...mend, "put the old value back, with which the rest of the file is applied, and it goes on as it was"];
}

/** What a deletion does to what is there. */
export function effectOfDeletion(present: ActualPipeline): string {
  const { status, held, pending_batches, dead_letters } = present;
  if (status === "Terminated") {
    const gone = holdings(present);
    const with_it =
      gone === "" ? "" : `; ${gone} ${held + pending_batches + dead_letters === 1 ? "goes" : "go"} with it`;
    return with_it + keptInKafka(present);
  }
  const letters = holdings({ held: 0, pending_batches: 0, dead_letters });
  const kept = letters === "" ? "" : `; it is kept while there ${dead_letters === 1 ? "is" : "are"} ${letters}`;
  return `${writtenFirst(present)}${kept}${keptInKafka(present)}`;
}

/** What is written before a pipeline ends; empty where it holds nothing. */
export function writtenFirst({ held, pending_batches }: ActualPipeline): string {
  const unwritten = holdings({ held, pending_batches, dead_letters: 0 });
  return unwritten === "" ? "" : `; ${unwritten} ${held + pending_batches === 1 ? "is" : "are"} written first`;
}

/** Such as `7 accepted events, 1 pending batch and 2 dead letters`; empty where there is nothing. */
function holdings(of: Holdings): string {
  return listed(parts(of));
}

/** The same, with what the consumer group has not been told. */
function unsettledOf(present: ActualPipeline): string {
  return listed([...parts(present), ...(isTold(present) ? [] : [untold(present)])]);
}

function untold({ unsaid }: ActualPipeline): string {
  if (unsaid === undefined) return "its place in the topic, which its consumer group may not have been told";
  return `${counted(unsaid, "offset")} that its consumer group was not told of`;
}

function parts({ held, pending_batches, dead_letters }: Holdings): string[] {
  return [
    counted(held, "accepted event"),
    counted(pending_batches, "pending batch", "pending batches"),
    counted(dead_letters, "dead letter"),
  ].filter((part) => part !== "");
}
