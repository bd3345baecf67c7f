import { expect, test } from "vitest";
import { pipelineText } from "../../support/pipeline-text.ts";
import { planFor } from "./world.ts";
import type { There } from "./world.ts";

const orders = { id: "orders" };
const sales = { id: "sales" };
const edited = { ...orders, expression: "id > 1" };
const both = (...of: Parameters<typeof pipelineText>[0][]): string => of.map(pipelineText).join("---\n");
const seenIn = (file: string): There[] => [orders, sales].map((was) => ({ was, owned: { file } }));

/** Where two pipelines were seen last, what the files are now, and what is done. */
test.each<[string, string, Record<string, string>, string[]]>([
  ["their file was renamed", "a.yaml", { "b.yaml": both(orders, sales) }, ["no-op orders", "no-op sales"]],
  ["it was moved into a folder", "a.yaml", { "eu/a.yaml": both(orders, sales) }, ["no-op orders", "no-op sales"]],
  [
    "it was split",
    "a.yaml",
    { "orders.yaml": pipelineText(orders), "sales.yaml": pipelineText(sales) },
    ["no-op orders", "no-op sales"],
  ],
  ["its documents changed places", "a.yaml", { "a.yaml": both(sales, orders) }, ["no-op orders", "no-op sales"]],
  [
    "one moved, and was edited by the same commit",
    "a.yaml",
    { "a.yaml": pipelineText(sales), "b.yaml": pipelineText(edited) },
    ["update orders", "no-op sales"],
  ],
  [
    "one moved, and a new one took its place",
    "a.yaml",
    { "a.yaml": both({ id: "fresh" }, sales), "b.yaml": pipelineText(orders) },
    ["create fresh", "no-op orders", "no-op sales"],
  ],
  ["one moved, and the other went", "a.yaml", { "b.yaml": pipelineText(orders) }, ["no-op orders", "delete sales"]],
  [
    "one moved into a file that cannot be read",
    "a.yaml",
    { "a.yaml": pipelineText(sales), "b.yaml": `pipeline_id: orders\n  broken: [` },
    ["no-op sales", "no-op orders"],
  ],
])("pipelines are not touched because %s", (_title, file, files, done) => {
  const { changes } = planFor({ files, there: seenIn(file) });
  expect(changes.map(({ kind, pipeline_id }) => `${kind} ${pipeline_id}`)).toEqual(done);
});
