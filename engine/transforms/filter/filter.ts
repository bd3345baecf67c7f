import type { SchemaField } from "../../../schemas/pipeline.ts";
import type { Event } from "../../core/batch.ts";
import type { Rejection } from "../../core/dead-letter.ts";
import type { Transform, TransformResult } from "../../core/transform.ts";
import { compileFilter, ExpressionError } from "../../expression/index.ts";
import type { Filter } from "../../expression/index.ts";

/** Keeps the events for which its expression is true and drops the others; an expression that fails rejects the event. */
export class FilterTransform implements Transform {
  readonly name = "filter";
  readonly #filter: Filter;

  /** `fields` are those of the filtered source. Throws ExpressionError if the expression does not fit them. */
  constructor(expression: string, fields: readonly SchemaField[]) {
    this.#filter = compileFilter(expression, fields);
  }

  apply(events: readonly Event[], clock: number): TransformResult {
    const passed: Event[] = [];
    const rejected: Rejection[] = [];
    for (const event of events) {
      try {
        if (this.#filter.matches(record(event), clock)) passed.push(event);
      } catch (error) {
        rejected.push(rejection(event, error));
      }
    }
    return { passed, dropped: events.length - passed.length - rejected.length, rejected };
  }
}

/** The event's object; `null` counts as an empty one. Throws SyntaxError for anything else. */
function record(event: Event): Record<string, unknown> {
  const value: unknown = event.value;
  if (typeof value !== "object" || Array.isArray(value)) throw new SyntaxError("no object");
  return (value as Record<string, unknown> | null) ?? {};
}

function rejection({ position, text }: Event, error: unknown): Rejection {
  const found = error instanceof SyntaxError ? "expected an event that is a JSON object" : (error as Error).message;
  if (!(error instanceof SyntaxError) && !(error instanceof ExpressionError)) throw error;
  const [component, reason] = ["dedup", "transform_error"] as const;
  return { component, reason, error: `filter: ${found}`, original_message: text, position };
}
