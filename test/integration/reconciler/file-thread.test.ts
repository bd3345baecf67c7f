import { afterEach, expect, test } from "vitest";
import { FileThread } from "../../../reconciler/desired/file-thread.ts";
import { load, Loader } from "../../../reconciler/desired/load.ts";
import type { DesiredState } from "../../../reconciler/desired/desired-state.ts";
import type { SourceFile } from "../../../reconciler/language/source-text.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { v2Text } from "../../support/version-2.ts";

const never = new AbortController().signal;
let thread: FileThread | undefined;

afterEach(() => thread?.close());

function pipeline(id: string): SourceFile {
  return fileOf(pipelineText({ id }), `${id}.yaml`);
}

/** A file that takes seconds, and much memory, and is within the bounds of its size. */
function slow(name: string): SourceFile {
  const anchor = `a: &a [${"x,".repeat(300)}]\nb: [${"*a,".repeat(300)}]\n`;
  return fileOf(Array.from({ length: 2 }, () => `version: v3\n${anchor}`).join("---\n"), name);
}

/** All that a desired state says, the places of fields included. */
function told({ pipelines, ...rest }: DesiredState): unknown {
  const places = [[], ["sink", "table"], ["name"], ["transforms", 0, "config", "expression"]];
  return {
    pipelines: pipelines.map((one) => ({
      ...one,
      place: places.map((path) => one.place(path)),
      variables: places.map((path) => one.variables(path)),
    })),
    ...rest,
  };
}

test("files that a thread reads say the same as files that are read here", async () => {
  thread = new FileThread();
  const many = Array.from({ length: 60 }, (_, n) => pipeline(`many-${n}`));
  const documents = Array.from({ length: 60 }, (_, n) => pipelineText({ id: `doc-${n}a` })).join("---\n");
  const variables = new Map([["TABLE", "orders"]]);
  const files = [
    ...many,
    fileOf(documents, "documents.yaml"),
    fileOf(goodPipeline.replace("table: orders", "table: ${var:TABLE}"), "variable.yaml"),
    fileOf(v2Text("old-one"), "old.yaml"),
    fileOf("{ broken", "broken.yaml"),
    fileOf("pipeline_id: hidden-one\n", ".hidden.yaml"),
    fileOf("broken.yaml\n", "team/.sluiceignore"),
    fileOf("{", "team/broken.yaml"),
  ];
  const loader = new Loader(thread);
  const read = await loader.load(files, never, variables);
  expect(told(read)).toEqual(told(load(files, variables)));
  expect((await loader.load(files, never, variables)).pipelines[0]).toBe(read.pipelines[0]);
});

test("a file beyond the time of one file is refused, and the others are read", { tags: ["rest"] }, async () => {
  thread = new FileThread({ time: 1 });
  const { pipelines, refused } = await new Loader(thread).load([slow("a.yaml"), slow("b.yaml")], never);
  expect([pipelines, refused.map(({ file, freezesFile, problems }) => [file, freezesFile, problems[0]?.code])]).toEqual(
    [
      [],
      [
        ["a.yaml", true, "FILE_COST"],
        ["b.yaml", true, "FILE_COST"],
      ],
    ],
  );
});

test("a file beyond the memory of one file is refused, and the others are read", async () => {
  thread = new FileThread({ memory: 24 });
  const values = Array.from({ length: 99_000 }, () => "{a}").join(",");
  const large = fileOf(`version: v3\na: [${values}]\n`, "b.yaml");
  const { pipelines, refused } = await new Loader(thread).load([pipeline("alpha"), large, pipeline("charlie")], never);
  expect(pipelines.map(({ pipeline_id }) => pipeline_id)).toEqual(["alpha", "charlie"]);
  expect(refused.map(({ file, problems }) => [file, problems[0]?.code])).toEqual([["b.yaml", "FILE_COST"]]);
});

test("patterns of a .sluiceignore that take without end leave its own folder out", { tags: ["rest"] }, async () => {
  thread = new FileThread({ time: 2_000 });
  const rules = fileOf(`${"**/a/".repeat(4)}b\n`, "team/.sluiceignore");
  const deep = `team/${"a/".repeat(200)}orders.yaml`;
  const files = [rules, fileOf(goodPipeline, deep), pipeline("alpha")];
  const { pipelines, refused, ignored } = await new Loader(thread).load(files, never);
  expect(pipelines.map(({ pipeline_id }) => pipeline_id)).toEqual(["alpha"]);
  expect(ignored).toContain(deep);
  expect(refused.map(({ file, problems }) => [file, problems[0]?.code])).toEqual([
    ["team/.sluiceignore", "IGNORE_COST"],
  ]);
});

test("a reading that is cancelled ends at once, and the next one works", async () => {
  thread = new FileThread();
  const cancelled = new AbortController();
  const loading = new Loader(thread).load([slow("a.yaml")], cancelled.signal);
  setTimeout(() => cancelled.abort(new Error("stopped")), 5);
  await expect(loading).rejects.toThrow("stopped");
  expect((await new Loader(thread).load([pipeline("alpha")], never)).pipelines).toHaveLength(1);
});

test("two readings at one time do not mix", { tags: ["rest"] }, async () => {
  thread = new FileThread();
  const ids = ["alpha", "bravo", "charlie"];
  const read = await Promise.all(ids.map((id) => new Loader(thread).load([pipeline(id)], never)));
  expect(read.map(({ pipelines }) => pipelines.map(({ pipeline_id }) => pipeline_id))).toEqual(ids.map((id) => [id]));
});
