import { describe, expect, test } from "vitest";
import { load } from "../../../reconciler/desired/load.ts";
import type { Path } from "../../../schemas/index.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";
import { v2Filter, v2Text } from "../../support/version-2.ts";

const said = (content: string): string[] =>
  load([fileOf(content)]).problems.map(({ line, column, severity, code, path }) =>
    [`${line}:${column}`, severity, code, path].join(" ").trim(),
  );

test("a v2 document without a filter is the pipeline that it becomes in v3, with a remark", () => {
  const { pipelines, refused } = load([fileOf(v2Text("orders-eu", ["x-sluice: { create_table: true }"]))]);
  expect(refused).toEqual([]);
  expect(pipelines).toMatchObject([
    {
      pipeline_id: "orders-eu",
      config: {
        version: "v3",
        sources: [{ type: "webhook", source_id: "input" }],
        transforms: [],
        sink: { connection_params: { host: "embedded" }, table: "orders_eu", max_delay_time: "50ms" },
      },
      options: { create_table: true },
    },
  ]);
  expect(said(v2Text("orders-eu"))).toEqual(["1:10 warning V2_CONVERTED version"]);
});

test("a v2 document with a deduplication becomes a pipeline with a dedup", () => {
  const topic = "{ name: input, deduplication: { enabled: true, id_field: id, id_field_type: int, time_window: 1h } }";
  const { pipelines, refused } = load([fileOf(v2Text("orders-eu", [], topic))]);
  expect(refused).toEqual([]);
  expect(pipelines).toMatchObject([
    {
      config: {
        transforms: [{ type: "dedup", source_id: "input", config: { key: "id", time_window: "1h0m0s" } }],
        resources: { transform: [{ source_id: "input", storage: { size: expect.any(String) as string } }] },
      },
    },
  ]);
  expect(said(v2Text("orders-eu", [], topic))).toEqual(["1:10 warning V2_CONVERTED version"]);
});

test.each<[Path, string]>([
  [["sink", "table"], "10:10"],
  [["sink", "connection_params", "host"], "8:9"],
  [["sources", 0, "schema_fields", 1, "type"], "15:46"],
  [["sink", "mapping", 1, "column_type"], "15:87"],
  [["sources", 0, "source_id"], "5:20"],
  [["resources", "nats", "stream", "max_age"], "1:1"],
])("%j of its config is written at %s", (path, at) => {
  const [pipeline] = load([fileOf(v2Text("orders-eu"))]).pipelines;
  const place = pipeline?.place(path);
  expect(`${place?.line}:${place?.column}`).toBe(at);
});

describe("a v2 document with a filter", () => {
  test("is held back at its filter", () => {
    const { pipelines, refused } = load([fileOf(v2Text("orders-eu", v2Filter))]);
    expect(pipelines).toEqual([]);
    expect(refused).toMatchObject([{ freezesFile: false, pipeline_ids: ["orders-eu"] }]);
    expect(said(v2Text("orders-eu", v2Filter))).toEqual([
      "1:10 warning V2_CONVERTED version",
      "18:15 error FILTERS_NOT_REVIEWED transforms[0].config.expression",
    ]);
  });

  test("runs with the text that it has once a person has looked", () => {
    const { pipelines } = load([fileOf(v2Text("orders-eu", [...v2Filter, "x-sluice: { filters_reviewed: true }"]))]);
    expect(pipelines[0]?.config.transforms).toEqual([
      { type: "filter", source_id: "input", config: { expression: "level == 'debug'" } },
    ]);
  });

  test.each(["{ filters_reviewed: 'yes' }", "{ filters_reviewed: null }", "reviewed"])(
    "does not run with x-sluice: %s",
    (directives) => {
      const text = v2Text("orders-eu", [...v2Filter, `x-sluice: ${directives}`]);
      expect(load([fileOf(text)]).pipelines).toEqual([]);
      expect(said(text)).toContainEqual(expect.stringContaining(" error TYPE x-sluice"));
    },
  );

  test("is not held back for one that is off", () => {
    const off = v2Filter.map((line) => line.replace("true", "false"));
    expect(load([fileOf(v2Text("orders-eu", off))]).pipelines).toHaveLength(1);
  });

  test("that does not compile is told where it breaks", () => {
    const text = v2Text("orders-eu", v2Filter).replace("level == 'debug'", "level == 'a' and lvl == 'b'");
    expect(said(text)).toContain("18:32 error EXPRESSION transforms[0].config.expression");
  });
});

describe("a v2 document is refused", () => {
  const text = v2Text("orders-eu");
  const join = "join: { enabled: true, sources: [{ orientation: left }] }";

  test.each<[string, string, string[]]>([
    [
      "for what is not of the types of v2",
      text.replace("input }", "5 }"),
      ["5:20 error V2_NOT_RUN source.topics[0].name"],
    ],
    ["for a join without two sides", v2Text("orders-eu", [join]), ["16:33 error V2_NOT_RUN join.sources"]],
    ["for keys that stand twice", `${text}pipeline_id: orders-us\n`, ["16:1 error DUPLICATE_KEY pipeline_id"]],
    ["for the keys of v3", goodPipeline.replace("v3", "v2"), ["1:10 error V2_NOT_RUN version"]],
    [
      "for what v3 needs beside it",
      text.replace("  table: orders_eu\n", ""),
      ["1:10 warning V2_CONVERTED version", "6:1 error REQUIRED sink.table"],
    ],
  ])("%s", (_, content, problems) => {
    expect(said(content)).toEqual(problems);
    expect(load([fileOf(content)]).pipelines).toEqual([]);
  });

  test("and freezes both pipelines that it names twice", () => {
    const { refused } = load([fileOf(`${text}pipeline_id: orders-us\n`)]);
    expect(refused).toMatchObject([{ pipeline_ids: ["orders-eu", "orders-us"] }]);
  });
});

test("a v2 and a v3 document with one pipeline_id are both refused", () => {
  const { refused } = load([fileOf(v2Text("orders-eu"), "a.yaml"), fileOf(goodPipeline, "b.yaml")]);
  expect(refused.map(({ problems }) => problems.map(({ code }) => code))).toEqual([
    expect.arrayContaining(["DUPLICATE_PIPELINE_ID"]),
    expect.arrayContaining(["DUPLICATE_PIPELINE_ID"]),
  ]);
});

const marked = (value: boolean): string => `${goodPipeline}x-sluice: { filters_reviewed: ${value} }\n`;

describe("a v3 document that was written by a migration", () => {
  test("is held back while its filter is not reviewed", () => {
    expect(said(marked(false))).toEqual([
      expect.stringMatching(/ error FILTERS_NOT_REVIEWED transforms\[0\]\.config\.expression$/),
    ]);
  });

  test("is good once it is", () => {
    expect(said(marked(true))).toEqual([]);
  });

  test("is good without a filter", () => {
    const filter = /transforms:\n(?: .*\n)+/;
    expect(said(marked(false).replace(filter, ""))).toEqual([]);
  });
});
