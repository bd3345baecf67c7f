import { parseExactly } from "../../event/exact-json.ts";
import { Budget } from "../values/budget.ts";
import { check } from "../check/check.ts";
import { compile } from "../compile/compile.ts";
import { builtins } from "../functions/builtins.ts";
import { helpers } from "../functions/helpers.ts";
import { parse } from "../syntax/parser.ts";
import { plainNumber } from "../../event/plain-numbers.ts";
import { printed } from "../values/printing.ts";
import { isMap, kindOf, pairs } from "../values/values.ts";

/** An operator, function or method in the reference: its form, its meaning, and an example. */
export type Entry = readonly [written: string, says: string, example: string];

/** Entries by name. Every example is evaluated on the sample below, as a stateless transform would. */
export type Entries = Readonly<Record<string, Entry>>;

/** The record that the examples are evaluated on, as in an event. */
export const sample = `{
  "name": "Ann Lee",
  "level": "ERROR",
  "status": 503,
  "ratio": 2.5,
  "ok": true,
  "tags": ["b", "a", "b"],
  "user": { "id": 7, "team": "core" },
  "items": [{ "sku": "x", "n": 2 }, { "sku": "y", "n": 5 }],
  "ts": "2024-03-01T10:20:30Z",
  "query": "utm_source=news&id=1&id=2",
  "agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1",
  "big": 9007199254740993,
  "nothing": null
}`;

/** The time of the batch in the examples: 2024-05-06 07:08:09 UTC. */
const clock = Date.UTC(2024, 4, 6, 7, 8, 9);

/** The functions that an example may call: those of filters, or those of stateless transforms. */
export type FunctionSet = "builtins" | "helpers";

/** The result of an example, as the language writes it. Throws ExpressionError if it fails. */
export function resultOf(example: string, functionSet: FunctionSet): string {
  const functions = functionSet === "builtins" ? builtins : helpers;
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
