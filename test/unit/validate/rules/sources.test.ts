import { describe, expect, test } from "vitest";
import { sourceKinds, type SourceKind } from "../../../../engine/language.ts";
import { sourceTypes } from "../../../../schemas/index.ts";
import { changedIn, joinPipeline, kafkaPipeline, otlpPipeline } from "../../../support/pipeline-file.ts";
import { remarks, said } from "./remarks.ts";

const second = (id: string, topic: string, connection: string) => `  - type: kafka
    source_id: ${id}
    connection_params: ${connection}
    topic: ${topic}
    schema_fields: [{ name: id, type: int }, { name: double, type: float }]
transforms:
`;
const params =
  '{ brokers: ["kafka-1:9092"], protocol: SASL_SSL, mechanism: SCRAM-SHA-256, username: sluice, password: "${env:KAFKA_PASSWORD}" }';
const two = (id: string, topic: string, connection: string) =>
  changedIn(kafkaPipeline, "transforms:\n", second(id, topic, connection));

const otlp = (...passages: string[]) => changedIn(otlpPipeline, ...passages);
const end = (text: string) => `${otlpPipeline}${text}`;

const only = (signal: string, field: string, type: string) => `version: v3
pipeline_id: telemetry
sources: [{ type: ${signal}, source_id: s }]
sink:
  type: clickhouse
  connection_params: { host: embedded }
  table: t
  mapping: [{ name: ${field}, column_name: a, column_type: "${type}" }]
`;

const kindsOf = (type: string) =>
  Object.values<SourceKind>(sourceKinds).filter(({ types }) => types.some((of) => of === type));
const pairs = sourceTypes.flatMap((one) => sourceTypes.map((other) => ({ one, other })));

test.each(pairs)(
  "a source of type $one goes with one of type $other only if they are of one kind",
  ({ one, other }) => {
    const sources = `sources: [{ type: ${one}, source_id: a }, { type: ${other}, source_id: b }]`;
    const codes = said(`version: v3\npipeline_id: pair\n${sources}\n`)
      .filter(({ path }) => path === "sources[1]" || path === "sources[1].type")
      .map(({ code }) => code);
    const [kind, ...others] = kindsOf(one);
    expect(others).toEqual([]);
    if (kind !== kindsOf(other)[0]) expect(codes).toEqual(["SOURCE_MIX"]);
    else if (kind?.origin === undefined) expect(codes).toEqual(["SOURCE_COUNT"]);
    else expect(codes).toEqual(one === other && kind.origin.key === "type" ? ["SOURCE_MIX"] : []);
  },
);

