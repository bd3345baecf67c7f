import { describe, expect, test } from "vitest";
import type { SchemaField } from "../../../schemas/pipeline.ts";
import { compileTransforms, ExpressionError } from "../../../engine/expression/index.ts";

const fields: SchemaField[] = [
  { name: "id", type: "int" },
  { name: "name", type: "string" },
  { name: "price", type: "float" },
  { name: "tags", type: "array" },
  { name: "user", type: "map" },
  { name: "user.id", type: "int" },
];

function outputs(list: [output_name: string, expression: string, output_type: string][], record: object): object {
  const transforms = list.map(([output_name, expression, output_type]) => ({ output_name, expression, output_type }));
  return compileTransforms(transforms, fields).apply(record as Record<string, unknown>, Date.UTC(2024, 0, 1));
}

describe("a new record", () => {
  const record = { id: 7, name: "  Ann ", price: 2.5, tags: ["x"], user: { id: 1, team: "t" } };

  test("holds only the outputs, with sorted keys", () => {
    const made = outputs(
      [
        ["z", "trim(name)", "string"],
        ["a", "id + 1", "int"],
        ["user", "user", "map"],
      ],
      record,
    );
    expect(Object.entries(made)).toEqual([
      ["a", 8],
      ["user", { id: 1, team: "t" }],
      ["z", "Ann"],
    ]);
  });

  test("is made of the original record: no expression sees an output", () => {
    expect(
      outputs(
        [
          ["id", "id * 10", "int"],
          ["copy", "id", "int"],
        ],
        record,
      ),
    ).toEqual({ id: 70, copy: 7 });
  });

  test("has the last of two outputs with one name", () => {
    expect(
      outputs(
        [
          ["a", "1", "int"],
          ["a", "2", "int"],
        ],
        record,
      ),
    ).toEqual({ a: 2 });
  });

  test("leaves the original record as it was", () => {
    const before = structuredClone(record);
    outputs(
      [
        ["s", "sort(tags)", "array"],
        ["r", "reverse(tags)", "array"],
      ],
      record,
    );
    expect(record).toEqual(before);
  });

  test("may have keys that every object inherits", () => {
    const made = outputs(
      [
        ["__proto__", "id", "int"],
        ["constructor", "id", "int"],
      ],
      record,
    );
    expect(JSON.stringify(made)).toBe(`{"__proto__":7,"constructor":7}`);
  });

  test("sees the clock of the batch as now()", () => {
    expect(outputs([["day", "toDate(now())", "string"]], record)).toEqual({ day: "2024-01-01" });
  });
});

describe("what can never work is refused, with the name of the output", () => {
  test.each([
    [["o", "", "string"], "o: the expression is blank"],
    [["o", "nope", "string"], "o: `nope`: unknown name"],
    [["o", "nope(id)", "string"], "o: `nope(id)`: unknown function nope"],
    [["o", "id", "decimal"], "unknown output_type decimal: expected one of string"],
    [["o", "name + 1", "int"], "`+` cannot be applied to string and int"],
    [["o", "id % 2", "int"], "write int(…) around them"],
    [["o", "sort(toString(id))", "array"], "sort expects an array, found string"],
    [["o", "1..price", "array"], "`..` cannot be applied to int and float"],
  ] as [[string, string, string], string][])("%j: %s", (output, expected) => {
    expect(() => outputs([output], {})).toThrow(expected);
    expect(() => outputs([output], {})).toThrow(ExpressionError);
  });

  test("an expression is not tried on zero values", () => {
    expect(outputs([["o", "int(name)", "int"]], { name: "12" })).toEqual({ o: 12 });
  });

  test("a field declared as an integer is a position, also though the numbers of an event are floats", () => {
    expect(outputs([["o", "tags[id]", "string"]], { id: 1, tags: ["a", "b"] })).toEqual({ o: "b" });
  });

  test("fields declared as integers, and what is computed of them, are the ends of a range", () => {
    expect(outputs([["o", "-id..id - 1", "array"]], { id: 1 })).toEqual({ o: [-1, 0] });
  });

  test("a nested field that is not declared is what the event has", () => {
    const list: [string, string, string][] = [["o", `user.team ?? "none"`, "string"]];
    expect(outputs(list, { user: { id: 1, team: "t" } })).toEqual({ o: "t" });
    expect(outputs(list, { user: { id: 1 } })).toEqual({ o: "none" });
  });

  test("without a schema what a helper gives has a kind only where it runs", () => {
    const transforms = [{ output_name: "o", expression: "sort(toString(id))", output_type: "array" }];
    expect(compileTransforms(transforms, undefined).apply({ id: 1 }, 0)).toEqual({ o: [] });
  });

  test("without a schema a name that the record lacks is nil", () => {
    const transforms = [{ output_name: "o", expression: `anything ?? "none"`, output_type: "string" }];
    expect(compileTransforms(transforms, undefined).apply({}, 0)).toEqual({ o: "none" });
  });
});

test("an event on which one output fails gives no record, and the error names the output", () => {
  const list = [
    { output_name: "a", expression: "id", output_type: "int" },
    { output_name: "b", expression: "upper(name) + price", output_type: "string" },
  ];
  const transforms = compileTransforms(list, undefined);
  expect(transforms.apply({ id: 1, name: "x", price: "y" }, 0)).toEqual({ a: 1, b: "Xy" });
  expect(() => transforms.apply({ id: 1, name: "x", price: 5 }, 0)).toThrow(
    /^b: `upper\(name\) \+ price`: expected two numbers/,
  );
  expect(() => transforms.apply({ id: [], name: "x", price: "y" }, 0)).toThrow(
    "a: `id`: output_type int cannot be made of this: found array",
  );
});
