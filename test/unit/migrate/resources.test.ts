import { describe, expect, test } from "vitest";
import { migrate } from "../../../reconciler/migrate/migrate.ts";
import { v2Field, v2Join, v2Pipeline, v2Source, type V2 } from "../../support/version-2.ts";

const component = {
  replicas: 2,
  requests: { cpu: "100m", memory: "1Gi" },
  limits: { cpu: "2", memory: "", gpu: "1" },
  storage: { size: "5Gi" },
};
const kept = { replicas: 2, requests: { cpu: "100m", memory: "1Gi" }, limits: { cpu: "2" } };
const deduplication = { enabled: true, key: "id", time_window: "1h" };
const stateless_transformation = {
  enabled: true,
  config: { transform: [{ expression: "amount", output_name: "amount", output_type: "float" }] },
};
const two = v2Source([{ name: "orders" }, { name: "users" }]);
const schema = { fields: [v2Field("orders", "user", "string", "String"), v2Field("users", "id", "string")] };

function resourcesOf(pipeline_resources: unknown, over: V2 = {}): unknown {
  return migrate(v2Pipeline({ pipeline_resources, ...over })).config["resources"];
}

test.each<[string, unknown, V2, unknown]>([
  [
    "the stream",
    { nats: { stream: { maxAge: "24h", maxBytes: "1GB", maxMsgs: -1 } } },
    {},
    { nats: { stream: { max_age: "24h", max_bytes: "1GB", maxMsgs: -1 } } },
  ],
  [
    "the ingestor is the first source",
    { ingestor: { base: component } },
    {},
    { sources: [{ source_id: "orders", ...kept }] },
  ],
  [
    "the ingestor of two topics is the first source",
    { ingestor: { base: component } },
    { source: two },
    { sources: [{ source_id: "orders", ...kept }] },
  ],
  [
    "the ingestors of a join are its sides",
    { ingestor: { right: component, left: { replicas: 3 } } },
    { source: two, schema, join: v2Join() },
    {
      sources: [
        { source_id: "orders", replicas: 3 },
        { source_id: "users", ...kept },
      ],
    },
  ],
  [
    "replicas of a topic are those of its source",
    {},
    { source: v2Source([{ name: "orders", replicas: 4 }]) },
    { sources: [{ source_id: "orders", replicas: 4 }] },
  ],
  [
    "replicas of the ingestor win over those of the topic",
    { ingestor: { base: { replicas: 2 } } },
    { source: v2Source([{ name: "orders", replicas: 4 }]) },
    { sources: [{ source_id: "orders", replicas: 2 }] },
  ],
  ["the sink, which has no storage in v3", { sink: component }, {}, { sink: kept }],
  [
    "the transform of a dedup, with its storage",
    { transform: component },
    { source: v2Source([{ name: "orders", deduplication }]) },
    { transform: [{ source_id: "orders", storage: { size: "5Gi" }, ...kept }] },
  ],
  [
    "the transform of a filter, without storage",
    { transform: component },
    { filter: { enabled: true, expression: "amount < 0" } },
    { transform: [{ source_id: "orders", ...kept }] },
  ],
  [
    "the transforms of two sources",
    { transform: component },
    {
      source: v2Source([{ name: "orders", deduplication }, { name: "users" }]),
      stateless_transformation: { ...stateless_transformation, source_id: "users" },
    },
    {
      transform: [
        { source_id: "orders", storage: { size: "5Gi" }, ...kept },
        { source_id: "users", ...kept },
      ],
    },
  ],
  ["a transform that is not there has none", { transform: component }, {}, undefined],
  [
    "nothing",
    { nats: { stream: {} }, ingestor: { base: {}, left: null }, sink: { replicas: 0, limits: {} } },
    {},
    undefined,
  ],
  [
    "sources that are pushed to have none",
    { ingestor: { base: component } },
    { source: v2Source([{ name: "l" }], { type: "otlp.logs" }) },
    undefined,
  ],
])("%s", (_, given, over, expected) => {
  expect(resourcesOf(given, over)).toEqual(expected);
});

describe("a warning says what is left out", () => {
  test.each<[string, V2]>([
    ["pipeline_resources.join", { join: { replicas: 1 } }],
    ["pipeline_resources.ingestor.left", { ingestor: { left: component } }],
  ])("%s", (path, pipeline_resources) => {
    const { config, warnings } = migrate(v2Pipeline({ pipeline_resources }));
    expect(config).not.toHaveProperty("resources");
    expect(warnings.map((one) => `${one.code} ${one.path}`)).toContain(`V2_DROPPED ${path}`);
  });
});
