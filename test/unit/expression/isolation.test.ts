import { describe, expect, test } from "vitest";
import { compileTransforms } from "../../../engine/expression/index.ts";
import { inFilter, inTransform } from "./evaluate.ts";

describe("nothing outside the record can be reached", () => {
  test.each([
    ["constructor", "string own"],
    ["toString", "nil <nil>"],
    ["hasOwnProperty", "nil <nil>"],
    ["__proto__.k", "string own"],
    [`$env["__proto__"]["k"]`, "string own"],
    ["m.constructor", "nil <nil>"],
    ["m.__proto__", "nil <nil>"],
    [`m["toString"]`, "nil <nil>"],
    [`"constructor" in m`, "bool false"],
    [`"toString" in $env`, "bool false"],
    [`get(m, "constructor")`, "nil <nil>"],
    [`{"a": 1}.constructor`, "nil <nil>"],
    [`{"__proto__": {"x": 1}}.x`, "nil <nil>"],
    [`{"__proto__": {"x": 1}}.__proto__.x`, "int 1"],
    [`fromPairs([["__proto__", 1]]).constructor`, "nil <nil>"],
    [`groupBy(["__proto__"], #)`, "map map[__proto__:[__proto__]]"],
    ["globalThis", "nil <nil>"],
    ["process", "nil <nil>"],
    ["undefined", "nil <nil>"],
    ["this", "nil <nil>"],
    [`fromJSON("{\\"__proto__\\": {\\"x\\": 1}}").x`, "nil <nil>"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });

  test.each([
    "a.length",
    "s.length",
    "t.constructor",
    "a.constructor",
    "n.toFixed",
    "a.map(1)",
    `m.toString()`,
    `t.constructor()`,
    "missing.x.y",
  ])("%s fails", (expression) => {
    expect(inFilter(expression)).toMatch(/^fails: /);
  });

  test.each([
    "eval(t)",
    "require(t)",
    "constructor(t)",
    "toString(t, 1) + valueOf(t)",
    "Function(t)",
    "hasOwnProperty(t)",
  ])("%s is an unknown function", (expression) => {
    expect(inFilter(expression)).toMatch(/^refused: unknown function/);
  });

  test("a helper named like an inherited method is the helper", () => {
    expect(inTransform("toString(n)")).toBe("string 5");
  });
});

test.each(["now()", "now().Unix()", "string(now())"])("%s is the clock of the batch, twice the same", (expression) => {
  expect(inFilter(expression)).toBe(inFilter(expression));
  expect(inFilter("now().Unix()")).toBe("int 1714979289");
});

describe("a name in the text of an expression stays a name", () => {
  const names = [
    `"] + process.exit(1) + ["`,
    "'",
    "`${process.exit(1)}`",
    "\\",
    "\n",
    "\u2028",
    "__proto__",
    "constructor",
    "0",
  ];

  test.each(names)("as the key %j of a map", (name) => {
    const source = `$env[${JSON.stringify(name)}]`;
    const program = compileTransforms([{ output_name: "o", expression: source, output_type: "int" }], undefined);
    expect(program.apply(JSON.parse(`{${JSON.stringify(name)}: 7}`) as Record<string, unknown>, 0)).toEqual({ o: 7 });
  });

  test.each(names)("as the name %j of an output", (output_name) => {
    const program = compileTransforms([{ output_name, expression: "7", output_type: "int" }], undefined);
    expect(Object.entries(program.apply({}, 0))).toEqual([[output_name, 7]]);
  });
});

test("patterns take time in proportion to the text", () => {
  expect(inFilter(`repeat("a", 20000) matches "(a*)*b"`)).toBe("bool false");
  expect(inFilter(`repeat("ab", 120000) matches "(x|xx){1,1000}[yz]" + t`)).toMatch(
    /^fails: the evaluation needs more/,
  );
});
