import { describe, expect, test } from "vitest";
import { changedIn, joinPipeline } from "../../../support/pipeline-file.ts";
import { remarks, said } from "./remarks.ts";

const join = (...passages: string[]) => changedIn(joinPipeline, ...passages);
const transforms = (one: string) => join("join:\n", `transforms:\n  - ${one}\njoin:\n`);

describe("a join", () => {
  remarks([
    {
      title: "of one source",
      content: join(
        joinPipeline.slice(
          joinPipeline.indexOf("  - type: kafka\n    source_id: users"),
          joinPipeline.indexOf("join:\n"),
        ),
        "",
      ),
      code: "JOIN",
      path: "join",
      at: "enabled",
      found: "1",
    },
    {
      title: "of an unknown type",
      content: join("type: temporal", "type: outer"),
      code: "VALUE",
      path: "join.type",
      at: "outer",
      found: '"outer"',
    },
    {
      title: "without a side",
      content: join("  right_source: { source_id: users, key: id, time_window: 7d }\n", ""),
      code: "REQUIRED",
      path: "join.right_source",
      at: "join:",
      found: "nothing",
    },
    {
      title: "of a source with itself",
      content: join("right_source: { source_id: users", "right_source: { source_id: orders"),
      code: "JOIN",
      path: "join.right_source.source_id",
      at: "orders, key: id",
      found: '"orders"',
    },
    {
      title: "with a source that is not there",
      content: join("right_source: { source_id: users", "right_source: { source_id: user"),
      code: "SOURCE_REFERENCE",
      path: "join.right_source.source_id",
      at: "user, key",
      found: '"user"',
      suggestion: 'did you mean "users"?',
    },
    {
      title: "by a key that is no field",
      content: join("key: user_id", "key: userid"),
      code: "FIELD_REFERENCE",
      path: "join.left_source.key",
      at: "userid",
      found: '"userid"',
      suggestion: 'did you mean "user_id"?',
    },
    {
      title: "by a blank key",
      content: join("key: user_id", "key: ''"),
      code: "VALUE",
      path: "join.left_source.key",
      at: "''",
      found: "an empty text",
    },
    ...["array", "map"].map((type) => ({
      title: `by a key of type ${type}`,
      content: join("name: user_id, type: string", `name: user_id, type: ${type}`),
      code: "JOIN" as const,
      path: "join.left_source.key",
      at: "user_id, time_window",
      found: `"user_id" of type ${type}`,
    })),
    {
      title: "with a window of 8d",
      content: join("time_window: 7d", 'time_window: "8d"'),
      code: "DURATION",
      path: "join.right_source.time_window",
      at: '"8d"',
      found: '"8d"',
    },
    {
      title: "whose left events wait without an end",
      content: join("time_window: 1h", 'time_window: "0"'),
      code: "JOIN_WITHOUT_END",
      path: "join.left_source.time_window",
      at: '"0"',
      found: '"0", which has no end',
    },
    {
      title: "of two topics that are read from their beginning",
      content: join("    consumer_group_initial_offset: latest\n", ""),
      code: "JOIN_REPLAY",
      path: "join.left_source.source_id",
      at: "orders, key",
      found: "both topics read from their past at the same time",
      suggestion: 'write consumer_group_initial_offset: latest for "orders"',
    },
    {
      title: "of two topics that are read from a time",
      content: join("join:\n", 'x-sluice: { start: "2026-01-31T00:00:00Z" }\njoin:\n'),
      code: "JOIN_REPLAY",
      path: "x-sluice.start",
      at: '"2026',
      found: "both topics read from their past at the same time",
    },
    {
      title: "that is to be rewound",
      content: join("join:\n", "x-sluice: { rewind: earliest }\njoin:\n"),
      code: "VALUE",
      path: "x-sluice.rewind",
      at: "earliest",
      found: "one with a join",
    },
    {
      title: "with more members for one topic than for the other",
      content: `${joinPipeline}resources:\n  sources: [{ source_id: orders, replicas: 4 }, { source_id: users, replicas: 2 }]\n`,
      code: "NO_EFFECT",
      path: "resources.sources[1].replicas",
      at: "2 }",
      found: "2, and members read all topics: it has no effect here",
    },
    {
      title: "without outputs",
      content: join(
        "  output_fields:\n    - { source_id: orders, name: id }\n    - { source_id: users, name: name, output_name: user_name }\n",
        "  output_fields: []\n",
      ),
      code: "VALUE",
      path: "join.output_fields",
      at: "[]",
      found: "a list",
    },
    {
      title: "with an output that is no field",
      content: join("name: name, output_name", "name: nmae, output_name"),
      code: "FIELD_REFERENCE",
      path: "join.output_fields[1].name",
      at: "nmae",
      found: '"nmae"',
      suggestion: 'did you mean "name"?',
    },
    {
      title: "with one name for two outputs",
      content: join("output_name: user_name", "output_name: id"),
      code: "DUPLICATE_NAME",
      path: "join.output_fields[1].output_name",
      at: "id }\nsink",
      found: '"id" again, after line 25',
    },
    {
      title: "with an output that no column takes",
      content: join("    - { name: user_name, column_name: user_name, column_type: String }\n", ""),
      code: "UNUSED",
      path: "join.output_fields[1].output_name",
      at: "user_name }",
      found: 'none for "user_name"',
    },
    {
      title: "and a column of what the join does not put out",
      content: join("name: user_name, column_name", "name: name, column_name"),
      code: "FIELD_REFERENCE",
      path: "sink.mapping[1].name",
      at: "name, column_name: user_name",
      found: '"name"',
    },
    {
      title: "and a column that the joined field cannot feed",
      content: join("column_type: Int64", "column_type: Date"),
      code: "COLUMN_MISMATCH",
      path: "sink.mapping[0].column_type",
      at: "Date",
      found: '"Date"',
    },
    {
      title: "beside a filter",
      content: transforms("{ type: filter, source_id: orders, config: { expression: id > 1 } }"),
      code: "JOIN",
      path: "transforms[0].type",
      at: "filter",
      found: '"filter"',
    },
    {
      title: "beside a stateless transform",
      content: transforms(
        "{ type: stateless, source_id: orders, config: { transforms: [{ expression: id, output_name: id, output_type: int }] } }",
      ),
      code: "JOIN",
      path: "transforms[0].type",
      at: "stateless",
      found: '"stateless"',
    },
    {
      title: "with more than one worker",
      content: `${joinPipeline}resources:\n  transform: [{ source_id: orders, replicas: 4 }]\n`,
      code: "NO_EFFECT",
      path: "resources.transform[0].replicas",
      at: "4",
      found: "the number 4: it has no effect here",
    },
    {
      title: "that is disabled",
      content: join("enabled: true", "enabled: false"),
      code: "NO_EFFECT",
      path: "join.enabled",
      at: "false",
      found: "false: it has no effect here",
    },
  ]);

  test.each([
    ["with dedup of a side", transforms("{ type: dedup, source_id: users, config: { key: id, time_window: 1h } }")],
    ["in other words", join("type: temporal", "type: join")],
    ["without a type", join("  type: temporal\n", "")],
    ["with one field under two names", join("name: name, output_name: user_name", "name: id, output_name: user_name")],
    ["whose right events count without an end", join("time_window: 7d", "time_window: 0s")],
    [
      "of topics that are read from their ends",
      join("    consumer_group_initial_offset: latest\n", "", "join:\n", "x-sluice: { start: latest }\njoin:\n"),
    ],
    [
      "with memory for what it buffers",
      `${joinPipeline}resources:\n  transform: [{ source_id: users, limits: { memory: 4Gi } }]\n`,
    ],
    ["by keys of different types", join("name: user_id, type: string", "name: user_id, type: int64")],
    ["with the same window on both sides", join("time_window: 7d", "time_window: 1h")],
  ])("%s is good", (_, content) => {
    expect(said(content)).toEqual([]);
  });
});

