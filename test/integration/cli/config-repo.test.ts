import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sourceKinds } from "../../../engine/language.ts";
import type { PlanReport } from "../../../reconciler/preview/report.ts";
import type { Problem } from "../../../reconciler/language/problem.ts";
import { type Printed, runCommand } from "../../support/command.ts";
import { GitRepository } from "../../support/git-repository.ts";

const environments = ["staging", "production"];
let repository: GitRepository;
let pipelines: string;

beforeAll(async () => {
  repository = await GitRepository.create();
  await cp("examples/config-repo", repository.path, { recursive: true });
  await repository.commit({});
  pipelines = join(repository.path, "pipelines");
});

afterAll(() => repository.remove());

function sluice(environment: string, ...argv: string[]): Promise<Printed> {
  return runCommand([...argv, "--vars", join(repository.path, "environments", `${environment}.yaml`)]);
}

/** The files of variables that the workflow names, for the action as for the command. */
async function varsOfWorkflow(): Promise<string[]> {
  interface Workflow {
    jobs: { check: { steps: { with: { vars?: string } }[] } };
  }
  const text = await readFile(join(repository.path, ".github/workflows/pipelines.yml"), "utf8");
  const { vars = "" } = (load(text) as Workflow).jobs.check.steps.at(-1)!.with;
  return vars.trim().split("\n");
}

/** As the workflow plans: the changes in each environment. */
async function plan(): Promise<{ code: number; changes: Record<string, PlanReport["changes"]> }> {
  const vars = (await varsOfWorkflow()).flatMap((file) => ["--vars", join(repository.path, file)]);
  const argv = ["plan", pipelines, "--base", "main", "--fail-on", "forget", "--format", "json", ...vars];
  const { code, out } = await runCommand(argv);
  const reports = JSON.parse(out) as PlanReport[];
  return { code, changes: Object.fromEntries(reports.map((one) => [one.environment, one.changes])) };
}

interface Pipeline {
  sources: { type: string }[];
  transforms?: { type: string }[];
}

async function valid(environment: string): Promise<{ files: number; problems: Problem[] }> {
  const { code, out } = await sluice(environment, "validate", pipelines, "--format", "json");
  expect(code).toBe(0);
  return JSON.parse(out) as { files: number; problems: Problem[] };
}

/** Replaces a passage of a file for as long as `use` takes. */
async function changed(path: string, from: string, to: string, use: () => Promise<void>): Promise<void> {
  const file = join(pipelines, path);
  const text = await readFile(file, "utf8");
  expect(text).toContain(from);
  try {
    await writeFile(file, text.replace(from, to));
    await use();
  } finally {
    await writeFile(file, text);
  }
}

/** What the tests of a folder print. */
async function tested(folder: string): Promise<string> {
  const vars = join(repository.path, "environments", "production.yaml");
  const goesOn = new AbortController().signal;
  return (await runCommand(["test", join(pipelines, folder), "--vars", vars], { signal: goesOn })).out;
}

describe("the example of a repository", () => {
  test.each(environments)("is valid in %s, without a warning", async (environment) => {
    const { files, problems } = await valid(environment);
    expect(files).toBeGreaterThanOrEqual(12);
    expect(problems.filter(({ severity }) => severity !== "info")).toEqual([]);
  });

  test("has every kind of source and of transform", async () => {
    const listed = await repository.git("ls-files", "pipelines");
    const texts = listed.split("\n").filter((path) => !/\.test\.ya?ml$/.test(path));
    const files = await Promise.all(texts.map((path) => readFile(join(repository.path, path), "utf8")));
    const all = files.map((text) => load(text) as Pipeline);
    const kinds = new Set(all.flatMap((one) => one.sources.map(({ type }) => type)));
    expect([...kinds].toSorted()).toEqual(
      Object.values(sourceKinds)
        .flatMap(({ types }): string[] => [...types])
        .toSorted(),
    );
    const transforms = new Set(all.flatMap(({ transforms: some = [] }) => some.map(({ type }) => type)));
    expect([...transforms].toSorted()).toEqual(["dedup", "filter", "stateless"]);
  });

  test("has nothing to do where nothing changes", async () => {
    const { code } = await sluice("production", "plan", pipelines, "--base", "main");
    expect(code).toBe(0);
  });

  test("passes a change that drains, and blocks one that forgets, as its workflow asks", async () => {
    await changed("shop/orders.yaml", 'status != "test"', 'status != "trial"', async () => {
      const { code, changes } = await plan();
      expect(code).toBe(2);
      const rows = [{ pipeline_id: "orders", level: "rows" }];
      expect(changes).toMatchObject({ staging: rows, production: rows });
    });
    await changed("shop/orders.yaml", "key: order_id,", "key: ordered_at,", async () => {
      const { code, changes } = await plan();
      expect(code).toBe(1);
      const forget = [{ pipeline_id: "orders", level: "forget" }];
      expect(changes).toMatchObject({ staging: forget, production: forget });
    });
  });

  test("passes its tests, and not with another filter", { tags: ["rest"] }, async () => {
    expect(await tested(".")).toMatch(/^(?:passed .*\n){8,}\d+ tests: \d+ passed, 0 failed$/);
    await changed("shop/orders.yaml", 'status != "test"', 'status != "trial"', async () => {
      expect(await tested("shop")).toMatch(/\nfailed \S*shop\/orders\.test\.yaml/);
    });
  });

  test("fails where an expression has a mistake", async () => {
    await changed("web/clicks.yaml", "lower(user_agent)", "lower(agent)", async () => {
      const { code, out } = await sluice("production", "validate", pipelines);
      expect(code).toBe(1);
      expect(out).toContain("agent");
    });
  });
});