describe("how many sources of which kind", () => {
  remarks([
    {
      title: "Kafka and OTLP",
      content: changedIn(kafkaPipeline, "transforms:\n", "  - { type: otlp.logs, source_id: logs }\ntransforms:\n"),
      code: "SOURCE_MIX",
      path: "sources[1].type",
      at: "otlp.logs",
      found: '"otlp.logs"',
    },
    {
      title: "two OTLP sources of one signal",
      content: changedIn(otlpPipeline, "transforms:\n", "  - { type: otlp.logs, source_id: more }\ntransforms:\n"),
      code: "SOURCE_MIX",
      path: "sources[1].type",
      at: "otlp.logs, source_id: more",
      found: '"otlp.logs" again, after line 4',
    },
    {
      title: "two sources on one topic",
      content: two("more", "orders", params),
      code: "SOURCE_MIX",
      path: "sources[1].topic",
      at: "orders\n    schema_fields: [",
      found: '"orders" again, after line 12',
    },
    {
      title: "two sources of different clusters",
      content: two("more", "users", params.replace("kafka-1", "kafka-2")),
      code: "SOURCE_MIX",
      path: "sources[1].connection_params",
      at: "{ brokers",
      found: "another one",
    },
    {
      title: "brokers in another order",
      content: changedIn(
        two("more", "users", params.replace('"kafka-1:9092"', "b:1, a:1")),
        '["kafka-1:9092"]',
        "[a:1, b:1]",
      ),
      code: "SOURCE_MIX",
      path: "sources[1].connection_params",
      at: "{ brokers",
      found: "another one",
    },
    {
      title: "a source_id that stateless uses",
      content: kafkaPipeline.replaceAll("source_id: orders", "source_id: orders-eu-stateless"),
      code: "SOURCE_ID",
      path: "sources[0].source_id",
      at: "orders-eu-stateless\n    connection",
      found: '"orders-eu-stateless"',
    },
    {
      title: "a blank source_id",
      content: changedIn(otlpPipeline, "source_id: logs }", "source_id: ' ' }"),
      code: "VALUE",
      path: "sources[0].source_id",
      at: "' '",
      found: "an empty text",
    },
    {
      title: "more sources than a pipeline has",
      content: `${kafkaPipeline.slice(0, kafkaPipeline.indexOf("sources:"))}sources: [${"1, ".repeat(101)}]\n`,
      code: "VALUE",
      path: "sources",
      at: "[1, 1",
      found: "a list",
    },
  ]);

  test("several sources of one cluster without a join are one stream of rows", () => {
    expect(said(two("more", "users", params))).toEqual([]);
  });

  test("several OTLP signals are one stream of rows, where the mapping holds for each of them", () => {
    const traces = ["transforms:\n", "  - { type: otlp.traces, source_id: spans }\ntransforms:\n"] as const;
    expect(said(changedIn(otlpPipeline, ...traces)).map(({ code }) => code)).toEqual(["FIELD_REFERENCE"]);
    expect(said(changedIn(otlpPipeline, ...traces, "name: timestamp,", "name: trace_id,"))).toEqual([]);
  });

  const elsewhere = '{ brokers: ["other:9092"], protocol: PLAINTEXT }';

  test("the sides of a join may be topics of two clusters", () => {
    expect(said(changedIn(joinPipeline, "*kafka", elsewhere))).toEqual([]);
  });

  test("topics of two clusters need different names, in a join as well", () => {
    const [topic] = /topic: (\S+)/.exec(joinPipeline)!.slice(1);
    const same = changedIn(joinPipeline, "*kafka", elsewhere).replaceAll(/topic: \S+/g, `topic: ${topic}`);
    expect(said(same)).toMatchObject([
      {
        code: "SOURCE_MIX",
        path: "sources[1].topic",
        found: `"${topic}"`,
        suggestion: expect.stringContaining("same connection_params") as string,
      },
    ]);
  });

  test("a connection that spells its defaults out is the same connection", () => {
    const plain = changedIn(
      joinPipeline,
      "*kafka",
      '{ brokers: ["kafka:9092"], protocol: PLAINTEXT, mechanism: NO_AUTH, root_ca: "" }',
    );
    expect(said(plain)).toEqual([]);
  });
});

