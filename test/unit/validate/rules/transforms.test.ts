import { describe, expect, test } from "vitest";
import { changed, changedIn, goodPipeline, joinPipeline, kafkaPipeline } from "../../../support/pipeline-file.ts";
import { remarks, said } from "./remarks.ts";

const kafka = (...passages: string[]) => changedIn(kafkaPipeline, ...passages);
const filter = (expression: string) => kafka("amount > 0", expression);
const more = (transform: string) => kafka("sink:\n", `  - ${transform}\nsink:\n`);
const output = "transforms[2].config.transforms[1]";

describe("dedup", () => {
  remarks([
    {
      title: "a key that is no field",
      content: kafka("key: id", "key: ib"),
      code: "FIELD_REFERENCE",
      path: "transforms[1].config.key",
      at: "ib,",
      found: '"ib"',
      suggestion: 'did you mean "id"?',
    },
    {
      title: "a key inside of a field that is declared",
      content: kafka("key: id", "key: user.id"),
      code: "FIELD_REFERENCE",
      path: "transforms[1].config.key",
      at: "user.id",
      found: '"user.id"',
      suggestion: 'declare "user.id" in schema_fields of source "orders"',
    },
    {
      title: "a list with a name that is no field",
      content: kafka("key: id", "key: [id, ib]"),
      code: "FIELD_REFERENCE",
      path: "transforms[1].config.key[1]",
      at: "ib]",
      found: '"ib"',
      suggestion: 'did you mean "id"?',
    },
    {
      title: "an object of which one value is no field",
      content: kafka("key: id", `key: '{"id":id,"b":ib}'`),
      code: "FIELD_REFERENCE",
      path: "transforms[1].config.key",
      at: `'{"id"`,
      found: '"ib"',
      suggestion: 'did you mean "id"?',
    },
    {
      title: "a list of none",
      content: kafka("key: id", "key: []"),
      code: "VALUE",
      path: "transforms[1].config.key",
      at: "[]",
      found: "a list",
    },
    {
      title: "one field twice",
      content: kafka("key: id", "key: [id, id]"),
      code: "VALUE",
      path: "transforms[1].config.key",
      at: "[id, id]",
      found: "a list",
    },
    {
      title: "a fraction among several fields",
      content: kafka("key: id", "key: [id, amount]"),
      code: "DEDUP_KEY",
      path: "transforms[1].config.key[1]",
      at: "amount]",
      found: "one of type float",
    },
    {
      title: "a blank key",
      content: kafka("key: id", "key: ' '"),
      code: "VALUE",
      path: "transforms[1].config.key",
      at: "' '",
      found: "an empty text",
    },
    ...["0", "169h", "8d", "+168h1ns"].map((window) => ({
      title: `a window of ${window}`,
      content: kafka("time_window: 24h", `time_window: "${window}"`),
      code: "DURATION" as const,
      path: "transforms[1].config.time_window",
      at: `"${window}"`,
      found: `"${window}"`,
    })),
    {
      title: "a window that is a number",
      content: kafka("time_window: 24h", "time_window: 24"),
      code: "TYPE",
      path: "transforms[1].config.time_window",
      at: "24 }",
      found: "the number 24",
      suggestion: 'write "24s"',
    },
    {
      title: "a window in days and in words",
      content: kafka("time_window: 24h", "time_window: 1 day"),
      code: "DURATION",
      path: "transforms[1].config.time_window",
      at: "1 day",
      found: '"1 day"',
      suggestion: 'write "24h"',
    },
    {
      title: "two for a source",
      content: more("{ type: dedup, source_id: orders, config: { key: amount, time_window: 1h } }"),
      code: "TRANSFORM_COUNT",
      path: "transforms[3]",
      at: "{ type: dedup",
      found: "another one",
    },
    {
      title: "a key that is a fraction",
      content: kafka("key: id", "key: amount"),
      code: "DEDUP_KEY",
      path: "transforms[1].config.key",
      at: "amount,",
      found: "one of type float",
    },
    {
      title: "a key that is a mapping",
      content: kafka("key: id", "key: user"),
      code: "DEDUP_KEY",
      path: "transforms[1].config.key",
      at: "user,",
      found: "one of type map",
    },
  ]);

  test.each(["168h", "7d", "1ns", "1d12h30m"])("a window of %s is good", (window) => {
    expect(said(kafka("time_window: 24h", `time_window: ${window}`))).toEqual([]);
  });
});

