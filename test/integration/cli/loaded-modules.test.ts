import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { entryPoint } from "../../../engine/index.ts";
import { sluice } from "../../support/daemon.ts";

const recorder = fileURLToPath(new URL("../../support/record-modules.mjs", import.meta.url));
const v3 = "examples/quickstart/pipelines/app-errors.yaml";
const v2 = "test/golden/migrate/shop.yaml";

/** What checking or converting a file needs: schemas, YAML and JSON, regular expressions, and to watch a folder. */
const ofFiles = ["ajv", "chokidar", "commander", "ignore", "js-yaml", "re2js", "yaml"];

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
  const found = [...modules.matchAll(/node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\/[^\n]*$/gm)].map(([, name = ""]) => name);
  const known = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  return { code, packages: known.filter((name) => found.includes(name)) };
}

test("validate loads no store and no client of a server", async () => {
  const { code, packages } = await loadedBy("validate", v3);
  expect(code).toBe(0);
  expect(packages).toEqual(["ajv", "chokidar", "commander", "ignore", "js-yaml", "re2js"]);
});

test("plan loads no store and no client of a server but Git", async () => {
  const { code, packages } = await loadedBy("plan", "examples", "--base", "HEAD", "--fail-on", "none");
  expect([0, 2]).toContain(code);
  expect(packages).toEqual(["ajv", "commander", "diff", "ignore", "js-yaml", "re2js", "simple-git"]);
});

test("schema loads no store and no client of a server", async () => {
  expect(await loadedBy("schema")).toEqual({ code: 0, packages: ["ajv", "commander", "js-yaml"] });
});

test("migrate loads no store and no client of a server, also where it writes", async () => {
  const file = join(folder, "shop.yaml");
  await copyFile(v2, file);
  const { packages } = await loadedBy("migrate", "--write", file);
  expect(packages).toEqual(ofFiles);
  expect(await readFile(file, "utf8")).toContain("version: v3");
});

test("init loads no store and no client of a server", async () => {
  expect(await loadedBy("init", join(folder, "new"))).toEqual({ code: 0, packages: ["ajv", "commander", "js-yaml"] });
});

/** What the command line and the settings are read with. */
const ofEvery = ["ajv", "commander", "js-yaml"];

test.each(["--help", "--version", "help plan", "plan --help", "completion bash"])("%s loads no more", async (line) => {
  expect(await loadedBy(...line.split(" "))).toEqual({ code: 0, packages: ofEvery });
});

test.each(["get", "health", "history", "reconcile", "__pipeline-ids"])(
  "%s, which asks the daemon, loads no store and no client of another server",
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
});

test("a thread of pipelines loads kafkajs only when one of them reads a topic", async () => {
  // Outside of a thread it ends as soon as it is loaded.
  const { packages } = await loadedByProgram(entryPoint("thread"));
  expect(packages).toContain("@clickhouse/client");
  expect(packages).not.toContain("kafkajs");
});
