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
        if (this.#filter.matches(event.value, clock)) passed.push(event);
      } catch (error) {
        rejected.push(rejection(event, error));
      }
    }
    return { passed, dropped: events.length - passed.length - rejected.length, rejected };
  }
}

function rejection({ position, text }: Event, error: unknown): Rejection {
  if (!(error instanceof ExpressionError)) throw error;
  const reason = "transform_error";
  return { component: "dedup", reason, error: `filter: ${error.message}`, original_message: text, position };
}
