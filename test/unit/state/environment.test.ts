import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Store } from "../../../engine/state/store.ts";
import { openEnvironment } from "../../../engine/state/environment.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-environment-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test.each([
  ["an absolute path", (path: string) => path],
  ["a path from the working directory", (path: string) => relative(process.cwd(), path)],
])("a store is kept under %s, and nothing else is left where memory takes its lock", async (_what, spelled) => {
  const path = join(folder, "state.mdb");
  for (const value of ["one", "two"]) {
    const env = openEnvironment(spelled(path));
    const table = env.openDB<string, string>({ name: "values" });
    expect(table.get("key")).toBe(value === "one" ? undefined : "one");
    table.putSync("key", value);
    await env.close();
  }
  const isInMemory = existsSync("/dev/shm");
  expect(await readdir(folder)).toEqual(isInMemory ? ["state.mdb"] : ["state.mdb", "state.mdb-lock"]);
  const { dev, ino } = await stat(folder);
  expect(existsSync(`/dev/shm/sluice-lock-${dev}-${ino}`)).toBe(false);
});

test("a store is for its owner alone, in a folder that others may enter too", async () => {
  await chmod(folder, 0o755);
  const store = Store.open(folder);
  try {
    const modes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).mode));
    expect(modes.length).toBeGreaterThan(0);
    expect(modes.filter((mode) => (mode & 0o077) !== 0)).toEqual([]);
  } finally {
    await store.close();
  }
});
