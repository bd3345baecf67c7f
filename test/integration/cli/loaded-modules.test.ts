import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { entryPoint } from "../../../engine/index.ts";
import { isEveryCase } from "../../support/cases.ts";
import { sluice } from "../../support/daemon.ts";

const recorder = fileURLToPath(new URL("../../support/record-modules.mjs", import.meta.url));
const v3 = "examples/quickstart/pipelines/app-errors.yaml";
const v2 = "test/golden/migrate/shop.yaml";

/** What checking or converting a file needs: YAML and JSON, and regular expressions. */
const ofFiles = ["commander", "ignore", "js-yaml", "re2js", "yaml"];

let folder: string;

beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "sluice-modules-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The packages that the built command loads, of those that Sluice depends on. */
const loadedBy = (...args: string[]) => loadedByProgram(sluice, ...args);

async function loadedByProgram(program: string, ...args: string[]): Promise<{ code: number; packages: string[] }> {
  const file = join(folder, "modules");
  const env = { ...process.env, LOADED_MODULES: file };
  const code = await new Promise<number>((done) => {
    const argv = ["--import", pathToFileURL(recorder).href, program, ...args];
    execFile(process.execPath, argv, { env }, (error) => done(Number(error?.code ?? 0)));
  });
  const modules = await readFile(file, "utf8");
  // What ajv compiled for the built program calls a few functions of it: that is not the package.
  const found = [...modules.matchAll(/node_modules\/(?!ajv\/dist\/runtime\/)((?:@[^/\n]+\/)?[^/\n]+)\/[^\n]*$/gm)].map(
    ([, name = ""]) => name,
  );
  const known = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  return { code, packages: known.filter((name) => found.includes(name)) };
}

test("validate loads no store and no client of a server", async () => {
  const { code, packages } = await loadedBy("validate", v3);
  expect(code).toBe(0);
  expect(packages).toEqual(["commander", "ignore", "js-yaml", "re2js"]);
});

test("plan loads no store and no client of a server but Git", { tags: ["rest"] }, async () => {
  const { code, packages } = await loadedBy("plan", "examples", "--base", "HEAD", "--fail-on", "none");
  expect([0, 2]).toContain(code);
  expect(packages).toEqual(["commander", "diff", "ignore", "js-yaml", "re2js", "simple-git"]);
});

test("schema loads no store and no client of a server", { tags: ["rest"] }, async () => {
  expect(await loadedBy("schema")).toEqual({ code: 0, packages: ["commander", "js-yaml"] });
});

test("migrate loads no store and no client of a server, also where it writes", { tags: ["rest"] }, async () => {
  const file = join(folder, "shop.yaml");
  await copyFile(v2, file);
  const { packages } = await loadedBy("migrate", "--write", file);
  expect(packages).toEqual(ofFiles);
  expect(await readFile(file, "utf8")).toContain("version: v3");
});

test("init loads no store and no client of a server", { tags: ["rest"] }, async () => {
  expect(await loadedBy("init", join(folder, "new"))).toEqual({ code: 0, packages: ["commander", "js-yaml"] });
});

/** What the command line and the settings are read with. */
const ofEvery = ["commander", "js-yaml"];

test("--help loads no more", async () => {
  expect(await loadedBy("--help")).toEqual({ code: 0, packages: ofEvery });
});

test.each(["--version", "completion bash"].concat(isEveryCase ? ["help plan", "plan --help"] : []))(
  "%s loads no more",
  { tags: ["rest"] },
  async (line) => {
    expect(await loadedBy(...line.split(" "))).toEqual({ code: 0, packages: ofEvery });
  },
);

test.each(["get", "__pipeline-ids"].concat(isEveryCase ? ["health", "history", "reconcile"] : []))(
  "%s, which asks the daemon, loads no store and no client of another server",
  { tags: ["rest"] },
  async (name) => {
    const { packages } = await loadedBy(name, "--data-dir", folder);
    expect(packages.filter((one) => !ofEvery.includes(one) && one !== "diff")).toEqual([]);
  },
);

test("run, which needs the engine, is seen to load it, and not yet what only some senders need", async () => {
  const { code, packages } = await loadedBy("run", "--data-dir", folder);
  expect(code).toBe(1);
  expect(packages).toEqual(expect.arrayContaining(["express", "lmdb", "prom-client", "protobufjs"]));
  expect(packages).not.toContain("@grpc/grpc-js");
  expect(packages).not.toContain("ajv");
});

test("a thread of pipelines loads kafkajs only when one of them reads a topic", { tags: ["rest"] }, async () => {
  // Outside of a thread it ends as soon as it is loaded.
  const { packages } = await loadedByProgram(entryPoint("thread"));
  expect(packages).toContain("@clickhouse/client");
  expect(packages).not.toContain("kafkajs");
});
