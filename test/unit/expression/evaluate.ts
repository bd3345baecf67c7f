import { CompileBudgetExceeded } from "../../../engine/expression/values/compile-budget.ts";
import { Budget, BudgetExceeded } from "../../../engine/expression/values/budget.ts";
import type { Catalog } from "../../../engine/expression/functions/catalog.ts";
import { check } from "../../../engine/expression/check/check.ts";
import { compile } from "../../../engine/expression/compile/compile.ts";
import { ExpressionError } from "../../../engine/expression/syntax/errors.ts";
import { builtins } from "../../../engine/expression/functions/builtins.ts";
import { helpers } from "../../../engine/expression/functions/helpers.ts";
import { parse } from "../../../engine/expression/syntax/parser.ts";
import { printed } from "../../../engine/expression/values/printing.ts";
import { kindOf } from "../../../engine/expression/values/values.ts";

/** What the tables of expressions are evaluated on, as JSON, as records come. */
export const sample = JSON.parse(`{
  "s": "héllo", "t": "abc", "e": "", "n": 5, "f": 2.5, "z": 0, "neg": -3.7, "big": 1e21, "b": true, "no": false,
  "nul": null, "a": [3, 1, 2], "sa": ["x", "y", "x"], "ea": [], "em": {}, "mixed": [1, "a", null, true],
  "ms": [{"k": 1, "g": "a"}, {"k": 2, "g": "b"}, {"k": 3, "g": "a"}],
  "m": {"k": 1, "z": "q", "n": {"d": [1, [2, [3]]]}}, "ts": "2024-03-01T10:20:30Z",
  "constructor": "own", "__proto__": {"k": "own"}
}`) as Record<string, unknown>;

/** The clock of the evaluations: 2024-05-06 07:08:09.010 UTC. */
export const clock = Date.UTC(2024, 4, 6, 7, 8, 9, 10);

/**
 * What an expression of a filter gives on the sample, in one line: `int 3`, `refused: …` where it does not compile
 * without a schema, `fails: …` where the evaluation fails.
 */
export function inFilter(expression: string): string {
  return outcome(expression, builtins);
}

/** The same with the helpers of stateless transforms. */
export function inTransform(expression: string, record = sample): string {
  return outcome(expression, helpers, record);
}

function outcome(expression: string, functions: Catalog, record = sample): string {
  try {
    const root = parse(expression);
    check(root, expression, functions, undefined);
    const value = compile(root, expression, functions)(record, clock);
    return `${kindOf(value)} ${printed(value, new Budget())}`;
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    if (error.cause !== undefined && !isExpected(error.cause)) throw error.cause;
    return `${error.phase === "compile" ? "refused" : "fails"}: ${error.detail}`;
  }
}

/** A spent budget and a full stack are answers; anything else behind an ExpressionError is a fault of ours. */
function isExpected(cause: unknown): boolean {
  return cause instanceof BudgetExceeded || cause instanceof CompileBudgetExceeded || cause instanceof RangeError;
}
