import { describe, expect, test } from "vitest";
import { isPipelineFile, load, withoutForeign } from "../../../reconciler/desired/load.ts";
import type { SourceFile } from "../../../reconciler/language/source-text.ts";
import { changed, fileOf, goodPipeline } from "../../support/pipeline-file.ts";

const other = goodPipeline.replace("orders-eu", "orders-us").replace("table: orders", "table: orders_us");

/** The good pipeline under another id, waiting for one. */
function waits(pipeline_id: string, on: string): SourceFile {
  const own = goodPipeline.replace("orders-eu", pipeline_id).replace("table: orders", `table: ${pipeline_id}`);
  const content = `${own}x-sluice: { depends_on: [${on}] }\n`;
  return fileOf(content, `${pipeline_id}.yaml`);
}

test("a good document becomes a pipeline", () => {
  const directives = "x-sluice:\n  state: Stopped\n  prune: false\n  create_table: true\n  access_token: ${env:T}\n";
  const { pipelines, refused, problems } = load([fileOf(`# mine\n\n${goodPipeline}${directives}`, "team/orders.yaml")]);
  expect({ refused, problems }).toEqual({ refused: [], problems: [] });
  expect(pipelines).toHaveLength(1);
  expect(pipelines[0]).toMatchObject({
    pipeline_id: "orders-eu",
    file: "team/orders.yaml",
    line: 3,
    config: { pipeline_id: "orders-eu", name: "Orders Eu" },
    options: { create_table: true, access_token: "${env:T}" },
    directives: {
      state: "Stopped",
      suspend: false,
      prune: false,
      depends_on: [],
      drift: "correct",
      adopt: false,
      recreate: false,
    },
  });
  expect(JSON.stringify(pipelines[0]?.config)).not.toContain("x-sluice");
});

test("one pipeline for each document, in the order of their ids", () => {
  const { pipelines } = load([fileOf(`${other}---\n${goodPipeline}`)]);
  expect(pipelines.map(({ pipeline_id, line }) => [pipeline_id, line])).toEqual([
    ["orders-eu", 23],
    ["orders-us", 1],
  ]);
});

test("a bad document leaves its neighbours alone, and says which pipeline it is about", () => {
  const bad = goodPipeline.replace("orders-eu", "orders-bad").replace("table: orders", "tabel: orders");
  const { pipelines, refused } = load([fileOf(`${bad}---\n${goodPipeline}`, "a.yaml"), fileOf(other, "b.yaml")]);
  expect(pipelines.map(({ pipeline_id }) => pipeline_id)).toEqual(["orders-eu", "orders-us"]);
  expect(refused).toMatchObject([{ file: "a.yaml", line: 1, freezesFile: false, pipeline_ids: ["orders-bad"] }]);
});

test("a file that cannot be parsed freezes what was seen in it, and what it still names", () => {
  const { pipelines, refused } = load([fileOf(`${goodPipeline}\tx: y\n`, "a.yaml"), fileOf(other, "b.yaml")]);
  expect(pipelines.map(({ pipeline_id }) => pipeline_id)).toEqual(["orders-us"]);
  expect(refused).toMatchObject([{ file: "a.yaml", freezesFile: true, pipeline_ids: ["orders-eu"] }]);
});

test.each([
  ["an id that is none", changed("orders-eu", "Orders")],
  ["no id", changed("pipeline_id: orders-eu\n", "")],
  ["an empty file", ""],
])("with %s the file is all that is known", (_, content) => {
  expect(load([fileOf(content)]).refused).toMatchObject([{ freezesFile: true, pipeline_ids: [] }]);
});

test("a pipeline_id that stands twice in a document freezes both", () => {
  const { refused } = load([fileOf(`${goodPipeline}pipeline_id: orders-us\n`)]);
  expect(refused).toMatchObject([{ freezesFile: false, pipeline_ids: ["orders-eu", "orders-us"] }]);
});

