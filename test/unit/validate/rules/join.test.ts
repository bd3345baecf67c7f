import { describe, expect, test } from "vitest";
import { changedIn, joinPipeline } from "../../../support/pipeline-file.ts";
import { remarks, said } from "../../../support/remarks.ts";

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
      found: "1 of 1",
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
    ...["0", "8d"].map((window) => ({
      title: `with a window of ${window}`,
      content: join("time_window: 7d", `time_window: "${window}"`),
      code: "DURATION" as const,
      path: "join.right_source.time_window",
      at: `"${window}"`,
      found: `"${window}"`,
    })),
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
      found: '"id" again, after line 24',
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
    ["with the same window on both sides", join("time_window: 7d", "time_window: 1h")],
  ])("%s is good", (_, content) => {
    expect(said(content)).toEqual([]);
  });
});
