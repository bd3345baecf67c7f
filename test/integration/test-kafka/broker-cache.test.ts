import { randomUUID } from "node:crypto";
import { readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cachedFolder } from "../../support/cached-folder.ts";

let name: string;
let cache: string;
let made: number;

beforeEach(() => {
  name = `test-${randomUUID()}`;
  made = 0;
});
afterEach(async () => {
  for (const rest of await inCache()) await rm(join(cache, rest), { recursive: true, force: true });
});

/** What of this test is there. */
async function inCache(): Promise<string[]> {
  return (await readdir(cache)).filter((found) => found.startsWith(name));
}

async function make(folder: string): Promise<void> {
  made++;
  cache = dirname(folder);
  await writeFile(join(folder, "whole"), "");
}

test("a folder is made once, however many ask at the same moment", async () => {
  const paths = await Promise.all([1, 2, 3].map(() => cachedFolder("kafka", name, make)));
  expect(paths.map((path) => basename(path))).toEqual([name, name, name]);
  expect(await cachedFolder("kafka", name, make)).toBe(paths[0]);
  expect([made, await readdir(paths[0]!)]).toEqual([1, ["whole"]]);
});

test("what a maker left half done is never taken for the whole, and goes", async () => {
  const fail = async (folder: string): Promise<void> => {
    await make(folder);
    throw new Error("the line broke");
  };
  await expect(cachedFolder("kafka", name, fail)).rejects.toThrow("the line broke");
  expect(await inCache()).not.toContain(name);
  expect(await readdir(await cachedFolder("kafka", name, make))).toEqual(["whole"]);
  expect(await inCache()).toEqual([name, `${name}.lock`]);
});