const otlp = (left: string, right: string, more = ""): string => `version: v3
pipeline_id: traced-logs
sources:
  - ${left}
  - ${right}
${more}join:
  enabled: true
  left_source: { source_id: left, key: trace_id, time_window: 1h }
  right_source: { source_id: right, key: trace_id, time_window: 1h }
  output_fields:
    - { source_id: left, name: attributes.text, output_name: message }
    - { source_id: right, name: span_id }
sink:
  type: clickhouse
  connection_params: { host: embedded }
  table: traced_logs
  mapping:
    - { name: message, column_name: message, column_type: String }
    - { name: span_id, column_name: span_id, column_type: String }
`;
const signal = (of: string, source_id: string): string => `{ type: otlp.${of}, source_id: ${source_id} }`;

describe("a join of what is not two topics", () => {
  const hook =
    "{ type: webhook, source_id: left, schema_fields: [{ name: trace_id, type: string }, { name: attributes.text, type: string }] }";

  test.each([
    ["two signals", otlp(signal("logs", "left"), signal("traces", "right"))],
    ["one signal twice", otlp(signal("traces", "left"), signal("traces", "right"))],
    ["a webhook and a signal", otlp(hook, signal("traces", "right"))],
    [
      "one topic twice",
      changedIn(joinPipeline, "topic: users", "topic: orders").replace(/transforms:[^]*?(?=join:)/, ""),
    ],
  ])("is valid: %s", (_title, content) => {
    expect(said(content).filter(({ code }) => code !== "UNUSED")).toEqual([]);
  });

  const dedup = "transforms:\n  - { type: dedup, source_id: left, config: { key: span_id, time_window: 1h } }\n";

  test("needs the same transforms where both sides have one signal", () => {
    const problems = said(otlp(signal("traces", "left"), signal("traces", "right"), dedup));
    expect(problems).toMatchObject([
      { code: "JOIN", expected: "the same transforms for both sides, as both read otlp.traces", found: "1 and 0" },
    ]);
    expect(said(otlp(signal("logs", "left"), signal("traces", "right"), dedup))).toEqual([]);
  });

  test("does not mix topics with what is pushed", () => {
    const kafka =
      "{ type: kafka, source_id: right, topic: t, connection_params: { brokers: ['b:9092'], protocol: PLAINTEXT }, schema_fields: [{ name: trace_id, type: string }, { name: span_id, type: string }] }";
    expect(said(otlp(signal("logs", "left"), kafka)).map(({ code }) => code)).toEqual(["SOURCE_MIX"]);
  });
});
