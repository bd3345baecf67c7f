import { expect, test } from "vitest";
import { load, Loader } from "../../../reconciler/desired/load.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";
import { pipelineText } from "../../support/pipeline-text.ts";

const signal = new AbortController().signal;

function broken(id: string, problems: number): string {
  const keys = Array.from({ length: problems }, (_, n) => `key${n}: 1\n`).join("");
  return `${pipelineText({ id })}\n${keys}`;
}

/** A pipeline with a pattern of 40,000 instructions. */
function matching(id: string, times: number): string {
  return pipelineText({ id, expression: `level matches "${".{1000}".repeat(40)}${times}"` });
}

/** A document has a hundred problems at most. */
function brokenFile(name: string, documents: number): ReturnType<typeof fileOf> {
  const texts = Array.from({ length: documents }, (_, n) => broken(`${name}-${n}a`, 98));
  return fileOf(texts.join("---\n"), `${name}.yaml`);
}

test("of a file of broken documents two hundred problems are kept, and each document stays refused", () => {
  const { pipelines, refused, problems } = load([brokenFile("broken", 5), fileOf(goodPipeline, "good.yaml")]);
  expect(pipelines.map(({ pipeline_id }) => pipeline_id)).toEqual(["orders-eu"]);
  expect(refused).toHaveLength(5);
  expect(problems.filter(({ code }) => code === "UNKNOWN_KEY").length).toBeLessThan(230);
  expect(problems.filter(({ code }) => code === "TOO_MANY_PROBLEMS")).toMatchObject([
    { file: "broken.yaml", severity: "info" },
  ]);
});

test("all files together have a limit too, and room again once others were mended", { tags: ["rest"] }, async () => {
  const files = Array.from({ length: 110 }, (_, n) => brokenFile(`broken${n}`, 2));
  const loader = new Loader();
  const all = await loader.load(files, signal);
  expect(all.refused).toHaveLength(220);
  expect(all.problems.length).toBeLessThan(20_600);
  const few = files.slice(105);
  expect((await loader.load(few, signal)).problems).toEqual(load(few).problems);
});

test("a file beyond the documents of all files is left as it is", { tags: ["rest"] }, () => {
  const many = Array.from({ length: 25 }, (_, n) => fileOf("a: 1\n---\n".repeat(900), `many${n}.yaml`));
  const { pipelines, refused } = load([...many, fileOf(goodPipeline, "orders.yaml")]);
  expect(pipelines).toEqual([]);
  expect(refused.find(({ file }) => file === "orders.yaml")).toMatchObject({
    freezesFile: true,
    problems: [{ code: "TOO_MANY_VALUES", found: "more" }],
  });
});

test("a file may not have very many values in all its documents", () => {
  const aliases = `a: &a [${"x,".repeat(300)}]\nb: [${"*a,".repeat(300)}]\n`;
  const { refused } = load([fileOf(Array.from({ length: 4 }, () => aliases).join("---\n"))]);
  expect(refused).toMatchObject([{ freezesFile: true, problems: [{ code: "TOO_MANY_VALUES" }] }]);
});

test("the patterns of a file have a limit together, and another file has its own", () => {
  const documents = Array.from({ length: 14 }, (_, n) => matching(`costly-${n}a`, n)).join("---\n");
  const { pipelines, problems } = load([fileOf(documents, "a.yaml"), fileOf(matching("other-one", 1), "b.yaml")]);
  expect(problems.filter(({ code }) => code === "EXPRESSION_COST").map(({ file }) => file)).toEqual([
    "a.yaml",
    "a.yaml",
  ]);
  expect(pipelines.map(({ pipeline_id }) => pipeline_id)).toContain("other-one");
});
