import { describe, expect, test } from "vitest";
import { compileTransforms, ExpressionError } from "../../../engine/expression/index.ts";

function converted(expression: string, output_type: string, record: Record<string, unknown> = {}): unknown {
  return compileTransforms([{ output_name: "o", expression, output_type }], undefined).apply(record, 0)["o"];
}

const tables: Record<string, [expression: string, expected: unknown][]> = {
  string: [
    [`"a"`, "a"],
    ["true", "true"],
    ["1e21", "1000000000000000000000"],
    ["1.5", "1.5"],
    ["7", "7"],
    ["nil", null],
    [`duration("90m")`, "1h30m0s"],
    [`date("2024-05-01").Month()`, "May"],
    [`timezone("Europe/Berlin")`, "Europe/Berlin"],
    [`first(toString("a"))`, "97"],
    [`date("2024-03-01T10:20:30Z")`, "2024-03-01 10:20:30 +0000 UTC"],
  ],
  int: [
    ["4.9", 4],
    ["-4.9", -4],
    ["-0.5", 0],
    ["true", 1],
    ["false", 0],
    ["nil", null],
    [`""`, 0],
    [`"4.9"`, 4],
    [`"-4.9"`, -4],
    [`"0x10"`, 16],
    [`"0x1F"`, 31],
    [`"010"`, 8],
    [`"0b11"`, 3],
    [`"1_000"`, 1000],
    [`"0x_1F"`, 31],
    [`"0_17"`, 15],
    [`"1.9"`, 1],
    ["9007199254740993", 9007199254740993n],
    [`"9223372036854775807"`, 9223372036854775807n],
    ["9007199254740991", 9007199254740991],
    [`duration("1.5s")`, 1_500_000_000],
    [`date("2024-05-01").Month()`, 5],
    [`date("2024-05-01").Weekday()`, 3],
    [`first(toString("a"))`, 97],
  ],
  uint: [
    ["4.9", 4],
    ["0", 0],
    [`"12"`, 12],
    ["9223372036854775807", 9223372036854775807n],
    [`"18446744073709551615"`, 18446744073709551615n],
  ],
  float64: [
    ["5", 5],
    ["2.5", 2.5],
    ["true", 1],
    ["nil", null],
    [`"2.5"`, 2.5],
    [`"1e3"`, 1000],
    [`""`, 0],
    [`duration("1.5s")`, 1_500_000_000],
    [`date("2024-05-01").Month()`, 5],
  ],
  bool: [
    ["true", true],
    ["nil", null],
    ["0", false],
    ["0.1", true],
    [`first(toString("a"))`, true],
    ["-1", true],
    ...["1", "t", "T", "TRUE", "true", "True"].map((word): [string, boolean] => [`"${word}"`, true]),
    ...["0", "f", "F", "FALSE", "false", "False"].map((word): [string, boolean] => [`"${word}"`, false]),
  ],
  "[]string": [
    [`["a", "b"]`, ["a", "b"]],
    [`split("a,b", ",")`, ["a", "b"]],
    ["[1, true, nil]", ["1", "true", ""]],
    ["nil", null],
  ],
  array: [
    [`[1, 2.5, "a", nil, {"b": [3]}]`, [1, 2.5, "a", null, { b: [3] }]],
    ["1..3", [1, 2, 3]],
    [`"text"`, "text"],
  ],
  map: [
    [`{"a": 1, "b": {"c": nil}}`, { a: 1, b: { c: null } }],
    [`groupBy(["x", "y", "x"], #)`, { x: ["x", "x"], y: ["y"] }],
    [`{"at": date("2024-03-01"), "took": duration("1s")}`, { at: "2024-03-01T00:00:00Z", took: 1_000_000_000 }],
  ],
};

describe.each(Object.entries(tables))("output_type %s", (output_type, rows) => {
  test.each(rows)("of %s is %s", (expression, expected) => {
    expect(converted(expression, output_type)).toEqual(expected);
  });
});

test.each([
  ["string", "[1]", "output_type string cannot be made of this: found array"],
  ["string", "{}", "output_type string cannot be made of this: found map"],
  ["int", `"x"`, "output_type int cannot be made of this: found a text that cannot be converted"],
  ["int", `"1e3"`, "output_type int cannot be made of this: found a text that cannot be converted"],
  ["int", `"08"`, "output_type int cannot be made of this: found a text that cannot be converted"],
  ...["0x_", "-0x_", "0b_", "0o_", "0x", "1_", "1__0", "0x1_", "_1"].map((text): [string, string, string] => [
    "int",
    `"${text}"`,
    "output_type int cannot be made of this: found a text that cannot be converted",
  ]),
  ["uint", `"0o_"`, "output_type uint cannot be made of this: found a text that cannot be converted"],
  ["int", "[1]", "output_type int cannot be made of this: found array"],
  ["int", "1e19", "output_type int: the number is outside -9223372036854775808 to 9223372036854775807"],
  ["int", "0 / 0", "output_type int has no NaN and no infinity"],
  ["int", `"9223372036854775808"`, "output_type int: the number is outside"],
  ["uint", "-1", "output_type uint: the number is outside 0 to 18446744073709551615"],
  ["float64", "1 / 0", "output_type float64 has no NaN and no infinity"],
  ["float64", "0 / 0", "output_type float64 has no NaN and no infinity"],
  ["float64", `"x"`, "output_type float64 cannot be made of this"],
  ["float64", "[]", "output_type float64 cannot be made of this: found array"],
  ["bool", `""`, "output_type bool cannot be made of this: found a text that cannot be converted"],
  ["bool", `"yes"`, "output_type bool cannot be made of this: found a text that cannot be converted"],
  ["bool", "[]", "output_type bool cannot be made of this: found array"],
  ["[]string", `"a"`, "output_type []string cannot be made of this"],
  ["array", "[1 / 0]", "a record has no NaN and no infinity"],
  ["map", "groupBy([1, 2], #)", "a record has texts as keys, found int"],
])("output_type %s of %s is an error: %s", (output_type, expression, expected) => {
  expect(() => converted(expression, output_type)).toThrow(ExpressionError);
  expect(() => converted(expression, output_type)).toThrow(expected);
});

test.each([
  ["float", "float64", "2"],
  ["float32", "float64", "2"],
  ["int64", "int", "2.5"],
  ["int8", "int", "2.5"],
  ["uint16", "uint", "2.5"],
])("output_type %s is %s", (alias, output_type, expression) => {
  expect(converted(expression, alias)).toBe(converted(expression, output_type));
});
