import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DataDir, dataDirFormat, type Standby } from "../../../engine/state/data-dir.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-data-dir-"));
  path = join(folder, "data");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const held = { code: "DATA_DIR_HELD", details: { data_dir: expect.any(String) } };

/** Waits for the data dir, and has said so. */
async function waiting(signal: AbortSignal): Promise<{ taken: Promise<DataDir>; told: string[] }> {
  const told: string[] = [];
  const standby: Standby = { signal, waits: (holder) => told.push(holder) };
  const taken = DataDir.take(path, { standby });
  taken.catch(() => undefined);
  while (told.length === 0) await new Promise((resolve) => setImmediate(resolve));
  return { taken, told };
}

function formatPath(): string {
  return join(path, "format");
}

async function takenWithFormat(text: string): Promise<DataDir> {
  await mkdir(path);
  await writeFile(formatPath(), text);
  return DataDir.take(path);
}

describe("a data dir", () => {
  test("is made where there is none, and has the same id for each process", async () => {
    const first = await DataDir.take(path);
    expect(first.id).toMatch(/^[0-9a-f]{16}$/);
    first.release();
    first.release();
    const second = await DataDir.take(path);
    expect(second.id).toBe(first.id);
    second.release();
  });

  test("that is held is not taken, and the error names the holder", async () => {
    const first = await DataDir.take(path);
    await expect(DataDir.take(path)).rejects.toMatchObject(held);
    await expect(DataDir.take(path)).rejects.toThrow(`is held by process ${process.pid} on `);
    first.release();
    (await DataDir.take(path)).release();
  });
});

describe("a standby", () => {
  test("says who holds the data dir, once, and takes it when that one is gone", async () => {
    const first = await DataDir.take(path);
    const { taken, told } = await waiting(new AbortController().signal);
    await expect(DataDir.take(path)).rejects.toMatchObject(held);
    first.release();
    const second = await taken;
    expect(told).toEqual([expect.stringContaining(`process ${process.pid} on `)]);
    expect(second.id).toBe(first.id);
    await expect(DataDir.take(path)).rejects.toMatchObject(held);
    second.release();
  });

  test("that is to end takes it not, though it is free by then", async () => {
    const first = await DataDir.take(path);
    const end = new AbortController();
    const { taken } = await waiting(end.signal);
    first.release();
    end.abort(new Error("the standby ends"));
    await expect(taken).rejects.toThrow("the standby ends");
    (await DataDir.take(path)).release();
  });

  test("does not wait where nobody holds it", async () => {
    const told: string[] = [];
    const standby: Standby = { signal: new AbortController().signal, waits: (holder) => told.push(holder) };
    (await DataDir.take(path, { standby })).release();
    expect(told).toEqual([]);
  });
});

describe("the format", () => {
  test("of an earlier version becomes that of this one, with the same id", async () => {
    const dataDir = await takenWithFormat(JSON.stringify({ format: dataDirFormat - 1, id: "abc" }));
    expect(dataDir).toMatchObject({ id: "abc", format: dataDirFormat - 1 });
    await dataDir.upgraded();
    expect(JSON.parse(await readFile(formatPath(), "utf8"))).toEqual({ format: dataDirFormat, id: "abc" });
    dataDir.release();
  });

  test("of a newer version is refused, and stays as it is", async () => {
    const text = JSON.stringify({ format: dataDirFormat + 1, id: "abc" });
    await expect(takenWithFormat(text)).rejects.toMatchObject({ code: "DATA_DIR_NEWER" });
    expect(await readFile(formatPath(), "utf8")).toBe(text);
  });

  test("that is too old is refused, and stays as it is", async () => {
    const text = JSON.stringify({ format: 2, id: "abc" });
    await expect(takenWithFormat(text)).rejects.toMatchObject({
      code: "DATA_DIR_OLDER",
      message: expect.stringContaining("has format 2, and this Sluice reads formats 3 to 5"),
    });
    expect(await readFile(formatPath(), "utf8")).toBe(text);
  });

  test.each(["", "null", "4", '{"format":4}', '{"id":"abc"}', '{"format":"4","id":"abc"}', '{"format":4,"id":7}'])(
    "that Sluice did not write so is refused: %s",
    async (text) => {
      await expect(takenWithFormat(text)).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        message: expect.stringContaining("restore the whole data dir from one backup"),
      });
    },
  );
});
