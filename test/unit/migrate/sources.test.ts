import { describe, expect, test } from "vitest";
import { convert } from "../../../reconciler/migrate/convert.ts";
import { valueOf } from "../../../reconciler/migrate/part.ts";
import { v2Field, v2Pipeline, v2Source, type V2 } from "../../support/version-2.ts";

function sourcesOf(over: V2): V2[] {
  return (valueOf(convert(v2Pipeline(over)).root) as { sources: V2[] }).sources;
}

function sourceOf(topic: V2, over: V2 = {}): V2 | undefined {
  return sourcesOf({ source: v2Source([{ name: "orders", ...topic }], over) })[0];
}

function remarksOf(over: V2): string[] {
  return convert(v2Pipeline(over)).remarks.map(({ code, finding }) => `${code} ${finding.path.join(".")}`);
}

test("each topic becomes a source, in their order, with the connection of the source", () => {
  const connection_params = { brokers: ["a:1", "b:2"], protocol: "SASL_SSL", mechanism: "PLAIN", username: "u" };
  const topics = [{ name: "users", id: "u" }, { name: "orders" }];
  const schema = { fields: [v2Field("orders", "id", "string"), v2Field("u", "name", "string")] };
  expect(sourcesOf({ source: v2Source(topics, { connection_params }), schema })).toEqual([
    {
      type: "kafka",
      source_id: "u",
      topic: "users",
      connection_params,
      schema_fields: [{ name: "name", type: "string" }],
    },
    {
      type: "kafka",
      source_id: "orders",
      topic: "orders",
      connection_params,
      schema_fields: [{ name: "id", type: "string" }],
    },
  ]);
});

describe("of a topic", () => {
  test.each<[string, V2, V2]>([
    ["an empty id is its name", { id: "" }, { source_id: "orders", topic: "orders" }],
    ["a null id is its name", { id: null }, { source_id: "orders", topic: "orders" }],
    ["the offset stays", { consumer_group_initial_offset: "latest" }, { consumer_group_initial_offset: "latest" }],
    ["the version of the schema stays", { schema_version: "3" }, { schema_version: "3" }],
    [
      "a registry with an address stays",
      { schema_registry: { url: "http://r", api_key: "k", api_secret: "s", other: 1 } },
      { schema_registry: { url: "http://r", api_key: "k", api_secret: "s" } },
    ],
  ])("%s", (_, topic, expected) => {
    expect(sourceOf(topic)).toMatchObject(expected);
  });

  test.each<[string, V2, string]>([
    ["a registry without an address", { schema_registry: { url: "", api_key: "k" } }, "schema_registry"],
    ["an empty offset", { consumer_group_initial_offset: "" }, "consumer_group_initial_offset"],
    ["an empty version", { schema_version: "" }, "schema_version"],
  ])("%s goes", (_, topic, key) => {
    expect(sourceOf(topic)).not.toHaveProperty(key);
  });
});

describe("the connection", () => {
  test("that is absent stays absent", () => {
    expect(sourceOf({}, { connection_params: null })).not.toHaveProperty("connection_params");
  });

  test("keeps what v3 knows, without empty texts", () => {
    const connection_params = { brokers: ["a:1"], protocol: "SSL", skip_auth: false, root_ca: "", provider: "x" };
    expect(sourceOf({}, { connection_params })).toMatchObject({
      connection_params: { brokers: ["a:1"], protocol: "SSL", skip_auth: false },
    });
    expect(Object.keys((sourceOf({}, { connection_params })?.["connection_params"] ?? {}) as V2)).toHaveLength(3);
  });
});

describe("the declared fields", () => {
  test("are those that name the topic, each once, also if it goes to two columns", () => {
    const fields = [
      v2Field("o", "id", "string", "String"),
      v2Field("o", "id", "string", "String", "again"),
      v2Field("orders", "other", "int"),
      v2Field("o", "n", "int"),
    ];
    const [source] = sourcesOf({ source: v2Source([{ name: "orders", id: "o" }]), schema: { fields } });
    expect(source?.["schema_fields"]).toEqual([
      { name: "id", type: "string" },
      { name: "n", type: "int" },
    ]);
  });

  test.each<[string, V2]>([
    [
      "schema_fields",
      { schema_fields: [{ name: "a", type: "int" }], schema: { fields: [{ name: "b", type: "int" }] } },
    ],
    ["schema.fields", { schema_fields: [], schema: { type: "json", fields: [{ name: "a", type: "int" }] } }],
  ])("are the topic's own %s where the schema has nothing for it", (_, topic) => {
    const source = v2Source([{ name: "orders", ...topic }]);
    expect(sourcesOf({ source, schema: {} })[0]?.["schema_fields"]).toEqual([{ name: "a", type: "int" }]);
    expect(sourcesOf({ source })[0]?.["schema_fields"]).toHaveLength(2);
  });
});

