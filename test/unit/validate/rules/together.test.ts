import { describe, expect, test } from "vitest";
import { consumerGroup } from "../../../../engine/index.ts";
import { load, validate } from "../../../../reconciler/desired/load.ts";
import { changedIn, fileOf, goodPipeline, joinPipeline, kafkaPipeline } from "../../../support/pipeline-file.ts";

const named = (pipeline: string, id: string) => pipeline.replace("orders-eu", id);

/** Code, place and finding of what is said of two files. */
function told(...contents: string[]): string[] {
  const files = contents.map((content, index) => fileOf(content, `${"abcdef"[index]}.yaml`));
  return validate(files)
    .filter(({ code }) => code !== "NOT_SUPPORTED_YET")
    .map(({ code, file, line, found }) => `${file}:${line} ${code}: ${found}`);
}

const server = (id: string, ...passages: string[]) => changedIn(named(kafkaPipeline, id), ...passages);

/** Files by what each waits for, and which of them are refused for a circle. */
function circle(waits: Record<string, string[]>): string[] {
  const files = Object.entries(waits).map(([id, on]) => {
    const content = named(goodPipeline, `pipe-${id}`).replace("table: orders", `table: ${id}`);
    return fileOf(`${content}x-sluice: { depends_on: [${on.map((one) => `pipe-${one}`).join(", ")}] }\n`, `${id}.yaml`);
  });
  return load(files).refused.flatMap(({ file, problems }) =>
    problems.filter(({ code }) => code === "DEPENDS_ON").map(({ path }) => `${file} ${path.slice(-3)}`),
  );
}

describe("two pipelines that write to one table", () => {
  test("are told, each with the other", () => {
    expect(told(named(goodPipeline, "aaaaa"), named(goodPipeline, "bbbbb"))).toEqual([
      "a.yaml:18 SHARED_TABLE: the one of b.yaml:18",
      "b.yaml:18 SHARED_TABLE: the one of a.yaml:18",
    ]);
  });

  test("and a third", () => {
    const [first] = told(named(goodPipeline, "aaaaa"), named(goodPipeline, "bbbbb"), named(goodPipeline, "ccccc"));
    expect(first).toBe("a.yaml:18 SHARED_TABLE: the one of b.yaml:18, and 1 more");
  });

  test("are told for a server too, whatever its case", () => {
    expect(told(server("aaaaa"), server("bbbbb", "host: clickhouse", "host: ClickHouse"))).toHaveLength(2);
  });

  test.each([
    ["another table", server("bbbbb", "table: orders", "table: Orders")],
    ["another database", server("bbbbb", "database: shop", "database: shop2")],
    ["another server", server("bbbbb", "host: clickhouse", "host: clickhouse2")],
    ["another port", server("bbbbb", '"9000"', '"9001"')],
    ["no table at all", server("bbbbb", "  table: orders\n", "")],
  ])("are not those with %s", (_, other) => {
    expect(told(server("aaaaa"), other).filter((text) => text.includes("SHARED_TABLE"))).toEqual([]);
  });

  test("are not two copies of one pipeline, which are refused as such", () => {
    expect(told(goodPipeline, goodPipeline).map((text) => text.split(" ")[1])).toEqual([
      "DUPLICATE_PIPELINE_ID:",
      "DUPLICATE_PIPELINE_ID:",
    ]);
  });
});

const second = (...passages: string[]) => changedIn(named(goodPipeline, "bbbbb"), ...passages);

describe("two pipelines that write to one table with different mappings", () => {
  const columns = "    - { name: id, column_name: id, column_type: Int64 }\n";

  test.each([
    [
      "another type",
      ["column_type: Float64", "column_type: String"],
      "amount as Float64 instead of String",
      "amount as String instead of Float64",
    ],
    ["a column less", [columns, ""], "id only here", "id only there"],
    [
      "another column",
      ["column_name: id", "column_name: key"],
      "id only here; key only there",
      "key only here; id only there",
    ],
  ])("are told with %s", (_, passages, first, other) => {
    expect(told(named(goodPipeline, "aaaaa"), second(...passages))).toEqual([
      `a.yaml:20 SHARED_TABLE_MAPPING: ${first}`,
      `b.yaml:20 SHARED_TABLE_MAPPING: ${other}`,
    ]);
  });

  test("are told among others with the same one", () => {
    const same = ["aaaaa", "ccccc", "ddddd"].map((id) => named(goodPipeline, id));
    const all = told(...same, second("column_type: Float64", "column_type: String"));
    expect(all.map((text) => text.split(":")[1])).toEqual(same.concat("").map(() => "20 SHARED_TABLE_MAPPING"));
  });

  test.each([
    ["in another order", [columns, "", "column_type: Float64 }\n", `column_type: Float64 }\n${columns}`]],
    ["with other spaces", ["column_type: Float64", "column_type: ' Float64 '"]],
  ])("are not those with the same columns %s", (_, passages) => {
    const codes = told(named(goodPipeline, "aaaaa"), second(...passages)).map((text) => text.split(" ")[1]);
    expect(codes).toContain("SHARED_TABLE:");
    expect(codes).not.toContain("SHARED_TABLE_MAPPING:");
  });

  test("are told too where the mappings are long", () => {
    const long = Array.from({ length: 600 }, (_, n) => columns.replace("column_name: id", `column_name: id${n}`)).join(
      "",
    );
    const found = told(
      changedIn(named(goodPipeline, "aaaaa"), columns, long),
      changedIn(named(goodPipeline, "bbbbb"), columns, long.replace("Int64", "Int32")),
    );
    expect(found).toContain("a.yaml:20 SHARED_TABLE_MAPPING: other columns or types");
  });
});

