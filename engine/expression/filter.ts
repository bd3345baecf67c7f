import type { SchemaField } from "../../schemas/pipeline.ts";
import { check } from "./check/check.ts";
import { compile } from "./compile/compile.ts";
import { environment, zeroRecord } from "./check/environment.ts";
import { ExpressionError } from "./syntax/errors.ts";
import { CompileBudget } from "./values/compile-budget.ts";
import { builtins } from "./functions/builtins.ts";
import { parse } from "./syntax/parser.ts";
import { float, named } from "./values/types.ts";
import { kindOf } from "./values/values.ts";
import { children, type Node } from "./syntax/ast.ts";

/** A compiled filter: true keeps an event, false drops it. */
export interface Filter {
  /**
   * `clock` is the time of the batch, in milliseconds since the epoch. Throws ExpressionError if the evaluation fails
   * or does not return a bool.
   */
  matches(record: Record<string, unknown>, clock: number): boolean;
  /** What fails where it runs, in code that runs for some events only, and nested fields that are probably misspelt. */
  readonly warnings: readonly ExpressionError[];
}

/**
 * Compiles a filter against the fields of its source. Throws ExpressionError for a blank expression, one that does not
 * parse, an unknown name or function, kinds that do not fit together, a result that is not a bool, and an expression
 * that fails on a record of zero values. `limit` is what compiling may cost.
 */
export function compileFilter(
  expression: string,
  fields: readonly SchemaField[],
  limit: CompileBudget = new CompileBudget(),
): Filter {
  const whole = { start: 0, end: expression.length };
  if (expression.trim() === "") throw new ExpressionError("compile", expression, whole, "the expression is blank");
  const root = parse(expression);
  const { type, warnings } = check(root, expression, builtins, environment(fields, float), limit);
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
  return { matches, warnings };
}

/**
 * Evaluates a checked filter on a record of zero values, because a filter that fails there would fail on the first
 * empty text. A failure caused by the content of an array or a map is ignored, because the schema does not declare that
 * content: events on which such a filter fails become dead letters. Throws ExpressionError.
 */
function probe(
  root: Node,
  fields: readonly SchemaField[],
  evaluate: (record: Record<string, unknown>) => unknown,
): void {
  try {
    evaluate(zeroRecord(fields));
  } catch (error) {
    if (!(error instanceof ExpressionError) || !readsContents(root, error, fields)) {
      throw error instanceof ExpressionError ? error.onZeroValues() : error;
    }
  }
}

/** Whether the failed part reads an array or map of the record, directly or through a variable. */
function readsContents(root: Node, { offset, end }: ExpressionError, fields: readonly SchemaField[]): boolean {
  const open = new Set(
    fields.filter(({ type }) => type === "array" || type === "map").map(({ name }) => name.split(".")[0]),
  );
  const all = nodes(root);
  const values = new Map(all.flatMap((node) => (node.kind === "let" ? [[node.name, node.value] as const] : [])));
  const reads = (node: Node, seen: ReadonlySet<string>): boolean =>
    nodes(node).some((part) => {
      if (part.kind !== "name") return false;
      const value = values.get(part.name);
      if (value === undefined) return open.has(part.name) || part.name === "$env";
      return !seen.has(part.name) && reads(value, new Set(seen).add(part.name));
    });
  return all.some((node) => node.start === offset && node.end === end && reads(node, new Set()));
}

function nodes(root: Node): Node[] {
  return [root, ...children(root).flatMap((child) => nodes(child))];
}