describe("OTLP", () => {
  remarks([
    {
      title: "a topic",
      content: otlp("source_id: logs }", "source_id: logs, topic: t }"),
      code: "UNKNOWN_KEY",
      path: "sources[0].topic",
      at: "topic",
      found: 'the key "topic"',
      suggestion: "topic is a key of a kafka source",
    },
    {
      title: "declared fields",
      content: otlp("source_id: logs }", "source_id: logs, schema_fields: [{ name: id, type: int }] }"),
      code: "UNKNOWN_KEY",
      path: "sources[0].schema_fields",
      at: "schema_fields",
      found: 'the key "schema_fields"',
      suggestion: "schema_fields is a key of a webhook or kafka source",
    },
    {
      title: "resources of its own",
      content: end("resources:\n  sources: [{ source_id: logs, replicas: 2 }]\n"),
      code: "SOURCE_REFERENCE",
      path: "resources.sources[0].source_id",
      at: "logs, replicas",
      found: 'one of type "otlp.logs"',
    },
    {
      title: "a column of a field that the signal does not have",
      content: otlp("name: timestamp,", "name: duration_ns,"),
      code: "FIELD_REFERENCE",
      path: "sink.mapping[0].name",
      at: "duration_ns",
      found: '"duration_ns"',
    },
    {
      title: "a misspelled field",
      content: otlp("name: timestamp,", "name: timestmap,"),
      code: "FIELD_REFERENCE",
      path: "sink.mapping[0].name",
      at: "timestmap",
      found: '"timestmap"',
      suggestion: 'did you mean "timestamp"?',
    },
    {
      title: "an attribute without a key",
      content: otlp("name: resource_attributes.service.name", "name: resource_attributes."),
      code: "FIELD_REFERENCE",
      path: "sink.mapping[1].name",
      at: "resource_attributes.",
      found: '"resource_attributes."',
    },
    {
      title: "a field of a text",
      content: otlp("name: resource_attributes.service.name", "name: body.level"),
      code: "FIELD_REFERENCE",
      path: "sink.mapping[1].name",
      at: "body.level",
      found: '"body.level"',
    },
    {
      title: "an attribute in a column of numbers",
      content: otlp("LowCardinality(String)", "UInt64"),
      code: "COLUMN_MISMATCH",
      path: "sink.mapping[1].column_type",
      at: "UInt64",
      found: '"UInt64"',
    },
    {
      title: "a dedup key that the signal does not have",
      content: otlp("key: attributes.event.id", "key: event.id"),
      code: "FIELD_REFERENCE",
      path: "transforms[1].config.key",
      at: "event.id",
      found: '"event.id"',
    },
    {
      title: "a window of nothing",
      content: otlp("time_window: 1h", "time_window: 0s"),
      code: "DURATION",
      path: "transforms[1].config.time_window",
      at: "0s",
      found: '"0s"',
    },
    {
      title: "a filter over a field that the signal does not have",
      content: otlp("severity_number >= 17", 'status_code == "ERROR"'),
      code: "EXPRESSION",
      path: "transforms[0].config.expression",
      at: "status_code",
      found: "an error: `status_code`: unknown name: the schema declares no such field",
    },
    {
      title: "a join",
      content: end("join:\n  enabled: true\n"),
      code: "JOIN",
      path: "join",
      at: "enabled",
      found: "1",
    },
    {
      title: "an offset, which Kafka has",
      content: otlp("source_id: logs }", "source_id: logs, consumer_group_initial_offset: latest }"),
      code: "NO_EFFECT",
      path: "sources[0].consumer_group_initial_offset",
      at: "latest",
      found: "an OTLP source: it has no effect here",
    },
  ]);

  test.each([
    ["otlp.logs", "severity_number", "UInt8"],
    ["otlp.logs", "body", "String"],
    ["otlp.traces", "duration_ns", "UInt64"],
    ["otlp.traces", "events", "Array(Map(String, String))"],
    ["otlp.traces", "scope_attributes.a.b", "String"],
    ["otlp.metrics", "value_int", "Int64"],
    ["otlp.metrics", "sum", "Float64"],
    ["otlp.metrics", "is_monotonic", "Nullable(Bool)"],
    ["otlp.metrics", "bucket_counts", "Array(UInt64)"],
    ["otlp.metrics", "resource_attributes", "Map(String, String)"],
  ])("%s has %s for a column of %s", (signal, field, type) => {
    expect(said(only(signal, field, type))).toEqual([]);
  });

  test.each([
    ["a filter over an attribute", 'attributes["http.method"] == "GET"'],
    ["a filter over the resource", 'resource_attributes.region != "eu"'],
    ["a filter over what may be missing", "trace_id == nil"],
  ])("%s compiles", (_, expression) => {
    expect(said(changedIn(otlpPipeline, "severity_number >= 17", `'${expression}'`))).toEqual([]);
  });
});
