import { describe, expect, test } from "vitest";
import { assign, matches } from "../../../reconciler/pipeline-tests/match.ts";

describe("a found value matches", () => {
  test.each([
    ["fewer members, at any depth", { a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 }],
    ["a whole list", { a: [1, { b: 2 }] }, { a: [1, { b: 2, c: 3 }] }],
    ["a missing member where null is expected", { a: null }, {}],
    ["a pattern", { $matches: "^or.*s$" }, "orders"],
    ["a pattern and a number", { $matches: "^1" }, 12],
    ["another spelling of a number", 9.5, 9.5],
    ["a bigint by its digits", 9007199254740993n, 9007199254740993n],
    ["a bigint as a text", "9007199254740993", 9007199254740993n],
  ])("%s", (_title, expected, found) => expect(matches(expected, found)).toBe(true));
});

describe("a found value does not match", () => {
  test.each([
    ["another member", { a: 1 }, { a: 2 }],
    ["a member that is missing", { a: 1 }, { b: 1 }],
    ["one of a prototype", { toString: null }, { toString: 1 }],
    ["a longer list", [1], [1, 2]],
    ["a list in another order", [1, 2], [2, 1]],
    ["a text for a number", "1", 1],
    ["a neighbour of a large number", 9007199254740993n, 9007199254740992n],
    ["a pattern and a mapping", { $matches: "." }, { a: 1 }],
    ["a value where null is expected", { a: null }, { a: 0 }],
  ])("%s", (_title, expected, found) => expect(matches(expected, found)).toBe(false));
});

test("as many as possible are assigned, whatever is taken first", () => {
  const found = [{ id: 1, n: 1 }, { id: 1, n: 2 }, { id: 2 }];
  expect(assign([{ id: 1 }, { id: 1, n: 1 }], found)).toEqual({ partners: [1, 0], left: [2] });
  expect(assign([{ id: 3 }, { id: 2 }], found)).toEqual({ partners: [undefined, 2], left: [0, 1] });
});

test("thousands of equal rows are assigned in a time that does not grow with their cube", () => {
  const rows = Array.from({ length: 5_000 }, () => ({ id: 1 }));
  expect(assign(rows, [...rows, { id: 2 }]).left).toEqual([5_000]);
});
