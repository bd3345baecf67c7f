import type { SchemaField, TransformConfig } from "../../../schemas/pipeline.ts";
import type { Event } from "../../event/event.ts";
import { FieldPick } from "../../event/fields.ts";
import type { BatchContext, Transform, TransformResult, TransformTools } from "../../core/transform.ts";
import { compileFilter, namesRead } from "../../expression/index.ts";
import type { Filter } from "../../expression/index.ts";
import { evaluateEach } from "../../expression/evaluation.ts";

type FilterConfig = Extract<TransformConfig, { type: "filter" }>;

/** Throws ExpressionError if the expression does not fit the fields. */
export function createFilter({ config }: FilterConfig, { fields }: TransformTools): FilterTransform {
  return new FilterTransform(config.expression, fields);
}

/** Keeps the events for which its expression is true and drops the others; an expression that fails rejects the event. */
export class FilterTransform implements Transform {
  readonly name = "filter";
  readonly reads: readonly string[];
  readonly #filter: Filter;
  readonly #fields: FieldPick;

  /** `fields` are those of the filtered source. Throws ExpressionError if the expression does not fit them. */
  constructor(expression: string, fields: readonly SchemaField[]) {
    this.#filter = compileFilter(expression, fields);
    const names = namesRead([expression]);
    this.reads = names ?? [];
    this.#fields = new FieldPick(names);
  }

  apply(events: readonly Event[], { clock }: BatchContext): TransformResult {
    const passed: Event[] = [];
    const rejected = evaluateEach("filter", events, this.#fields, (event, record) => {
      if (this.#filter.matches(record, clock)) passed.push(event);
    });
    return { passed, dropped: events.length - passed.length - rejected.length, rejected };
  }
}