describe("filter", () => {
  remarks([
    {
      title: "always true",
      content: filter("'true'"),
      code: "FILTER_CONSTANT",
      path: "transforms[0].config.expression",
      at: "'true'",
      found: "true: every event is kept",
    },
    {
      title: "never true",
      content: filter("' false'"),
      code: "FILTER_CONSTANT",
      path: "transforms[0].config.expression",
      at: "' false'",
      found: "false: every event is dropped",
    },
    {
      title: "a text beside a number",
      content: filter(`'id == "1"'`),
      code: "EXPRESSION",
      path: "transforms[0].config.expression",
      at: 'id == "1"',
      found: 'an error: `id == "1"`: `==` cannot be applied to float and string',
    },
    {
      title: "a text beside a number, where the code may not run",
      content: filter(`'amount > 0 or id == "1"'`),
      code: "EXPRESSION_BRANCH",
      path: "transforms[0].config.expression",
      at: 'id == "1"',
      found: 'an error where it runs: `id == "1"`: `==` cannot be applied to float and string',
    },
    {
      title: "a nested field whose name is like that of a declared one",
      content: changedIn(
        kafka("amount > 0", "'user.idd == nil'"),
        "- { name: user,",
        "- { name: user.id, type: string }\n      - { name: user,",
      ),
      code: "EXPRESSION_FIELD",
      path: "transforms[0].config.expression",
      at: "idd",
      found: "`idd`: the schema declares no such field here; did you mean id?",
    },
    {
      title: "a duration in days",
      content: filter(`'duration("1d") > duration("1h")'`),
      code: "EXPRESSION",
      path: "transforms[0].config.expression",
      at: 'duration("1d")',
      found:
        'an error: `duration("1d")`: expected a duration such as 1h30m or 250ms (units: ns us ms s m h), found another text, when every field has its zero value ("", 0, false, [], {})',
      suggestion: 'write "24h"',
    },
    {
      title: "a helper of stateless transforms",
      content: filter(`'toInt(id) > 1'`),
      code: "EXPRESSION",
      path: "transforms[0].config.expression",
      at: "toInt(id)",
      found: "an error: `toInt(id)`: unknown function toInt",
    },
    {
      title: "two on two sources",
      content: changedIn(
        joinPipeline.replace("enabled: true", "enabled: false"),
        "join:\n",
        "transforms:\n  - { type: filter, source_id: orders, config: { expression: id > 1 } }\n  - { type: filter, source_id: users, config: { expression: name != nil } }\njoin:\n",
      ),
      code: "TRANSFORM_COUNT",
      path: "transforms[1]",
      at: "{ type: filter",
      found: "another one",
    },
  ]);

  test("one over lists and mappings compiles", () => {
    expect(said(filter(`'user["name"] == "x" and len(user) > 0 or amount > 1'`))).toEqual([]);
  });
});

