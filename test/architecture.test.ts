import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { breaches, type SourceText } from "./support/import-rules.ts";

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

describe("a planted breach is found", () => {
  test.each([
    [
      "the engine imports the reconciler",
      "engine/core/view.ts",
      'import { plan } from "../../reconciler/plan/plan.ts";',
    ],
    ["the schemas import the engine", "schemas/index.ts", 'export { Engine } from "../engine/index.ts";'],
    [
      "the reconciler goes past the engine's door",
      "reconciler/plan/plan.ts",
      'import { Pipeline } from "../../engine/pipeline.ts";',
    ],
    [
      "the command line goes past the door by a dynamic import",
      "reconciler/cli/run.ts",
      'await import("../../engine/engine.ts");',
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
    ["the core imports a component", "engine/core/sink.ts", 'import { x } from "../sinks/clickhouse/sink.ts";'],
    ["the core does input and output", "engine/core/stream.ts", 'import { open } from "node:fs/promises";'],
    ["the plan reads a file", "reconciler/plan/plan.ts", 'import { readFileSync } from "node:fs";'],
    ["the plan looks at the clock", "reconciler/plan/plan.ts", "const now = Date.now();"],
    ["a component reads the environment", "engine/sinks/clickhouse/sink.ts", 'const x = process.env["X"];'],
    ["the reconciler prints", "reconciler/reconciler.ts", 'console.log("done");'],
    ["a component touches prom-client", "engine/delivery/pipeline.ts", 'import { Counter } from "prom-client";'],
  ])("%s", (_title, path, line) => {
    const original = files.find((file) => file.path === path);
    expect(original, `${path} is a file of the house`).toBeDefined();
    const planted = { path, text: `${line}\n${original!.text}` };
    expect(breaches([...files.filter((file) => file.path !== path), planted])).toHaveLength(1);
  });

  test("a circle of imports", () => {
    const circle = [
      { path: "engine/a.ts", text: 'import { b } from "./b.ts";' },
      { path: "engine/b.ts", text: 'import { a } from "./a.ts";' },
    ];
    expect(breaches(circle)).toEqual(["engine/a.ts -> engine/b.ts -> engine/a.ts: imports go round in a circle"]);
  });
});
