import { hasConsumerGroup, isPushed } from "../../../engine/language.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import { routeToEnd } from "../calls.ts";
import type { Call, Ending } from "../calls.ts";
import type { HindranceCause } from "../change.ts";
import type { Deletion, EndWait, Hindrance, Unsettled, Unwritten } from "../reason.ts";
import { keptInKafka } from "./kafka.ts";

/** The next step of a deletion: calls, a wait that ends without a person, or a hindrance that a person resolves. */
export type EndingStep =
  { kind: "calls"; calls: Call[] } | { kind: "waits"; wait: EndWait } | { kind: "hindered"; hindrance: Hindrance };

/**
 * How a pipeline is deleted (docs/delivery-protocol.md, Stop, terminate, delete): it refuses new events, what it has
 * accepted is written, its offsets are committed, then it is deleted. No accepted event is dropped or read again, and a
 * prune drops no dead letter. Only a Terminated pipeline whose file was removed is deleted with all that it holds, as
 * its file requested.
 */
export function endOf(present: ActualPipeline, ending: Ending): EndingStep {
  const { status, paused } = present;
  const isShut = present.intake === "closed";
  const isSettled = !holdsEvents(present) && isCommitted(present);
  const calls = routeToEnd({ status, isShut }, isSettled, ending);
  if (calls === "wait") return { kind: "waits", wait: { for: "status", status } };
  if (!isShut || mayHelp(present, isSettled)) return { kind: "calls", calls };
  const hindrance = hindranceOf(present, ending);
  if (hindrance === undefined) return { kind: "calls", calls };
  if (status !== "Running" || paused !== undefined) return { kind: "hindered", hindrance };
  const holds = unsettledOf(present, 0);
  return { kind: "waits", wait: { for: isPushed(present.config) ? "written" : "settled", holds } };
}

/**
 * Whether calls help to delete a pipeline that takes no new events. One that reads a log reads on until it is stopped;
 * one with a consumer group can commit only after it has joined the group.
 */
function mayHelp({ status, paused, config, uncommitted }: ActualPipeline, isSettled: boolean): boolean {
  const hasJoined = !hasConsumerGroup(config) || uncommitted !== undefined;
  const isReading = !isPushed(config) && hasJoined && paused === undefined;
  if (status === "Running") return isSettled || isReading;
  return (status === "Stopped" || status === "Terminated") && !isSettled;
}

/** What blocks a deletion that has begun; undefined if nothing does. */
export function hindranceOf(present: ActualPipeline, ending: Ending): Hindrance | undefined {
  const { pipeline_id, status, dead_letters, paused, failure, config } = present;
  if (ending === "prune" && status === "Terminated") return undefined;
  const letters = ending === "prune" ? dead_letters : 0;
  const cause = causeOf(present);
  if (cause === "DeadLettersHeld" && letters === 0) return undefined;
  const trouble = cause === "DeadLettersHeld" ? undefined : (paused ?? failure);
  return {
    cause,
    why: {
      code: "Holds",
      facts: {
        pipeline_id,
        ending,
        holds: unsettledOf(present, letters),
        reads: !isPushed(config),
        failed: cause !== "DeadLettersHeld" && status === "Failed",
        ...(trouble !== undefined && { trouble }),
      },
    },
  };
}

function causeOf(present: ActualPipeline): HindranceCause {
  if (holdsEvents(present)) return "EventsHeld";
  return isCommitted(present) ? "DeadLettersHeld" : "GroupBehind";
}

function holdsEvents(present: ActualPipeline): boolean {
  return present.held !== 0 || present.pending_batches > 0 || rowsOf(present) !== 0;
}

/** Rows of its join that are not in the table: the offsets of their events may be committed. */
function rowsOf({ config, join }: ActualPipeline): number | "unknown" {
  return config.join === undefined ? 0 : (join?.rows ?? "unknown");
}

/** Whether all settled offsets are committed to the consumer group. False where that is not known. */
function isCommitted({ config, uncommitted }: ActualPipeline): boolean {
  return !hasConsumerGroup(config) || uncommitted === 0;
}

/** What a deletion does to events, dead letters and offsets of the pipeline. */
export function effectOfDeletion(present: ActualPipeline): Deletion {
  const { status, dead_letters } = present;
  const place = keptInKafka(present);
  return {
    way: status === "Terminated" ? "dropped" : "kept",
    holds: { ...unwrittenOf(present), dead_letters },
    ...(place !== undefined && { place }),
  };
}

/** What is known to be unwritten. */
export function unwrittenOf({ held, pending_batches, join }: ActualPipeline): Unwritten {
  const { rows = 0 } = join ?? {};
  return { held, pending_batches, ...(rows > 0 && { rows }) };
}

function unsettledOf(present: ActualPipeline, dead_letters: number): Unsettled {
  const { uncommitted = "unknown" } = present;
  const rows = rowsOf(present);
  return {
    ...unwrittenOf(present),
    ...(rows !== 0 && { rows }),
    dead_letters,
    ...(!isCommitted(present) && { uncommitted }),
  };
}
