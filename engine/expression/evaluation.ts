import type { Event } from "../event/event.ts";
import type { Rejection } from "../core/dead-letter.ts";
import type { FieldPick } from "../event/fields.ts";
import { ExpressionError } from "./index.ts";

/**
 * Calls `evaluate` with each event and the object of its `fields`; events on which that fails, or that are not objects,
 * are returned as dead letters of the stage, with their original text. So is one on which it fails as it should not: it
 * must not hold up the others.
 */
export function evaluateEach(
  stage: "filter" | "stateless",
  events: readonly Event[],
  fields: FieldPick,
  evaluate: (event: Event, record: Record<string, unknown>) => void,
): Rejection[] {
  const rejected: Rejection[] = [];
  for (const event of events) {
    const record = fields.of(event);
    if (record === undefined) {
      rejected.push(rejection(event, `${stage}: expected an event that is a JSON object`));
      continue;
    }
    try {
      evaluate(event, record);
    } catch (error) {
      const text = error instanceof ExpressionError ? error.message : `the evaluation broke off: ${String(error)}`;
      rejected.push(rejection(event, `${stage}: ${text}`));
    }
  }
  return rejected;
}

function rejection({ position, text }: Event, error: string): Rejection {
  return { component: "dedup", reason: "transform_error", error, original_message: text, position };
}
