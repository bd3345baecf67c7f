import { describe, expect, test } from "vitest";
import type { SchemaField } from "../../../schemas/pipeline.ts";
import { compileFilter, ExpressionError } from "../../../engine/expression/index.ts";

const fields: SchemaField[] = [
  { name: "level", type: "string" },
  { name: "code", type: "string" },
  { name: "status_code", type: "int" },
  { name: "retries", type: "uint" },
  { name: "amount", type: "float" },
  { name: "ok", type: "bool" },
  { name: "tags", type: "array" },
  { name: "attributes", type: "map" },
  { name: "user.id", type: "string" },
  { name: "user.age", type: "int" },
  { name: "odd name", type: "string" },
];

const event = {
  level: "ERROR",
  code: "7",
  status_code: 503,
  retries: 2,
  amount: 19.5,
  ok: true,
  tags: ["a", "b"],
  attributes: { k: "v", n: 7 },
  user: { id: "u1", age: 30 },
  "odd name": "x",
};

/** The message with which an expression is refused. */
function refusal(expression: string): string {
  try {
    compileFilter(expression, fields);
  } catch (error) {
    expect(error).toBeInstanceOf(ExpressionError);
    expect((error as ExpressionError).phase).toBe("compile");
    return (error as ExpressionError).message;
  }
  return "compiled";
}

describe("a filter keeps or drops the event", () => {
  test.each([
    [`level == "ERROR" and status_code >= 500`, true],
    [`level == "ERROR" && (status_code < 500 || not ok)`, false],
    [`level in ["WARN", "ERROR"]`, true],
    [`level not in ["WARN", "ERROR"]`, false],
    [`status_code == 503.0`, true],
    [`500 <= status_code < 600`, true],
    [`int(status_code) % 2 == 1`, true],
    [`user.id == "u1" and user.age > 18`, true],
    [`tags[0] == "a"`, true],
    [`attributes["k"] == "v"`, true],
    [`attributes.n > 5`, true],
    [`attributes.missing == nil`, true],
    [`any(tags, # == "b")`, true],
    [`user.plan == nil`, true],
    [`user.agee == nil`, true],
    [`$env["odd name"] == "x"`, true],
    [`$env["not declared"] == nil`, true],
    [`($env["not declared"] ?? "none") == "none"`, true],
    [`"level" in $env`, true],
    [`level matches "^ERR" and not (level matches "^err")`, true],
    [`let total = amount * retries; total > 30`, true],
    [`if ok { amount > 10 } else { false }`, true],
    [`len(tags) == 2 and len(level) == 5`, true],
    [`now().Year() == 2024`, true],
    [`true`, true],
  ])("%s: %s", (expression, kept) => {
    expect(compileFilter(expression, fields).matches(event, Date.UTC(2024, 0, 1))).toBe(kept);
  });
});

