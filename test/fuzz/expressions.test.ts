import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Node } from "../../engine/expression/syntax/ast.ts";
import { BudgetExceeded } from "../../engine/expression/values/budget.ts";
import { check } from "../../engine/expression/check/check.ts";
import { compile } from "../../engine/expression/compile/compile.ts";
import { ExpressionError } from "../../engine/expression/syntax/errors.ts";
import { helpers } from "../../engine/expression/functions/helpers.ts";
import { compileFilter, compileTransforms } from "../../engine/expression/index.ts";
import { parse } from "../../engine/expression/syntax/parser.ts";
import { print } from "../../engine/expression/syntax/print.ts";
import { expressions, expressionTrees, records } from "../support/expressions.ts";
import { seed, triesOf } from "./tries.ts";

const numRuns = triesOf(400);
const timeout = 60_000 + numRuns * 20;

/** A tree without places; integers as text, so that failures can be shown. */
function shape(node: Node): unknown {
  const place = new Set(["start", "end"]);
  return JSON.parse(
    JSON.stringify(node, (key, value: unknown) => {
      if (place.has(key)) return undefined;
      return typeof value === "bigint" ? `integer ${value}` : value;
    }),
  );
}

test("a tree that is printed and parsed is the same tree", { timeout }, () => {
  fc.assert(
    fc.property(expressionTrees, (tree) => {
      const source = print(tree);
      expect(shape(parse(source)), source).toEqual(shape(tree));
      expect(print(parse(source))).toBe(source);
    }),
    { numRuns, seed },
  );
});

test("an evaluation gives a value or an ExpressionError, and reaches no function, class or global", { timeout }, () => {
  let values = 0;
  fc.assert(
    fc.property(expressions, records, (source, record) => {
      const before = JSON.stringify(record);
      try {
        const root = parse(source);
        check(root, source, helpers, undefined);
        const value = compile(root, source, helpers)(record, 0);
        expect(isData(value), source).toBe(true);
        values += 1;
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
        expect(
          error.cause === undefined || error.cause instanceof BudgetExceeded,
          `${source}: ${String(error.cause)}`,
        ).toBe(true);
      }
      expect(JSON.stringify(record)).toBe(before);
    }),
    { numRuns, seed },
  );
  expect(values).toBeGreaterThan(numRuns / 20);
});

/** Nothing but what records and expressions are made of: no function, and no object of another class. */
function isData(value: unknown): boolean {
  if (value === undefined || typeof value === "function" || typeof value === "symbol") return false;
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isData);
  if (value instanceof Map) return [...value].flat().every(isData);
  const { name } = Object.getPrototypeOf(value).constructor as { name: string };
  return name === "Object"
    ? Object.values(value).every(isData)
    : ["Time", "Duration", "Timezone", "Named"].includes(name);
}

test(
  "any text as an expression compiles or is refused with an ExpressionError that shows a place in it",
  { timeout },
  () => {
    const pieces = fc.constantFrom(
      ..."a 1 .5 \"x\" 'y' ` ( ) [ ] { } ? ?. ?? : ; , . .. # | let if else not in and == < + - ** % = @ // /* */ \\ é".split(
        " ",
      ),
    );
    const noise = fc.oneof(
      fc.array(pieces, { maxLength: 12 }).map((found) => found.join(" ")),
      fc.string({ maxLength: 40 }),
    );
    fc.assert(
      fc.property(noise, (source) => {
        try {
          compileFilter(source, [{ name: "a", type: "int" }]);
        } catch (error) {
          if (!(error instanceof ExpressionError)) throw error;
          expect(error.offset).toBeGreaterThanOrEqual(0);
          expect(error.offset).toBeLessThanOrEqual(source.length);
          expect(error.message).toMatch(/\(line \d+, column \d+\)$/);
        }
      }),
      { numRuns, seed },
    );
  },
);

test("what the check of a filter or a transform lets pass compiles, also in code that may not run", { timeout }, () => {
  const schema = [
    { name: "text", type: "string" },
    { name: "number", type: "int" },
    { name: "flag", type: "bool" },
    { name: "list", type: "array" },
    { name: "people", type: "array" },
    { name: "map", type: "map" },
  ] as const;
  // Where kinds that do not fit were forgiven, what comes behind is checked as well.
  const around = fc.constantFrom<(inner: string) => string>(
    (inner) => inner,
    (inner) => `flag or (${inner})`,
    (inner) => `flag or number >= "1" and (${inner})`,
    (inner) => `flag ? (${inner}) : 1 + "a"`,
    (inner) => `nothing ?? [text - 1, (${inner})]`,
    (inner) => `flag and any(list, 1 - "a" == (${inner}))`,
  );
  const misspelt = fc.constantFrom("", "lenght", "uper", "any2", "");
  let warned = 0;
  fc.assert(
    fc.property(expressions, around, misspelt, (inner, wrap, name) => {
      const source = wrap(name === "" ? inner : `[${inner}, ${name}(text)]`);
      for (const compiled of [
        () => compileFilter(source, schema),
        () => compileTransforms([{ expression: source, output_name: "o", output_type: "string" }], schema),
      ]) {
        try {
          if (compiled().warnings.length > 0) warned += 1;
        } catch (error) {
          if (!(error instanceof ExpressionError)) throw error;
        }
      }
    }),
    { numRuns, seed },
  );
  expect(warned).toBeGreaterThan(0);
});

test("what an output holds can be written as JSON, whatever the expression and the output type", { timeout }, () => {
  const types = fc.constantFrom("string", "int", "uint", "float64", "bool", "[]string", "array", "map");
  fc.assert(
    fc.property(expressions, types, records, (expression, output_type, record) => {
      try {
        const made = compileTransforms([{ expression, output_name: "o", output_type }], undefined).apply(record, 0);
        const text = JSON.stringify(made, (_, value: unknown) =>
          typeof value === "bigint" ? value.toString() : value,
        );
        expect(Object.keys(JSON.parse(text) as object)).toEqual(["o"]);
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
      }
    }),
    { numRuns, seed },
  );
});
