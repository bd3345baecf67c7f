import { describe, expect, test } from "vitest";
import { migrate } from "../../../reconciler/migrate/migrate.ts";
import { schemaErrors } from "../../../schemas/index.ts";
import { refusalOf, v2Field, v2Pipeline, v2Sink, v2Source, type V2 } from "../../support/version-2.ts";

test("the small pipeline, whole", () => {
  const { config, warnings } = migrate(v2Pipeline({ name: "Orders", metadata: { tags: ["a"], owner: "b" } }));
  expect(config).toEqual({
    version: "v3",
    pipeline_id: "orders-eu",
    name: "Orders",
    sources: [
      {
        type: "kafka",
        source_id: "orders",
        topic: "orders",
        connection_params: { brokers: ["kafka:9092"], protocol: "PLAINTEXT" },
        schema_fields: [
          { name: "id", type: "string" },
          { name: "amount", type: "float" },
        ],
      },
    ],
    sink: { ...v2Sink(), mapping: [{ name: "amount", column_name: "amount", column_type: "Float64" }] },
    metadata: { tags: ["a"] },
  });
  expect(warnings).toEqual([
    {
      code: "V2_PASSWORD",
      severity: "warning",
      path: "sink.connection_params.password",
      expected: "the password itself, best as a reference such as ${env:NAME}",
      found: "a reference, which was not changed: check that its value is not in base64, as in v2",
      message: expect.stringContaining("sink.connection_params.password: expected the password itself"),
    },
  ]);
  expect(schemaErrors(config)).toEqual([]);
});

test.each<[string, V2]>([
  ["v3", { version: "v3" }],
  ["nothing", { version: null }],
])("a version of %s is not looked at", (_, over) => {
  expect(migrate(v2Pipeline(over)).config).toEqual(migrate(v2Pipeline()).config);
});

test("keys that v2 does not know are left out, at every level", () => {
  const odd = { x: 1, constructor: { y: [] } };
  const source = { ...v2Source([{ name: "orders", ...odd }]), ...odd };
  const given = v2Pipeline({ ...odd, source, sink: v2Sink(odd), exported_at: 5, exported_by: "me" });
  expect(migrate(given).config).toEqual(migrate(v2Pipeline()).config);
});

test("the keys have the order of the v2 document", () => {
  const { sink, schema, source, ...rest } = v2Pipeline({ filter: { enabled: true, expression: "amount < 0" } });
  const { config } = migrate({ sink, schema, ...rest, source });
  expect(Object.keys(config)).toEqual(["sink", "version", "pipeline_id", "transforms", "sources"]);
});

test("the document is not changed, and shares nothing with the config", () => {
  const given = v2Pipeline({ metadata: { tags: ["a"] }, "x-sluice": { depends_on: ["other-one"] } });
  const before = structuredClone(given);
  const { config } = migrate(given);
  (config["metadata"] as { tags: string[] }).tags.push("b");
  (config["x-sluice"] as { depends_on: string[] }).depends_on.push("b");
  expect(given).toEqual(before);
  expect(migrate(given)).toEqual(migrate(before));
});

describe("what is missing for v3 is a warning that names it", () => {
  test.each<[string, V2, string]>([
    ["no sources", { source: { type: "otlp.logs", id: "logs" } }, "sources"],
    [
      "no protocol",
      { source: v2Source([{ name: "orders" }], { connection_params: { brokers: ["a:1"] } }) },
      "sources[0].connection_params.protocol",
    ],
    ["no fields", { schema: { fields: [v2Field("other", "amount", "float", "Float64")] } }, "sources[0].schema_fields"],
    ["a batch of 0", { sink: v2Sink({ max_batch_size: 0 }) }, "sink.max_batch_size"],
    ["an id that v3 does not allow", { pipeline_id: "Orders" }, "pipeline_id"],
    ["a v3 body", { source: null, sources: [{ type: "kafka" }] }, "sources"],
  ])("%s: %j", (_, over, path) => {
    const { warnings } = migrate(v2Pipeline(over));
    expect(warnings.filter(({ severity }) => severity === "error").map((one) => one.path)).toContain(path);
  });

  test("but not what this version of Sluice does not run yet", () => {
    const stateless_transformation = {
      enabled: true,
      config: { transform: [{ expression: "amount", output_name: "amount", output_type: "float" }] },
    };
    const { warnings } = migrate(v2Pipeline({ stateless_transformation }));
    expect(warnings.map(({ code }) => code)).toEqual(["V2_PASSWORD"]);
  });

  test("two topics without a join convert", () => {
    const source = v2Source([{ name: "orders" }, { name: "users" }]);
    expect(migrate(v2Pipeline({ source })).config).toMatchObject({
      sources: [{ topic: "orders" }, { topic: "users" }],
    });
  });
});

describe("a document that is not of the types of v2 is refused", () => {
  test.each<[string, unknown, string]>([
    ["a text", "v2", "document: expected a mapping, got a text"],
    ["a list", [], "document: expected a mapping, got a list"],
    ["nothing", null, "document: expected a mapping, got nothing"],
    [
      "a port that is a number",
      v2Pipeline({ sink: v2Sink({ port: 9000 }) }),
      "sink.port: expected a text, got a number",
    ],
    [
      "a delay that is a number",
      v2Pipeline({ sink: v2Sink({ max_delay_time: 5 }) }),
      "sink.max_delay_time: expected a duration such as",
    ],
    ["a delay that is none", v2Pipeline({ sink: v2Sink({ max_delay_time: "soon" }) }), 'got "soon"'],
    [
      "an empty delay",
      v2Pipeline({ sink: v2Sink({ max_delay_time: "" }) }),
      "sink.max_delay_time: expected a duration",
    ],
    [
      "topics that are no list",
      v2Pipeline({ source: { topics: {} } }),
      "source.topics: expected a list of at most 100 entries, got a mapping",
    ],
    [
      "more topics than a pipeline has sources",
      v2Pipeline({ source: { topics: Array.from({ length: 101 }, () => ({})) } }),
      "source.topics: expected a list of at most 100 entries, got 101",
    ],
    [
      "a batch with a fraction",
      v2Pipeline({ sink: v2Sink({ max_batch_size: 1.5 }) }),
      "sink.max_batch_size: expected a whole number",
    ],
    [
      "a flag in quotes",
      v2Pipeline({ filter: { enabled: "true" } }),
      "filter.enabled: expected true or false, got a text",
    ],
    [
      "a window that is none",
      v2Pipeline({ source: v2Source([{ name: "a", deduplication: { time_window: "1x" } }]) }),
      "source.topics[0].deduplication.time_window: expected a duration",
    ],
  ])("%s", (_, document, message) => {
    const refusal = refusalOf(document);
    expect(refusal.reason).toBe("undecodable");
    expect(refusal.message).toContain(message);
  });

  test("every field that is wrong is told, and no password", () => {
    const sink = v2Sink({ port: 1, password: 12345 });
    expect(() => migrate(v2Pipeline({ sink, name: [] }))).toThrow(
      "name: expected a text, got a list; sink.port: expected a text, got a number; sink.password: expected a text, got a number",
    );
  });

  test("directives that nest without end", () => {
    let deep: unknown = [];
    for (let level = 0; level < 20_000; level += 1) deep = [deep];
    expect(() => migrate(v2Pipeline({ "x-sluice": deep }))).toThrow("x-sluice: expected at most 32 collections inside");
  });
});