describe("two Kafka pipelines with one consumer group", () => {
  /** Two ids whose SHA-256 begin with the same 8 hexadecimal digits. */
  const [one, two] = ["pipeline-54638", "pipeline-64864"];

  test("are refused, each with the other, in one cluster", () => {
    expect(consumerGroup(one)).toBe(consumerGroup(two));
    expect(told(server(one), server(two, "table: orders", "table: other"))).toEqual([
      `a.yaml:2 SHARED_GROUP: "${one}" with ${consumerGroup(one)}, as b.yaml:2`,
      `b.yaml:2 SHARED_GROUP: "${two}" with ${consumerGroup(one)}, as a.yaml:2`,
    ]);
    expect(load([fileOf(server(one), "a.yaml"), fileOf(server(two), "b.yaml")]).pipelines).toEqual([]);
  });

  test("are refused likewise by the names that their files give", () => {
    const of = (id: string) => `${server(id, "table: orders", `table: ${id}`)}x-sluice: { consumer_group: shop }\n`;
    const line = of("aaaaa").split("\n").length - 1;
    expect(told(of("aaaaa"), of("bbbbb"))).toEqual([
      `a.yaml:${line} SHARED_GROUP: "shop", as b.yaml:${line}`,
      `b.yaml:${line} SHARED_GROUP: "shop", as a.yaml:${line}`,
    ]);
    const apart = `${server(two, "table: orders", "table: other")}x-sluice: { consumer_group: shop }\n`;
    expect(told(server(one), apart)).toEqual([]);
  });

  test("are refused as well where one reads only the right side of its join there", () => {
    const joined = joinPipeline
      .replace("orders-eu", two)
      .replace("*kafka", '{ brokers: ["kafka-1:9092"], protocol: PLAINTEXT }');
    expect(told(server(one), joined).map((text) => text.split(":")[0])).toEqual(["a.yaml", "b.yaml"]);
  });

  test.each([
    ["of another cluster", server(two, "table: orders", "table: other", "kafka-1:9092", "kafka-2:9092")],
    ["of another group", server("bbbbb", "table: orders", "table: other")],
    ["that is no Kafka pipeline", named(goodPipeline, two)],
  ])("are not one %s", (_, other) => {
    expect(told(server(one), other)).toEqual([]);
  });
});

describe("pipelines that wait for each other", () => {
  test.each([
    ["nothing", { a: [], b: ["a"], c: ["a", "b"] }, []],
    ["itself", { a: ["a"] }, ["a.yaml [0]"]],
    ["two", { a: ["b"], b: ["a"] }, ["a.yaml [0]", "b.yaml [0]"]],
    [
      "three, with one in front and one behind",
      { a: ["b"], b: ["c"], c: ["d", "e"], d: ["b"], e: [] },
      ["b.yaml [0]", "c.yaml [0]", "d.yaml [0]"],
    ],
    [
      "two circles with a bridge",
      { a: ["b"], b: ["a", "c"], c: ["d"], d: ["c"] },
      ["a.yaml [0]", "b.yaml [0]", "c.yaml [0]", "d.yaml [0]"],
    ],
    [
      "a circle with a shortcut",
      { a: ["b", "c"], b: ["c"], c: ["a"] },
      ["a.yaml [0]", "a.yaml [1]", "b.yaml [0]", "c.yaml [0]"],
    ],
  ])("in a circle of %s", (_, waits, refused) => {
    expect(circle(waits)).toEqual(refused);
  });

  test("in a circle of eighty", () => {
    const waits = Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`p${n}`, [`p${(n + 79) % 80}`]]));
    expect(circle(waits)).toHaveLength(80);
  });
});
