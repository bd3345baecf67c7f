import { hasConsumerGroup, isPushed } from "../../../engine/language.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import { routeToEnd } from "../calls.ts";
import type { Call, Ending } from "../calls.ts";
import type { HindranceCause } from "../change.ts";
import type { Deletion, EndWait, Hindrance, Unsettled, Unwritten } from "../reason.ts";
import { keptInKafka } from "./kafka.ts";

/** The next step to the end: calls, or what it waits for: its own end of something, or a person. */
export type EndingStep =
  { kind: "calls"; calls: Call[] } | { kind: "waits"; wait: EndWait } | { kind: "hindered"; hindrance: Hindrance };

/**
 * How a pipeline ends (docs/delivery-protocol.md, Stop, terminate, delete): it refuses new events, what it has accepted is
 * written, its offsets are committed, then it is deleted. Nothing that was accepted is thrown away or read again by that,
 * and by a prune no dead letter either; only a pipeline that is Terminated and whose file is gone is deleted with all that
 * it holds, as its file asked for that.
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
 * Whether the calls can bring one nearer to its end that takes no events any more. One that reads a log reads on, so
 * that it is never done by itself; where it has a group, it has to have joined that once before it can commit anything.
 */
function mayHelp({ status, paused, config, unsaid }: ActualPipeline, isSettled: boolean): boolean {
  const hasJoined = !hasConsumerGroup(config) || unsaid !== undefined;
  const isReading = !isPushed(config) && hasJoined && paused === undefined;
  if (status === "Running") return isSettled || isReading;
  return (status === "Stopped" || status === "Terminated") && !isSettled;
}

/** What keeps a pipeline whose end has begun from being deleted; undefined if nothing does. */
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

function holdsEvents({ held, pending_batches }: ActualPipeline): boolean {
  return held > 0 || pending_batches > 0;
}

/** Whether the consumer group has all offsets that are settled. Where that is not known, it may not. */
function isCommitted({ config, unsaid }: ActualPipeline): boolean {
  return !hasConsumerGroup(config) || unsaid === 0;
}

/** What a deletion does to what is there. */
export function effectOfDeletion(present: ActualPipeline): Deletion {
  const { status, held, pending_batches, dead_letters } = present;
  const place = keptInKafka(present);
  return {
    way: status === "Terminated" ? "dropped" : "kept",
    holds: { held, pending_batches, dead_letters },
    ...(place !== undefined && { place }),
  };
}

export function unwrittenOf({ held, pending_batches }: ActualPipeline): Unwritten {
  return { held, pending_batches };
}

function unsettledOf(present: ActualPipeline, dead_letters: number): Unsettled {
  const { unsaid = "unknown" } = present;
  return { ...unwrittenOf(present), dead_letters, ...(!isCommitted(present) && { uncommitted: unsaid }) };
}
