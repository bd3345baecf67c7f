import { parseExactly } from "../../event/exact-json.ts";
import { Budget } from "../budget.ts";
import { check } from "../check.ts";
import { compile } from "../compile.ts";
import { builtins } from "../functions/builtins.ts";
import { helpers } from "../functions/helpers.ts";
import { parse } from "../parser.ts";
import { plainNumber, printed } from "../printing.ts";
import { isMap, kindOf, pairs } from "../values.ts";
import { clock, sample } from "./entry.ts";

export type Knows = "builtins" | "helpers";

/** What an example gives, as the language would write it. Throws ExpressionError where it does not work. */
export function resultOf(example: string, knows: Knows): string {
  const functions = knows === "builtins" ? builtins : helpers;
  const root = parse(example);
  check(root, example, functions, undefined);
  return written(compile(root, example, functions)(parseExactly(sample) as Record<string, unknown>, clock));
}

function written(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return Number.isInteger(value) ? `${plainNumber(value)}.0` : plainNumber(value);
  if (value === null) return "nil";
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (isMap(value))
    return `{${pairs(value)
      .map(([key, item]) => `${written(key)}: ${written(item)}`)
      .join(", ")}}`;
  return kindOf(value) === "time" ? `${printed(value, new Budget())} (a time)` : printed(value, new Budget());
}