describe("an expression that can never work is refused before the first event", () => {
  test.each([
    ["", "the expression is blank (line 1, column 1)"],
    ["  \n ", "the expression is blank (line 1, column 1)"],
    ["levle == 1", "`levle`: unknown name: the schema declares no such field; did you mean level? (line 1, column 1)"],
    ["ok == null", "`null`: unknown name: the language has `nil` instead (line 1, column 7)"],
    ["lenn(tags) > 1", "`lenn(tags)`: unknown function lenn; did you mean len? (line 1, column 1)"],
    [`amount == "x"`, '`amount == "x"`: `==` cannot be applied to float and string (line 1, column 1)'],
    [
      `level > 5`,
      "`level > 5`: `>` compares two numbers, texts, times or durations, found string and int (line 1, column 1)",
    ],
    ["status_code % 2 == 0", "the numbers of an event are floats: write int(…) around them"],
    ['not level == "x"', "`not` expects a bool, found string; it binds tighter than a comparison: write not (…)"],
    ["level and ok", "`level`: `and` expects a bool, found string (line 1, column 1)"],
    ["ok ? 1 : 2", "`ok ? 1 : 2`: a filter is a bool, found int (line 1, column 1)"],
    ["level", "`level`: a filter is a bool, found string (line 1, column 1)"],
    ["1 in 0..status_code", "`..` cannot be applied to int and float: it takes integers"],
    ["level == now().Month()", "`==` cannot be applied to string and month"],
    ["get(level, 0) == 1", "get expects an array or a map, found string"],
    ["ok or nope(1)", "unknown function nope"],
    ["level[0] == 1", "`level[0]`: expected a map or an array before this, found string (line 1, column 1)"],
    ['upper(ok) == "X"', "`ok`: upper expects a text, found bool (line 1, column 7)"],
    ["toInt(code) > 5", "unknown function toInt"],
    ["let level = 1; ok", "the name level is already a field: choose another for the variable"],
    ["filter(tags, 1) == []", "the predicate of filter is a bool, found int"],
    ["ok and\n  levl == 1", "(line 2, column 3)"],
    ['level matches "["', "this is not a pattern of RE2"],
  ])("%s", (expression, expected) => {
    expect(refusal(expression)).toContain(expected);
  });

  test.each([
    ["int(code) > 5", "int expects a text of digits, found another text, when every field has its zero value"],
    [
      `date(code) > date("2024-01-01")`,
      "date does not know the format of the text, when every field has its zero value",
    ],
    ["fromJSON(code).x == 1", "fromJSON expects a text that is JSON"],
    [`split(code, "/")[1] == "x"`, "index 1 is outside an array of 1, when every field has its zero value"],
    [`let parts = split(code, "/"); parts[1] == "x"`, "index 1 is outside an array of 1"],
    ["int(code) > 5 and tags[0] == 1", "int expects a text of digits"],
  ])("%s fails on the zero values of the schema", (expression, expected) => {
    expect(refusal(expression)).toContain(expected);
  });

  test.each(["tags[0] == 1", "attributes.n > 5", "attributes.flag", "let t = tags[0]; t > 1", "user.age > tags[0]"])(
    "%s depends on what an array or a map holds, and is allowed",
    (expression) => {
      expect(() => compileFilter(expression, fields)).not.toThrow();
    },
  );

  test("without fields every name is unknown", () => {
    expect(() => compileFilter("a == 1", [])).toThrow("unknown name: the schema declares no field");
    expect(compileFilter("1 < 2", []).matches({}, 0)).toBe(true);
  });
});

/** The messages of the warnings of an expression that compiles. */
function doubts(expression: string): string[] {
  return compileFilter(expression, fields).warnings.map(({ message }) => message);
}

test("a nested field that is not declared is a doubt only where its name is like that of one that is", () => {
  expect(doubts("user.plan == nil")).toEqual([]);
  expect(doubts("user.agee == nil")).toEqual([
    "`agee`: the schema declares no such field here; did you mean age? (line 1, column 6)",
  ]);
});

describe("an event on which the expression fails is no result at all", () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      "amount > 18",
      {},
      "`amount > 18`: expected two numbers, texts, times or durations, found nil and int (line 1, column 1)",
    ],
    ["amount > 18", { amount: "19" }, "found string and int"],
    ["user.age > 1", {}, "`user.age`: expected a map or an array before a key, found nil; ?. yields nil instead"],
    ["ok", { ok: null }, "`ok`: a filter is a bool, found nil (line 1, column 1)"],
    ["ok", { ok: "yes" }, "`ok`: a filter is a bool, found string (line 1, column 1)"],
    ["ok and ok", { ok: null }, "a filter is a bool, found nil"],
    ["ok or ok", { ok: null }, "`or` expects a bool, found nil"],
    ["not ok", {}, "`not` expects a bool, found nil"],
    ["tags[0] == 1", { tags: [] }, "`tags[0]`: index 0 is outside an array of 0 (line 1, column 1)"],
    ['upper(level) == "X"', { level: 5 }, "`level`: upper expects a text, found float (line 1, column 7)"],
  ])("%s on %j: %s", (expression, record, expected) => {
    const filter = compileFilter(expression, fields);
    expect(() => filter.matches(record, 0)).toThrow(ExpressionError);
    expect(() => filter.matches(record, 0)).toThrow(expected);
  });

  test.each<[string, Record<string, unknown>, boolean]>([
    ["amount == nil", {}, true],
    [`level == "gold"`, {}, false],
    [`level contains "x"`, {}, false],
    [`level in tags`, {}, false],
    ["(amount ?? 0) > 1", {}, false],
  ])("%s on %j is %s", (expression, record, kept) => {
    expect(compileFilter(expression, fields).matches(record, 0)).toBe(kept);
  });

  test("the message never holds a value of the event", () => {
    const filter = compileFilter(`amount > 18`, fields);
    expect(() => filter.matches({ amount: "hunter2" }, 0)).not.toThrow("hunter2");
  });
});

test("a filter works again after an event on which it failed", () => {
  const filter = compileFilter("amount > 18", fields);
  expect(() => filter.matches({}, 0)).toThrow(ExpressionError);
  expect(filter.matches({ amount: 19 }, 0)).toBe(true);
});