describe("stateless", () => {
  remarks([
    {
      title: "an unknown name",
      content: kafka("amount * 2", "amuont * 2"),
      code: "EXPRESSION",
      path: `${output}.expression`,
      at: "amuont",
      found: "an error: `amuont`: unknown name: the schema declares no such field; did you mean amount?",
    },
    {
      title: "kinds that do not fit together in one branch",
      content: kafka("amount * 2", `'amount > 0 ? 1 : upper(amount + "x")'`),
      code: "EXPRESSION_BRANCH",
      path: `${output}.expression`,
      at: `amount + "x"`,
      found: 'an error where it runs: `amount + "x"`: `+` cannot be applied to float and string',
    },
    {
      title: "an unknown name in one branch",
      content: kafka("amount * 2", `'amount > 0 ? 1 : amuont'`),
      code: "EXPRESSION",
      path: `${output}.expression`,
      at: "amuont",
      found: "an error: `amuont`: unknown name: the schema declares no such field; did you mean amount?",
    },
    {
      title: "what breaks off",
      content: kafka("amount * 2", "'amount *'"),
      code: "EXPRESSION",
      path: `${output}.expression`,
      at: "', output_name: double",
      found: "an error: expected a value, the expression ends",
    },
    {
      title: "another output, which no expression sees",
      content: kafka("amount * 2", "id + double"),
      code: "EXPRESSION",
      path: `${output}.expression`,
      at: "double, output_name",
      found: "an error: `double`: unknown name: the schema declares no such field",
    },
    {
      title: "a function that is none",
      content: kafka("amount * 2", "round2(amount)"),
      code: "EXPRESSION",
      path: `${output}.expression`,
      at: "round2",
      found: "an error: `round2(amount)`: unknown function round2; did you mean round?",
    },
    {
      title: "a blank expression",
      content: kafka("amount * 2", "' '"),
      code: "EXPRESSION",
      path: `${output}.expression`,
      at: "' '",
      found: "an empty text",
    },
    {
      title: "no outputs",
      content: kafka(
        `      transforms:
        - { expression: id, output_name: id, output_type: int64 }
        - { expression: amount * 2, output_name: double, output_type: float64 }`,
        "      transforms: []",
      ),
      code: "VALUE",
      path: "transforms[2].config.transforms",
      at: "[]",
      found: "a list",
    },
    {
      title: "a blank name",
      content: kafka("output_name: double", "output_name: ''"),
      code: "VALUE",
      path: `${output}.output_name`,
      at: "''",
      found: "an empty text",
    },
    {
      title: "a name twice",
      content: kafka("output_name: double", "output_name: id"),
      code: "DUPLICATE_NAME",
      path: `${output}.output_name`,
      at: "id, output_type: float64",
      found: '"id" again, after line 28',
    },
    {
      title: "a type that is none",
      content: kafka("output_type: float64", "output_type: flaot64"),
      code: "VALUE",
      path: `${output}.output_type`,
      at: "flaot64",
      found: '"flaot64"',
      suggestion: 'did you mean "float64"?',
    },
    {
      title: "a column of a field of the source, which is gone",
      content: kafka("name: double, column", "name: amount, column"),
      code: "FIELD_REFERENCE",
      path: "sink.mapping[1].name",
      at: "amount, column_name",
      found: '"amount"',
    },
    {
      title: "an output that no column takes",
      content: kafka("    - { name: double, column_name: double, column_type: Float64 }\n", ""),
      code: "UNUSED",
      path: `${output}.output_name`,
      at: "double, output_type",
      found: 'none for "double"',
    },
    {
      title: "a column that the output cannot feed",
      content: kafka("column_type: Float64", "column_type: UUID"),
      code: "COLUMN_MISMATCH",
      path: "sink.mapping[1].column_type",
      at: "UUID",
      found: '"UUID"',
    },
    {
      title: "two of them",
      content: more(
        "{ type: stateless, source_id: orders, config: { transforms: [{ expression: id, output_name: id, output_type: int }] } }",
      ),
      code: "TRANSFORM_COUNT",
      path: "transforms[3]",
      at: "{ type: stateless",
      found: "another one",
    },
    {
      title: "in front of the filter",
      content: kafka(
        "  - type: filter\n    source_id: orders\n    config: { expression: amount > 0 }\n",
        "",
        "sink:\n",
        "  - type: filter\n    source_id: orders\n    config: { expression: amount > 0 }\nsink:\n",
      ),
      code: "TRANSFORM_ORDER",
      path: "transforms[2].type",
      at: "filter",
      found: '"filter" after "stateless"',
    },
  ]);

  test("every expression that does not compile is told, once for each text", () => {
    const outputs = Array.from({ length: 40 }, (_, n) => {
      const expression = n % 3 === 0 ? `missing${n}` : n % 3 === 1 ? "id + 1" : "gone";
      return `        - { expression: ${expression}, output_name: o${n}, output_type: int }\n`;
    });
    const content = kafka(
      "        - { expression: amount * 2, output_name: double, output_type: float64 }\n",
      outputs.join(""),
    );
    const told = said(content).filter(({ code }) => code === "EXPRESSION");
    expect(told.map(({ line }) => line)).toEqual([29, 31, ...Array.from({ length: 13 }, (_, n) => 29 + 3 * (n + 1))]);
  });

  test("helpers, nil and lists compile", () => {
    expect(said(kafka("amount * 2", "'toInt(user?.age ?? 0) + int(id) % 2'"))).toEqual([]);
  });
});

test("what is not supported yet has its other problems too", () => {
  const content = changed("type: filter", "type: dedup").replace(
    "expression: amount > 0",
    "key: idd\n      time_window: 9d",
  );
  expect(content).not.toBe(goodPipeline);
  const codes = said(content).map(({ code, path }) => `${code} ${path}`);
  expect(codes).toEqual(["FIELD_REFERENCE transforms[0].config.key", "DURATION transforms[0].config.time_window"]);
});