test("two documents with one pipeline_id are both refused, and each names the other", () => {
  const { pipelines, refused, problems } = load([
    fileOf(goodPipeline, "a.yaml"),
    fileOf(changed("table: orders", "table: x"), "b/b.yml"),
    fileOf(other, "c.yaml"),
  ]);
  expect(pipelines.map(({ pipeline_id }) => pipeline_id)).toEqual(["orders-us"]);
  expect(refused.map(({ file, pipeline_ids }) => [file, ...pipeline_ids])).toEqual([
    ["a.yaml", "orders-eu"],
    ["b/b.yml", "orders-eu"],
  ]);
  expect(problems.map(({ file, line, column, code, found }) => [`${file}:${line}:${column}`, code, found])).toEqual([
    ["a.yaml:2:14", "DUPLICATE_PIPELINE_ID", '"orders-eu" also in b/b.yml:2'],
    ["b/b.yml:2:14", "DUPLICATE_PIPELINE_ID", '"orders-eu" also in a.yaml:2'],
  ]);
});

test("a bad document with the id of a good one refuses both", () => {
  const { pipelines, refused } = load([
    fileOf(goodPipeline, "a.yaml"),
    fileOf("version: v2\npipeline_id: orders-eu\n", "b.yaml"),
  ]);
  expect(pipelines).toEqual([]);
  expect(refused).toHaveLength(2);
});

test("pipelines that wait for each other in a circle are refused, one that waits for them is not", () => {
  const { pipelines, refused } = load([waits("aaaaa", "bbbbb"), waits("bbbbb", "aaaaa"), waits("ccccc", "aaaaa")]);
  expect(pipelines.map(({ pipeline_id, directives }) => [pipeline_id, directives.depends_on])).toEqual([
    ["ccccc", ["aaaaa"]],
  ]);
  expect(refused.flatMap(({ problems }) => problems.map(({ code }) => code))).toEqual(["DEPENDS_ON", "DEPENDS_ON"]);
});

test.each([
  ["orders.yaml", true],
  ["team/orders.yml", true],
  ["team/orders.YAML", true],
  ["orders.Json", true],
  ["Sluice.YAML", false],
  ["./team/orders.json", true],
  ["../config/orders.yaml", true],
  ["README.md", false],
  ["orders.yaml.bak", false],
  [".github/workflows/ci.yml", false],
  [".git/config.yaml", false],
  ["team/.hidden.yaml", false],
  ["sluice.yaml", false],
  ["deploy/sluice.yml", false],
  ["my-sluice.yaml", true],
  ["team/orders.test.yaml", false],
  ["orders.Test.JSON", false],
  ["test.yaml", true],
  ["orders.tests.yaml", true],
])("%s is read as a pipeline file: %s", (path, read) => {
  expect(isPipelineFile(path)).toBe(read);
  expect(load([fileOf("nonsense", path)]).problems).toHaveLength(read ? 1 : 0);
});

describe("documents of other tools", () => {
  const others = [
    ["compose.yaml", 'version: "3.8"\nname: shop\nservices: { web: { image: nginx } }\n'],
    ["deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\n---\nkind: Service\n"],
    ["package.json", '{ "name": "shop", "version": "1.0.0" }'],
    ["list.yaml", "- one\n- two\n"],
  ] as const;

  test.each(others)("%s is a note, and changes and refuses nothing", (path, text) => {
    const desired = withoutForeign(load([fileOf(goodPipeline), fileOf(text, path)]), new Set());
    expect([desired.pipelines.length, desired.refused]).toEqual([1, []]);
    const said = desired.problems.map(({ code, severity, file }) => `${severity} ${code} ${file}`);
    expect(new Set(said)).toEqual(new Set([`info NOT_A_PIPELINE ${path}`]));
  });

  test.each(others)("%s is refused where it held a pipeline before", (path, text) => {
    const { refused, problems } = withoutForeign(load([fileOf(text, path)]), new Set([path]));
    expect(refused.every(({ freezesFile }) => freezesFile) && refused.length > 0).toBe(true);
    expect(new Set(problems.map(({ severity }) => severity))).toEqual(new Set(["error"]));
  });

  test.each([
    "pipeline_id: orders\n",
    "version: v3\nname: x\n",
    "version: v9\n",
    "verson: v3\nsources: []\n",
    "sink: {}\n",
  ])("%j is meant as a pipeline", (text) => {
    const { refused, problems } = withoutForeign(load([fileOf(text)]), new Set());
    expect(refused).toHaveLength(1);
    expect(problems.map(({ code }) => code)).not.toContain("NOT_A_PIPELINE");
  });
});

test("warnings do not refuse", () => {
  const { pipelines, refused, problems } = load([fileOf(`${goodPipeline}x-sluice: { access_token: abc }\n`)]);
  expect([pipelines.length, refused.length, problems.length]).toEqual([1, 0, 1]);
});
