import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KeptTokens } from "../../../engine/embedded-clickhouse/server/tokens/kept-tokens.ts";
import { Memory } from "../../../engine/embedded-clickhouse/server/tokens/memory.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-memory-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const path = (): string => join(folder, "memory.json");
const kept = async (): Promise<unknown> => JSON.parse(await readFile(path(), "utf8")) as unknown;

test("it stays the same one over starts in one run of the machine, synced or not", async () => {
  const first = await Memory.open(folder);
  await first.note(false);
  const second = await Memory.open(folder);
  expect(second.identity).toBe(first.identity);
  await second.note(true);
  expect((await Memory.open(folder)).identity).toBe(first.identity);
});

test("it is another one where the machine ended after tokens that were not synced", async () => {
  await writeFile(path(), JSON.stringify({ identity: "a", unsynced_in: "an earlier run" }));
  const memory = await Memory.open(folder);
  expect(memory.identity).toMatch(/^[0-9a-f-]{36}$/);
  expect(await kept(), "the next start finds the new one").toEqual({ identity: memory.identity });
});

test("it stays the same one where the machine ended and all tokens were synced", async () => {
  await writeFile(path(), JSON.stringify({ identity: "a" }));
  expect((await Memory.open(folder)).identity).toBe("a");
});

test("where it is not known in which run tokens were not synced, it is another one", async () => {
  await writeFile(path(), JSON.stringify({ identity: "a", unsynced_in: "" }));
  expect((await Memory.open(folder)).identity).not.toBe("a");
});

test.each(["", "{", "null", "[]", "7", '{"identity":7}', '{"unsynced_in":"a"}', '{"identity":""}'])(
  "a file that holds %j is replaced by a new identity",
  async (text) => {
    await writeFile(path(), text);
    const { identity } = await Memory.open(folder);
    expect(identity).toMatch(/^[0-9a-f-]{36}$/);
    expect(await kept()).toEqual({ identity });
  },
);

test("what is noted is in the file, and a note that changes nothing writes nothing", async () => {
  const memory = await Memory.open(folder);
  await memory.note(false);
  expect(await kept()).toEqual({ identity: memory.identity, unsynced_in: expect.stringMatching(/./) as string });
  await rm(path());
  await memory.note(false);
  await expect(readFile(path())).rejects.toThrow("ENOENT");
  await memory.note(true);
  expect(await kept()).toEqual({ identity: memory.identity });
});

test("a statement that may make a table is not run where that cannot be noted beforehand", async () => {
  await mkdir(join(folder, "engine"));
  const tokens = await KeptTokens.open(folder);
  await mkdir(`${path()}.new`);
  let isRun = false;
  await expect(
    tokens.during(async () => {
      isRun = true;
    }),
  ).rejects.toThrow("EISDIR");
  expect(isRun).toBe(false);
  await rm(`${path()}.new`, { recursive: true });
  await tokens.during(async () => expect(await kept()).toHaveProperty("unsynced_in"));
});

test("what a statement throws is thrown, and what it made is seen to", async () => {
  await mkdir(join(folder, "engine"));
  const tokens = await KeptTokens.open(folder);
  const failed = tokens.during(async () => {
    throw new Error("it failed");
  });
  await expect(failed).rejects.toThrow("it failed");
  await tokens.close();
  expect(await kept(), "an end syncs the logs").toEqual({ identity: tokens.identity });
});
