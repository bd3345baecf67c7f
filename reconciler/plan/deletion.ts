import type { ActualPipeline } from "../actual/state.ts";
import { routeToDeletion } from "./calls.ts";
import type { Call } from "./calls.ts";
import type { Cause } from "./change.ts";

/** What a pipeline holds that its deletion would take away. */
type Holdings = Pick<ActualPipeline, "held" | "pending_batches" | "dead_letters">;

/** Why a pipeline whose deletion has begun cannot be deleted yet. */
export interface Hindrance {
  cause: Extract<Cause, "EventsHeld" | "DeadLettersHeld">;
  /** What it holds, why that does not go, and the ways out. */
  text: string;
}

/** The next step of a deletion: calls, or what it waits for: its own end of something, or a person. */
export type DeletionStep =
  { kind: "calls"; calls: Call[]; text: string } | { kind: "waits"; text: string } | ({ kind: "hindered" } & Hindrance);

/**
 * How a pipeline goes whose file is gone (delivery, section 2): it refuses new events, what it has accepted is written,
 * then it is deleted. Nothing that was accepted, and no dead letter, is thrown away by a prune; only a pipeline that is
 * Terminated is deleted with all that it holds, as its file asked for that.
 */
export function deletionOf(present: ActualPipeline): DeletionStep {
  const { status } = present;
  const isShut = present.intake === "closed";
  const isWritten = present.held === 0 && present.pending_batches === 0;
  const calls = routeToDeletion({ status, isShut }, isWritten);
  if (calls === "wait") return { kind: "waits", text: `it is ${status}: it is deleted when that has ended` };
  const mayHelp = !isShut || (status === "Running" ? isWritten : status === "Stopped" && !isWritten);
  const hindrance = mayHelp ? undefined : hindranceOf(present);
  if (hindrance === undefined) return { kind: "calls", calls, text: effectOf(present) };
  if (status === "Running" && present.paused === undefined) {
    return { kind: "waits", text: `it takes no new events, and is deleted when it has written ${holdings(present)}` };
  }
  return { kind: "hindered", ...hindrance };
}

/** What keeps a pipeline that takes no more events from being deleted; undefined if nothing does. */
export function hindranceOf(present: ActualPipeline): Hindrance | undefined {
  const { status, held, pending_batches, dead_letters, paused, failure } = present;
  const isUnwritten = held > 0 || pending_batches > 0;
  if (status === "Terminated" || (!isUnwritten && dead_letters === 0)) return undefined;
  const why = paused ?? failure;
  const text =
    `it takes no new events, and is deleted by itself when what it holds is gone: ${holdings(present)}` +
    `${isUnwritten && why !== undefined ? `. It cannot write: ${why}` : ""}. Ways out: ${waysOut(present, isUnwritten)}`;
  return { cause: isUnwritten ? "EventsHeld" : "DeadLettersHeld", text };
}

function waysOut({ pipeline_id, status, dead_letters }: ActualPipeline, isUnwritten: boolean): string {
  const ways = [
    ...(isUnwritten && status !== "Failed" ? ["mend what it waits for"] : []),
    ...(isUnwritten && status === "Failed" ? ["put the file back and mend it"] : []),
    ...(dead_letters > 0 ? [`take the dead letters out with sluice dlq consume, discard or purge ${pipeline_id}`] : []),
    ...(isUnwritten ? [] : ["put the file back, and reprocess them"]),
    "put it back with x-sluice.state: Terminated, and then remove it, which drops all of this",
  ];
  return ways.join("; or ");
}

/** What the deletion does to what is there. */
function effectOf(present: ActualPipeline): string {
  const { status, held, pending_batches, dead_letters } = present;
  if (status === "Terminated") {
    const gone = holdings(present);
    return gone === "" ? "" : `; ${gone} ${held + pending_batches + dead_letters === 1 ? "goes" : "go"} with it`;
  }
  const unwritten = holdings({ held, pending_batches, dead_letters: 0 });
  const letters = holdings({ held: 0, pending_batches: 0, dead_letters });
  return (
    (unwritten === "" ? "" : `; ${unwritten} ${held + pending_batches === 1 ? "is" : "are"} written first`) +
    (letters === "" ? "" : `; it is kept while there ${dead_letters === 1 ? "is" : "are"} ${letters}`)
  );
}

/** Such as `7 accepted events, 1 pending batch and 2 dead letters`; empty where there is nothing. */
function holdings({ held, pending_batches, dead_letters }: Holdings): string {
  const parts = [
    counted(held, "accepted event", "accepted events"),
    counted(pending_batches, "pending batch", "pending batches"),
    counted(dead_letters, "dead letter", "dead letters"),
  ].filter((part) => part !== "");
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

function counted(count: number, one: string, several: string): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : several}`;
}
