import { describe, expect, test } from "vitest";
import { answerPurely } from "../../../reconciler/api/pure/pure-call.ts";
import type { PureAnswer, PurePath } from "../../../reconciler/api/pure/pure-call.ts";

function answer(path: PurePath, body: unknown): PureAnswer {
  return answerPurely(path, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}

function told(path: PurePath, body: unknown): unknown[] {
  const { status, body: text } = answer(path, body);
  const { code, message } = JSON.parse(text) as { code: string; message: string };
  return [status, code, message];
}

const paths = [
  "/api/v1/filter/validate",
  "/api/v1/transform/expression/evaluate",
  "/api/v1/pipeline/migrate-preview",
] as const;

describe.each(paths)("%s", (path) => {
  test.each([
    ["an empty body", "", "expected a body that is JSON, found an empty one"],
    ["white space", " \n", "expected a body that is JSON, found an empty one"],
    ["half of a body", '{"a":', "expected a body that is JSON, found text that is not"],
    ["two bodies", "{}{}", "expected a body that is JSON, found text that is not"],
    ["bytes that are no text", "\u0000\u0001", "expected a body that is JSON, found text that is not"],
  ])("refuses %s", (_title, body, message) => {
    expect(told(path, body)).toEqual([400, "bad_request", message]);
  });

  test.each(["null", "[]", "1", '"text"', "[".repeat(300_000) + "]".repeat(300_000)])(
    "refuses a body of another kind",
    (body) => {
      expect(told(path, body)[0]).toBe(422);
    },
  );
});

describe("filter/validate", () => {
  const path = "/api/v1/filter/validate";
  const fields = [
    { field_name: "age", field_type: "int64" },
    { field_name: "user.name", field_type: "bytes" },
    { field_name: "at", field_type: "datetime" },
    { field_name: "tags", field_type: "array" },
  ];

  test.each([
    "age > 18",
    'user.name startsWith "a" and at != ""',
    'len(tags) > 2 and tags[0] == "x"',
    "int(age) % 2 == 0",
  ])("%s fits", (expression) => {
    expect(answer(path, { expression, fields })).toEqual({ status: 200, body: "{}" });
  });

  const scalars = { text: "string", flag: "bool", count: "int", size: "uint", ratio: "float", at: "datetime" };
  const others = Object.keys(scalars).filter((name) => name !== "flag");
  test.each(others.flatMap((name) => [`flag and ${name}`, `true or ${name}`]))(
    "%s is no pair that fits",
    (expression) => {
      const declared = Object.entries(scalars).map(([field_name, field_type]) => ({ field_name, field_type }));
      const message = expect.stringMatching(/`(and|or)` expects a bool, found (string|float)/) as string;
      expect(told(path, { expression, fields: declared })).toEqual([400, "validation_error", message]);
    },
  );

  test("no field is a schema too", () => {
    expect(answer(path, { expression: "true", fields: [] }).status).toBe(200);
  });

  test.each([
    [" ", "the expression is blank (line 1, column 1)"],
    ["age >", "expected a value, the expression ends"],
    ["agee > 1", "unknown name"],
    ["null == age", "the language has `nil` instead"],
    ["age + 1", "a filter is a bool"],
    ['age == "x"', "cannot be applied to"],
    ["int(user.name) > 5", "when every field has its zero value"],
  ])("%s does not: %s", (expression, message) => {
    expect(told(path, { expression, fields })).toEqual([400, "validation_error", expect.stringContaining(message)]);
  });

  test("the refusal has a place", () => {
    const { body } = answer(path, { expression: "age > 1\n  and agee < 5", fields });
    expect(JSON.parse(body)).toMatchObject({ details: { part: "agee", line: 2, column: 7, offset: 14, end: 18 } });
  });

  test("an unknown type is refused", () => {
    expect(told(path, { expression: "true", fields: [{ field_name: "a", field_type: "decimal" }] })).toEqual([
      400,
      "validation_error",
      'fields[0].field_type: expected the name of a field type, got "decimal"',
    ]);
  });

  test.each([
    [{}, "the body must have required property 'expression'"],
    [{ expression: "true" }, "the body must have required property 'fields'"],
    [{ expression: "", fields }, "expression must NOT have fewer than 1 characters"],
    [{ expression: 1, fields }, "expression must be string"],
    [{ expression: "true", fields: {} }, "fields must be array"],
    [{ expression: "true", fields: [1] }, "fields.0 must be object"],
    [{ expression: "true", fields, more: 1 }, 'the body must NOT have additional properties: "more"'],
    [{ expression: "true", fields: [{ field_name: "a" }] }, "fields.0 must have required property 'field_type'"],
  ])("the shape %j: %s", (body, message) => {
    expect(told(path, body)).toEqual([422, "", `validation failed: ${message}`]);
  });
});

/** A body of the evaluate call with one output. */
function asked(expression: string, output_type = "string", sample: unknown = {}): unknown {
  return {
    type: "expr_lang_transform",
    config: { transform: [{ expression, output_name: "o", output_type }] },
    sample,
  };
}

describe("transform/expression/evaluate", () => {
  const path = "/api/v1/transform/expression/evaluate";
  test("the outputs come back, keys sorted", () => {
    const transform = [
      { expression: "upper(name)", output_name: "z", output_type: "string" },
      { expression: "age + 1", output_name: "a", output_type: "int" },
    ];
    const body = { type: "expr_lang_transform", config: { transform }, sample: { name: "ann", age: 1 } };
    expect(answer(path, body)).toEqual({ status: 200, body: '{"a":2,"z":"ANN"}' });
  });

  test("integers keep their digits", () => {
    const body = JSON.stringify(asked("id", "int", { id: "ID" })).replace('"ID"', "9007199254740993");
    expect(answer(path, body).body).toBe('{"o":9007199254740993}');
  });

  test("a field that the sample lacks is nil", () => {
    expect(answer(path, asked(`anything ?? "none"`)).body).toBe('{"o":"none"}');
  });

  test.each([
    ["upper(", "o: expected a value"],
    ["nope(1)", "o: `nope(1)`: unknown function nope"],
    ["user.name", "o: `user.name`: expected a map or an array"],
    ["1 / 0 > nil", "found float and nil"],
    ["sum(map(1..900000, sum(1..100)))", "needs more time or memory"],
    ['map(1..900000, repeat("x", 100))', "needs more time or memory|are larger than the limit"],
  ])("%s fails: %s", (expression, message) => {
    expect(told(path, asked(expression, "array"))).toEqual([
      400,
      "transformation_error",
      expect.stringMatching(message.replaceAll(/[().]/g, "\\$&")),
    ]);
  });

  test("an unknown output_type is refused", () => {
    expect(told(path, asked("1", "decimal"))).toEqual([
      400,
      "transformation_error",
      expect.stringContaining("unknown output_type decimal"),
    ]);
  });

  test("an answer that is too long is refused", () => {
    const sample = { text: "x".repeat(1_000_000) };
    expect(told(path, asked("[text, text, text, text, text]", "array", sample))).toEqual([
      400,
      "transformation_error",
      "the outputs are longer than 4194304 characters",
    ]);
  });

  test("another type of transformation is refused before its config is looked at", () => {
    expect(told(path, { type: "jq", config: 1, sample: {} })).toEqual([
      400,
      "invalid_transformation_type",
      'type: expected "expr_lang_transform", found another one',
    ]);
  });

  test.each([
    [{ type: "expr_lang_transform", config: {}, sample: {} }, "config must have required property 'transform'"],
    [
      { type: "expr_lang_transform", config: { transform: [] }, sample: {} },
      "config.transform must NOT have fewer than 1 items",
    ],
    [
      { type: "expr_lang_transform", config: { transforms: [] }, sample: {} },
      "config must have required property 'transform'",
    ],
    [{ type: "expr_lang_transform", config: { transform: [{}] } }, "the body must have required property 'sample'"],
    [{ ...(asked("1") as object), sample: [] }, "sample must be object"],
  ])("the shape %j: %s", (body, message) => {
    expect(told(path, body)).toEqual([422, "", `validation failed: ${message}`]);
  });
});

describe("pipeline/migrate-preview", () => {
  const path = "/api/v1/pipeline/migrate-preview";
  const v2 = {
    pipeline_id: "old-one",
    source: {
      type: "kafka",
      connection_params: { brokers: ["k:9092"] },
      topics: [{ name: "orders", id: "" }],
    },
    filter: { enabled: true, expression: "é > 1" },
    schema: { fields: [{ source_id: "orders", name: "id", type: "int", column_name: "id", column_type: "Int64" }] },
    sink: { type: "clickhouse", host: "ch", port: "9000", database: "d", table: "t", max_batch_size: 10 },
  };

  test("the v3 document comes back alone, what to look at stands in headers", () => {
    const { status, body, headers = {} } = answer(path, v2);
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ version: "v3", pipeline_id: "old-one", sources: [{ topic: "orders" }] });
    const warnings = JSON.parse(headers["X-Sluice-Warnings"]!) as { code: string; message: string }[];
    expect(warnings.length).toBeGreaterThan(0);
    expect(headers["X-Sluice-Warning-Count"]).toBe(String(warnings.length));
    expect(warnings.map(({ code }) => code)).toContain("V2_FILTER");
  });

  test("a header never grows long, nor holds what a header may not", () => {
    const fields = Array.from({ length: 500 }, (_, index) => ({
      source_id: "orders",
      name: `é\n${index}`,
      type: "nope",
    }));
    const { headers = {} } = answer(path, { ...v2, schema: { fields } });
    const text = headers["X-Sluice-Warnings"]!;
    expect(text.length).toBeLessThanOrEqual(4096);
    expect(text).toMatch(/^[ -~]*$/);
    expect((JSON.parse(text) as unknown[]).length).toBeLessThan(Number(headers["X-Sluice-Warning-Count"]));
  });

  test.each([
    ["a port that is a number", { ...v2, sink: { ...v2.sink, port: 9000 } }, "invalid v2 pipeline JSON"],
    ["topics that are no list", { ...v2, source: { ...v2.source, topics: {} } }, "invalid v2 pipeline JSON"],
    ["a join without its sides", { ...v2, join: { enabled: true, sources: [] } }, "conversion failed"],
  ])("%s is refused", (_title, body, message) => {
    expect(told(path, body)).toEqual([422, "unprocessable_entity", message]);
    const { details } = JSON.parse(answer(path, body).body) as { details: { error: string } };
    expect(details.error.length).toBeGreaterThan(10);
  });
});
