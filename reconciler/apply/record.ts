import type { Call } from "../plan/calls.ts";
import type { Origin, Operation, Predicted } from "./operation.ts";
import type { Outcome, OutcomeResult } from "./outcome.ts";

/** One change of one pipeline: what was planned for it, and what became of it. Holds no secret. */
export interface OperationRecord extends Origin {
  /** Grows with each operation of a data dir. */
  id: number;
  pipeline_id: string;
  plan: Predicted;
  /** ISO 8601, UTC. */
  began: string;
  /** When it ended, or its last try did. */
  ended: string;
  result: OutcomeResult;
  message?: string;
  measured: Measured;
  /** How often the process ended during it; it was carried on each time. */
  interrupted?: number;
}

/** What a change cost, over all its tries. */
export interface Measured {
  /** From the beginning of the first try to the end of the last one. */
  seconds: number;
  /** Milliseconds from the beginning of its stop until it ran again. Absent where it was not stopped, or stays so. */
  pause_ms?: number;
  /** Events that were settled while it was being stopped. */
  events_drained: number;
  /** Calls that failed. */
  errors: number;
  /** Tries after the first one. */
  retries: number;
  /** The last calls that were made, in order. */
  calls: { call: Call; result: "success" | "error"; seconds: number }[];
}

export function recordOf(
  operation: Operation,
  { result, message }: Pick<Outcome, "result" | "message">,
): OperationRecord {
  const { id, pipeline_id, origin, plan, began, interruptions, drained, errors, tries, pause, made } = operation;
  const ended = new Date();
  return {
    id,
    pipeline_id,
    ...origin,
    plan,
    began,
    ended: ended.toISOString(),
    result,
    ...(message !== undefined && { message: message.slice(0, longestText) }),
    measured: {
      seconds: Math.max(0, ended.getTime() - Date.parse(began)) / 1000,
      ...(pause !== undefined && { pause_ms: pause }),
      events_drained: drained,
      errors,
      retries: tries - 1 - Math.min(interruptions, tries - 1),
      calls: made,
    },
    ...(interruptions > 0 && { interrupted: interruptions }),
  };
}

/** Characters of a reason or message that are kept. */
export const longestText = 2_000;
