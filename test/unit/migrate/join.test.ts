import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { load, validate } from "../../../reconciler/desired/load.ts";
import { convert } from "../../../reconciler/migrate/convert.ts";
import { migrate } from "../../../reconciler/migrate/migrate.ts";
import { refusalOf, v2Field, v2Join, v2Pipeline, v2Sink, v2Source, type V2 } from "../../support/version-2.ts";

const fields = [
  v2Field("orders", "id", "string", "String", "order_id"),
  v2Field("orders", "user", "string"),
  v2Field("users", "id", "string"),
  v2Field("users", "name", "string", "String", "user_name"),
];

function joined(over: V2 = {}): V2 {
  const source = v2Source([{ name: "orders" }, { name: "users" }]);
  return v2Pipeline({ source, join: v2Join(), schema: { fields }, ...over });
}

test("an enabled join has both sides and every field, called by its column", () => {
  expect(migrate(joined()).config["join"]).toEqual({
    enabled: true,
    type: "temporal",
    left_source: { source_id: "orders", key: "user", time_window: "1h" },
    right_source: { source_id: "users", key: "id", time_window: "2h" },
    output_fields: [
      { source_id: "orders", name: "id", output_name: "order_id" },
      { source_id: "orders", name: "user" },
      { source_id: "users", name: "id" },
      { source_id: "users", name: "name", output_name: "user_name" },
    ],
  });
});

test("the sink's mapping calls the fields as the join does", () => {
  expect(migrate(joined()).config["sink"]).toMatchObject({
    mapping: [
      { name: "order_id", column_name: "order_id", column_type: "String" },
      { name: "user_name", column_name: "user_name", column_type: "String" },
    ],
  });
});

test("a mapping of its own stays", () => {
  const mapping = [{ name: "order_id", column_name: "o", column_type: "String" }];
  expect(migrate(joined({ sink: v2Sink({ mapping }) })).config["sink"]).toMatchObject({ mapping });
});

test("an older mapping calls the fields as the join does", () => {
  const table_mapping = [
    { source_id: "users", field_name: "name", column_name: "name_column", column_type: "String" },
    { source_id: "users", field_name: "id", column_name: "uid", column_type: "String" },
  ];
  const { config } = migrate(joined({ sink: v2Sink({ table_mapping }) }));
  expect(config["sink"]).toMatchObject({
    mapping: [
      { name: "user_name", column_name: "name_column" },
      { name: "uid", column_name: "uid" },
    ],
  });
  expect(config["join"]).toMatchObject({
    output_fields: expect.arrayContaining([{ source_id: "users", name: "id", output_name: "uid" }]),
  });
});

test("a field without a column is left out where another one has its name, with a warning", () => {
  const twice = [
    v2Field("orders", "id", "string", "String"),
    v2Field("orders", "user", "string"),
    v2Field("users", "id", "string"),
  ];
  const { config, warnings } = migrate(joined({ schema: { fields: twice } }));
  expect(config["join"]).toMatchObject({
    output_fields: [
      { source_id: "orders", name: "id", output_name: "id" },
      { source_id: "orders", name: "user" },
    ],
  });
  expect(warnings.map(({ code, path }) => `${code} ${path}`)).toContain("V2_DROPPED schema.fields[2].name");
});

test.each<[string, V2]>([
  ["that is off", v2Join({ enabled: false })],
  ["that does not say whether it is on", v2Join({ enabled: null })],
])("a join %s goes", (_, join) => {
  expect(migrate(joined({ join })).config).not.toHaveProperty("join");
});

test.each<[string, unknown, unknown]>([
  ["no type has none", undefined, undefined],
  ["an empty type has none", "", undefined],
  ["a type of its own has it", "inner", "inner"],
])("a join with %s", (_, type, expected) => {
  const { join } = migrate(joined({ join: v2Join({ type }) })).config as { join: V2 };
  expect(join["type"]).toBe(expected);
});

const side = (orientation: string) => ({ source_id: "orders", join_key: "user", time_window: "1h", orientation });

describe("a join is refused", () => {
  test.each<[string, unknown[], string]>([
    ["with no side", [], "0 left and 0 right among 0 sources"],
    ["with one side", [side("left")], "1 left and 0 right among 1 sources"],
    ["with a side in upper case", [side("left"), side("RIGHT")], "1 left and 0 right among 2 sources"],
    ["with three sides", [side("left"), side("right"), side("left")], "2 left and 1 right among 3 sources"],
    ["with two left sides", [side("left"), side("left")], "2 left and 0 right among 2 sources"],
  ])("%s", (_, sources, found) => {
    expect(refusalOf(joined({ join: v2Join({ sources }) }))).toMatchObject({
      reason: "join",
      message: `join.sources: expected one source with orientation left and one with orientation right, got ${found}`,
    });
  });

  test("but not for a source without orientation beside the two", () => {
    const sources = [...(v2Join()["sources"] as unknown[]), side("")];
    expect(migrate(joined({ join: v2Join({ sources }) })).config).toHaveProperty("join");
  });
});

test("a converted join is valid v3", () => {
  expect(migrate(joined()).warnings.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(convert(joined()).remarks.map(({ code }) => code)).toEqual(["V2_PASSWORD"]);
});

test("the v3 file of a join runs: nothing of it is refused", () => {
  const file = { path: "join.yaml", bytes: readFileSync("test/golden/migrate/join.yaml.v3.txt") };
  const problems = validate([file]);
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(problems.map(({ code }) => code)).toContain("JOIN_REPLAY");
  expect(load([file]).pipelines.map(({ config }) => config.join?.left_source.key)).toEqual(["user_id"]);
});
