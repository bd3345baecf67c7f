import * as fc from "fast-check";
import { load as loadYaml } from "js-yaml";
import { describe, expect, test } from "vitest";
import { engineOptions, normalise, tidy, type PipelineV3 } from "../../../schemas/index.ts";
import { schemaErrors } from "../../../schemas/schema.ts";
import { runsOf } from "../../support/cases.ts";
import { arbitraryPipeline } from "./arbitrary-pipeline.ts";
import { goodPipeline, joinPipeline } from "../../support/pipeline-file.ts";

const good = loadYaml(goodPipeline) as PipelineV3;

/** The good pipeline with other values for some of its root keys. */
function goodWith(changes: object): PipelineV3 {
  return { ...good, ...changes };
}

test("defaults are filled in", () => {
  const component = {
    replicas: 1,
    requests: { cpu: "100m", memory: "128Mi" },
    limits: { cpu: "1500m", memory: "1536Mi" },
  };
  expect(normalise(good)).toEqual({
    version: "v3",
    pipeline_id: "orders-eu",
    name: "Orders Eu",
    sources: [
      {
        type: "webhook",
        source_id: "orders",
        schema_fields: [
          { name: "id", type: "int" },
          { name: "amount", type: "float" },
        ],
      },
    ],
    transforms: [{ type: "filter", source_id: "orders", config: { expression: "amount > 0" } }],
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded", database: "default", secure: false, skip_certificate_verification: false },
      table: "orders",
      max_batch_size: 1000,
      max_delay_time: "1m0s",
      mapping: good.sink.mapping,
    },
    metadata: { tags: [] },
    resources: {
      nats: { stream: { max_age: "24h0m0s", max_bytes: "0", max_msgs: 8000 } },
      sources: [{ source_id: "orders", ...component }],
      transform: [{ source_id: "orders", ...component }],
      sink: component,
    },
  });
});

test("both sources of a join have the memory of its index, also where the file says nothing of it", () => {
  const document = loadYaml(joinPipeline) as PipelineV3;
  const { transform } = normalise({
    ...document,
    resources: { transform: [{ source_id: "users", limits: { memory: "4Gi" } }] },
  }).resources;
  expect(transform.map(({ source_id, limits }) => [source_id, limits.memory])).toEqual([
    ["orders", "1536Mi"],
    ["users", "4Gi"],
  ]);
  expect(normalise({ ...document, join: { enabled: false } }).resources.transform).toEqual([]);
});

describe("files that mean the same are equal:", () => {
  const dedup = { type: "dedup", source_id: "orders", config: { key: "id", time_window: "1d" } };
  const filter = good.transforms?.[0];
  test.each([
    ["durations", { sink: { ...good.sink, max_delay_time: "60s" } }, { sink: { ...good.sink, max_delay_time: "1m" } }],
    ["the delay of 0", { sink: { ...good.sink, max_delay_time: "0" } }, {}],
    [
      "sizes",
      { resources: { nats: { stream: { max_bytes: "10Gi" } } } },
      { resources: { nats: { stream: { maxBytes: "10GB" } } } },
    ],
    [
      "spellings",
      { resources: { nats: { stream: { max_msgs: 5 } } } },
      { resources: { nats: { stream: { maxMsgs: 5 } } } },
    ],
    ["the order of transforms", { transforms: [dedup, filter] }, { transforms: [filter, dedup] }],
    ["the order of tags", { metadata: { tags: ["b", "a", "b"] } }, { metadata: { tags: ["a", "b"] } }],
    ["no tags", { metadata: { tags: null } }, {}],
    ["a disabled join", { join: { enabled: false } }, {}],
    ["a blank name", { name: " " }, {}],
    ["an omitted name", { name: "Orders Eu" }, {}],
    ["replicas below 1", { resources: { sink: { replicas: 0 } } }, { resources: { sink: { replicas: 1 } } }],
  ])("%s", (_, one, other) => {
    expect(normalise(goodWith(one))).toEqual(normalise(goodWith(other)));
  });
});

test("a request with only cpu keeps memory empty", () => {
  const { sink } = normalise(goodWith({ resources: { sink: { requests: { cpu: "0.2" } } } })).resources;
  expect(sink.requests).toEqual({ cpu: "200m" });
  expect(sink.limits).toEqual({ cpu: "1500m", memory: "1536Mi" });
});

test("an immutable field that the file leaves out keeps its stored value", () => {
  const dedup = { transforms: [{ type: "dedup", source_id: "orders", config: { key: "id", time_window: "1h" } }] };
  const stored = normalise(
    goodWith({
      ...dedup,
      resources: {
        nats: { stream: { max_age: "2h", max_bytes: "1Gi", max_msgs: 77 } },
        transform: [{ source_id: "orders", replicas: 3, storage: { size: "5Gi" } }],
      },
    }),
  );
  const { resources } = normalise(goodWith({ ...dedup, sink: { ...good.sink, max_batch_size: 5 } }), stored);
  expect(resources.nats).toEqual(stored.resources.nats);
  expect(resources.transform[0]).toMatchObject({ replicas: 3, storage: { size: "5Gi" } });
  const explicit = normalise(goodWith({ ...dedup, resources: { nats: { stream: { max_age: "3h" } } } }), stored);
  expect(explicit.resources.nats.stream).toEqual({ max_age: "3h0m0s", max_bytes: "1Gi", max_msgs: 77 });
});

test("a document is not changed by being normalised", () => {
  const before = structuredClone(good);
  normalise(good);
  expect(good).toEqual(before);
});

test("whatever the schema allows has a canonical form, which it allows too and which is its own canonical form", () => {
  fc.assert(
    fc.property(arbitraryPipeline, (document) => {
      expect(schemaErrors(tidy(document))).toEqual([]);
      const config = normalise(document);
      expect(schemaErrors(config)).toEqual([]);
      expect(normalise(config as unknown as PipelineV3)).toEqual(config);
      expect(normalise(document, config)).toEqual(config);
    }),
    { numRuns: runsOf(200) },
  );
});

describe("the engine is told", () => {
  test("every default where the file says nothing", () => {
    const options = { create_table: false, on_uncertain: "insert", on_lost: "pause", on_view_error: "pause" };
    expect(engineOptions(good)).toEqual(options);
    expect(engineOptions(goodWith({ "x-sluice": {} }))).toEqual(options);
  });

  test("what the file says, and nothing of what the reconciler alone acts on", () => {
    const options = { create_table: true, on_uncertain: "skip", on_lost: "skip", on_view_error: "skip" } as const;
    const directives = { ...options, access_token: "${env:T}", state: "Stopped", suspend: true, prune: false };
    expect(engineOptions(goodWith({ "x-sluice": directives }))).toEqual({ ...options, access_token: "${env:T}" });
  });
});