test.each<[string, V2, string]>([
  [
    "no topics",
    { type: "otlp.logs", id: "logs", deduplication: { enabled: true } },
    "{ type: otlp.logs, source_id: logs }, and a dedup",
  ],
  ["an empty list of topics", { type: "kafka", topics: [] }, "{ type: kafka, source_id: input }"],
])("%s make no source, and a warning that says what to add", (_, source, suggestion) => {
  const { root, remarks } = convert(v2Pipeline({ source, schema: null }));
  expect(valueOf(root)).toMatchObject({ sources: [] });
  expect(remarks).toMatchObject([{ code: "V2_SOURCES" }, { code: "V2_PASSWORD" }]);
  expect(remarks[0]?.finding.suggestion).toContain(suggestion);
});

describe("a source that is pushed to has only what v3 allows for it", () => {
  test.each<[string, string[]]>([
    ["webhook", ["type", "source_id", "schema_fields"]],
    ["otlp.traces", ["type", "source_id"]],
    [" Kafka ", ["type", "source_id", "topic", "connection_params", "schema_fields"]],
  ])("%s: %j", (type, keys) => {
    expect(Object.keys(sourceOf({}, { type }) ?? {})).toEqual(keys);
  });
});

const outputs = (...expressions: [string, string, string?][]): V2 => ({
  enabled: true,
  config: {
    transform: expressions.map(([expression, output_type, output_name = "out"]) => ({
      expression,
      output_name,
      output_type,
    })),
  },
});

const added = (transform: V2): unknown[] =>
  ((sourcesOf({ stateless_transformation: transform })[0]?.["schema_fields"] ?? []) as unknown[]).slice(2);

describe("what the stateless transform reads is declared", () => {
  test.each<[string, V2, V2[]]>([
    [
      "with the type of the output that reads it",
      outputs(["upper(city)", "string"]),
      [{ name: "city", type: "string" }],
    ],
    [
      "with the type of the output of its name",
      outputs(["city + zip", "string"], ["zip", "int", "zip"]),
      [
        { name: "city", type: "string" },
        { name: "zip", type: "int" },
      ],
    ],
    [
      "once, in the order of reading",
      outputs(["b + a + b", "int"], ["a", "float"]),
      [
        { name: "b", type: "int" },
        { name: "a", type: "int" },
      ],
    ],
    ["as a map where a key of it is read", outputs(["user.id", "string"]), [{ name: "user", type: "map" }]],
    ["as an array where an item of it is read", outputs(["tags[0]", "string"]), [{ name: "tags", type: "array" }]],
    ["as an array for []string", outputs(["tags", "[]string"]), [{ name: "tags", type: "array" }]],
    ["also behind $env", outputs(['$env["odd name"]', "string"]), [{ name: "odd name", type: "string" }]],
    ["without what is declared", outputs(["id + amount", "string"]), []],
    ["without functions", outputs(["parseISO8601(id) + toInt(amount) + len(id)", "int"]), []],
    ["without piped functions", outputs(["id | toDate()", "string"]), []],
    ["without variables", outputs(["let x = amount; x + 1", "float"]), []],
    ["without $env", outputs(['"k" in $env', "bool"]), []],
    ["without what does not parse", outputs(["a +", "int"], ["b", "int"]), [{ name: "b", type: "int" }]],
    ["not for a transform that is off", { ...outputs(["city", "string"]), enabled: false }, []],
    ["not for a source that is not there", { ...outputs(["city", "string"]), source_id: "other" }, []],
  ])("%s", (_, transform, fields) => {
    expect(added(transform)).toEqual(fields);
  });

  test("a field of which a part is declared is known", () => {
    const schema = { fields: [v2Field("orders", "user.id", "string")] };
    const [source] = sourcesOf({ schema, stateless_transformation: outputs(["user.id", "string"]) });
    expect(source?.["schema_fields"]).toEqual([{ name: "user.id", type: "string" }]);
  });

  test("only of the transform's own source, and with a warning", () => {
    const source = v2Source([{ name: "orders" }, { name: "users" }]);
    const stateless_transformation = { ...outputs(["city", "string"]), source_id: "users" };
    const [orders, users] = sourcesOf({ source, stateless_transformation });
    expect(orders?.["schema_fields"]).toHaveLength(2);
    expect(users?.["schema_fields"]).toEqual([{ name: "city", type: "string" }]);
    expect(remarksOf({ source, stateless_transformation })).toContain(
      "V2_FIELD_ADDED stateless_transformation.config.transform.0.expression",
    );
  });
});
