import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { builtins } from "../../../engine/expression/functions/builtins.ts";
import { helpers } from "../../../engine/expression/functions/helpers.ts";
import { durationMethods, nameMethods, timeMethods } from "../../../engine/expression/values/methods.ts";
import { binary, unary } from "../../../engine/expression/syntax/operators.ts";
import { compileTransforms, ExpressionError, outputTypes } from "../../../engine/expression/index.ts";
import { predicates } from "../../../engine/expression/syntax/predicates.ts";
import {
  durationMethodEntries,
  helperEntries,
  nameMethodEntries,
  predicateEntries,
  replacingEntries,
  timeMethodEntries,
} from "../../../engine/expression/reference/function-entries.ts";
import { operatorEntries, unaryEntries } from "../../../engine/expression/reference/operator-entries.ts";
import { outputRules } from "../../../engine/expression/reference/prose.ts";
import { reference } from "../../../engine/expression/reference/reference.ts";
import { builtinSections } from "../../../engine/expression/reference/sections.ts";

const documented = builtinSections.flatMap(({ functions, entries }) =>
  functions === undefined ? [] : Object.keys(entries),
);
const own = [...helpers.keys()].filter((name) => helpers.get(name) !== builtins.get(name));

test("expressions.md is what `npm run schemas` makes of the tables, every example evaluated anew", async () => {
  const file = readFileSync("docs/reference/expressions.md", "utf8");
  expect(file, "run `npm run schemas`").toBe(await reference());
});

describe("the reference has every name, and no other", () => {
  const canonical = new Set([...binary.values()].map(({ is }) => is));
  test.each<[string, Iterable<string>, Iterable<string>]>([
    ["functions", documented, builtins.keys()],
    ["functions with a predicate", Object.keys(predicateEntries), predicates.keys()],
    ["helpers", Object.keys(helperEntries), own.filter((name) => !builtins.has(name))],
    ["helpers that replace functions", Object.keys(replacingEntries), own.filter((name) => builtins.has(name))],
    ["operators between two operands", Object.keys(operatorEntries), canonical],
    ["operators before one operand", Object.keys(unaryEntries), new Set([...unary.values()].map(({ is }) => is))],
    ["methods of times", Object.keys(timeMethodEntries), timeMethods.keys()],
    ["methods of durations", Object.keys(durationMethodEntries), durationMethods.keys()],
    ["methods of months, weekdays and zones", Object.keys(nameMethodEntries), nameMethods.keys()],
    ["output types", outputRules.flatMap(([names]) => names), outputTypes()],
  ])("%s", (_title, written, real) => {
    expect([...written].toSorted()).toEqual([...real].toSorted());
  });
});

describe("the written call of a function names as many arguments as it takes", () => {
  const sections = builtinSections.filter(({ functions }) => functions !== undefined);
  const calls = [
    ...sections.flatMap(({ entries, functions }) =>
      Object.entries(entries).map(([name, [call]]) => [call, functions![name]!] as const),
    ),
    ...Object.entries({ ...helperEntries, ...replacingEntries }).map(
      ([name, [call]]) => [call, helpers.get(name)!] as const,
    ),
  ];
  test.each(calls)("%s", (call, { takes }) => {
    const names = call
      .slice(call.indexOf("(") + 1, -1)
      .split(", ")
      .filter((name) => name !== "" && name !== "…");
    expect(names.length).toBeGreaterThanOrEqual(takes.length);
    expect(names.length - takes.length).toBeLessThanOrEqual(1);
  });
});

/** The record of one output, or why there is none. */
function made(expression: string, output_type: string): unknown {
  try {
    return compileTransforms([{ expression, output_name: "o", output_type }], undefined).apply({}, 0);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return error.detail;
  }
}

describe("names that share a rule of output_type convert alike", () => {
  const values = [`"4.9"`, `"x"`, "4.9", "-1", "true", "nil", "[1, nil]", `{"a": 1}`, `""`, `date("2024-03-01")`];
  test.each(outputRules.map(([names]) => [names]))("%j", ([first = "", ...others]) => {
    for (const other of others) {
      expect(values.map((value) => made(value, other))).toEqual(values.map((value) => made(value, first)));
    }
  });
});
