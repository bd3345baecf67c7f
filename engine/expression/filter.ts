import type { SchemaField } from "../../schemas/pipeline.ts";
import { check } from "./check.ts";
import { compile } from "./compile.ts";
import { environment } from "./environment.ts";
import { ExpressionError } from "./errors.ts";
import { builtins } from "./functions/builtins.ts";
import { parse } from "./parser.ts";
import { probe } from "./probe.ts";
import { named } from "./types.ts";
import { kindOf } from "./values.ts";

/** A compiled filter: true keeps an event, false drops it. */
export interface Filter {
  /**
   * `clock` is the time of the batch, in milliseconds since the epoch. Throws ExpressionError if the evaluation fails or
   * gives no bool.
   */
  matches(record: Record<string, unknown>, clock: number): boolean;
}

/**
 * Compiles a filter against the fields of its source (specification, expressions, section 5). Throws ExpressionError for
 * a blank expression, one that does not parse, an unknown name or function, kinds that do not go together, a result
 * that is no bool, and an expression that fails on a record of zero values.
 */
export function compileFilter(expression: string, fields: readonly SchemaField[]): Filter {
  const whole = { start: 0, end: expression.length };
  if (expression.trim() === "") throw new ExpressionError("compile", expression, whole, "the expression is blank");
  const root = parse(expression);
  const type = check(root, expression, builtins, environment(fields));
  if (type.kind !== "bool" && type.kind !== "unknown") {
    throw new ExpressionError("compile", expression, root, `a filter is a bool, found ${named(type)}`);
  }
  const program = compile(root, expression, builtins);
  const matches = (record: Record<string, unknown>, clock: number): boolean => {
    const result = program(record, clock);
    if (typeof result === "boolean") return result;
    throw new ExpressionError("evaluate", expression, root, `a filter is a bool, found ${kindOf(result)}`);
  };
  probe(root, fields, (record) => matches(record, 0));
  return { matches };
}
