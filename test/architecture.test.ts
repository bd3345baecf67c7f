import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { breaches, crowdedFolders, mostFiles, twoWayFolders, type SourceText } from "./unit/docs/import-rules.ts";

const files = ["schemas", "engine", "reconciler", "examples"].flatMap(sourcesBelow);

function sourcesBelow(folder: string): SourceText[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(`${folder}/${path}`, "utf8") }));
}

test("the house keeps its import rules", () => {
  expect(files.length).toBeGreaterThan(100);
  expect(breaches(files)).toEqual([]);
});

test("no two folders import each other, types included", () => {
  expect(twoWayFolders(files)).toEqual([]);
});

test(`no folder has more than ${mostFiles} source files`, () => {
  expect(crowdedFolders(files)).toEqual([]);
});

test("unit tests that replace modules are named *.mocked.test.ts, as the others share their modules", () => {
  const tests = ["test/unit", "test/conformance"].flatMap(sourcesBelow).filter(({ path }) => path.endsWith(".test.ts"));
  const replacing = tests.filter(({ text }) => /\bvi\.(do)?mock\(/i.test(text));
  const named = tests.filter(({ path }) => path.endsWith(".mocked.test.ts"));
  expect(named.length).toBeGreaterThan(0);
  expect(replacing.map(({ path }) => path)).toEqual(named.map(({ path }) => path));
});

describe("a planted breach is found", () => {
  test.each([
    [
      "the engine imports the reconciler",
      "engine/streams/streams.ts",
      'import type { Plan } from "../../reconciler/plan/change.ts";',
    ],
    ["the schemas import the engine", "schemas/index.ts", 'export { Engine } from "../engine/index.ts";'],
    [
      "the reconciler goes past the engine's door",
      "reconciler/plan/decide/plan.ts",
      'import { Pipeline } from "../../../engine/pipeline.ts";',
    ],
    [
      "the command line goes past the door by a dynamic import",
      "reconciler/cli/daemon/run.ts",
      'await import("../../../engine/engine.ts");',
    ],
    [
      "a sink imports a source",
      "engine/sinks/clickhouse/sink.ts",
      'import { x } from "../../sources/webhook/intake.ts";',
    ],
    [
      "a transform imports a stream",
      "engine/transforms/filter/filter.ts",
      'import { x } from "../../streams/embedded/segment.ts";',
    ],
    [
      "a pipeline is compiled with a sink of its own choice",
      "engine/workers/compile.ts",
      'import { x } from "../sinks/clickhouse/sink.ts";',
    ],
    ["the core imports a component", "engine/core/sink.ts", 'import { x } from "../streams/embedded/segment.ts";'],
    ["the core does input and output", "engine/core/stream.ts", 'import { open } from "node:fs/promises";'],
    ["the plan reads a file", "reconciler/plan/decide/plan.ts", 'import { readFileSync } from "node:fs";'],
    ["the plan looks at the clock", "reconciler/plan/decide/plan.ts", "const now = Date.now();"],
    ["a component reads the environment", "engine/sinks/clickhouse/sink.ts", 'const x = process.env["X"];'],
    ["the reconciler prints", "reconciler/reconciler.ts", 'console.log("done");'],
    [
      "a check of files imports the whole engine",
      "reconciler/validate/rules/target.ts",
      'import { Engine } from "../../../engine/index.ts";',
    ],
    [
      "the language imports a plan, and be it a type",
      "reconciler/language/document.ts",
      'import type { Plan } from "../plan/change.ts";',
    ],
    ["the pure door loads a file system", "engine/language.ts", 'import { open } from "node:fs/promises";'],
    [
      "something that the pure door loads opens a connection",
      "engine/expression/index.ts",
      'import { connect } from "node:net";',
    ],
    ["a component touches prom-client", "engine/delivery/pipeline.ts", 'import { Counter } from "prom-client";'],
  ])("%s", (_title, path, line) => {
    const original = files.find((file) => file.path === path);
    expect(original, `${path} is a file of the house`).toBeDefined();
    const planted = { path, text: `${line}\n${original!.text}` };
    expect(breaches([...files.filter((file) => file.path !== path), planted])).toHaveLength(1);
  });

  test("two folders that import each other, be it for a type", () => {
    const path = "reconciler/language/node.ts";
    const text = 'import type { DesiredState } from "../desired/desired-state.ts";';
    const pairs = twoWayFolders([...files.filter((file) => file.path !== path), { path, text }]);
    expect(pairs).toEqual(["reconciler/desired <-> reconciler/language"]);
  });

  test("a folder that grows beyond its size", () => {
    const paths = Array.from({ length: mostFiles + 1 }, (_, index) => `reconciler/new/${index}.ts`);
    const folder = paths.map((path): SourceText => ({ path, text: "" }));
    expect(crowdedFolders(folder.slice(1))).toEqual([]);
    expect(crowdedFolders([...folder, { path: "reconciler/new/below/a.ts", text: "" }])).toEqual(["reconciler/new"]);
  });

  test("a circle of imports", () => {
    const circle = [
      { path: "engine/a.ts", text: 'import { b } from "./b.ts";' },
      { path: "engine/b.ts", text: 'import { a } from "./a.ts";' },
    ];
    expect(breaches(circle)).toEqual(["engine/a.ts -> engine/b.ts -> engine/a.ts: imports go round in a circle"]);
  });
});
