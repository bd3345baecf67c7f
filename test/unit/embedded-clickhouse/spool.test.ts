import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Spool } from "../../../engine/embedded-clickhouse/server/spool.ts";

const isLinux = process.platform === "linux";
const onlyLinux = "needs Linux: elsewhere there is no tmpfs, and a file without a name cannot be read again";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-spool-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe.each([
  ["in tmpfs", "/dev/shm"],
  ["on disk, where there is no tmpfs", "/nowhere"],
])("a body %s", (_, tmpfs) => {
  test("is read back by its path, and gone after close", async () => {
    const spool = await Spool.open(join(folder, "spool"), tmpfs);
    const file = await spool.file();
    for (const part of ["a", "", "bc"]) await file.write(Buffer.from(part));
    expect(await readFile(file.path, "utf8")).toBe("abc");
    await file.close();
    await expect(readFile(file.path)).rejects.toThrow();
  });

  test("has no name", async ({ skip }) => {
    if (!isLinux) skip(onlyLinux);
    const spool = await Spool.open(join(folder, "spool"), tmpfs);
    const file = await spool.file();
    await file.write(Buffer.from("abc"));
    expect(await readdir(join(folder, "spool"))).toEqual([]);
    expect((await readdir("/dev/shm")).filter((name) => name.startsWith(`sluice-${process.pid}-`))).toEqual([]);
    await file.close();
  });
});

test("a body that outgrows its share of tmpfs goes on on disk", async ({ skip }) => {
  if (!isLinux) skip(onlyLinux);
  const spool = await Spool.open(join(folder, "spool"), "/dev/shm", 10);
  const [small, large] = [await spool.file(), await spool.file()];
  await small.write(Buffer.from("12345"));
  await large.write(Buffer.from("abcd"));
  await large.write(Buffer.from("efghij"));
  await large.write(Buffer.from("klm"));
  expect(await readFile(large.path, "utf8")).toBe("abcdefghijklm");
  expect([small.isInMemory, large.isInMemory]).toEqual([true, false]);
  await small.close();
  const next = await spool.file();
  await next.write(Buffer.from("1234567890"));
  expect(next.isInMemory).toBe(true);
  await Promise.all([large.close(), next.close()]);
});

test("bodies of an earlier process are gone", async () => {
  await Spool.open(join(folder, "spool"));
  await writeFile(join(folder, "spool", "left"), "x");
  await Spool.open(join(folder, "spool"));
  expect(await readdir(join(folder, "spool"))).toEqual([]);
});

test("names that killed processes left in tmpfs are gone, and no others", async () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  const [dead, alive, foreign] = [`sluice-${pid}-1`, `sluice-${process.pid}-1`, "somebody-else"];
  for (const name of [dead, alive, foreign]) await writeFile(join(folder, name), "");
  await Spool.open(join(folder, "spool"), folder);
  expect((await readdir(folder)).toSorted()).toEqual([alive, foreign, "spool"].toSorted());
});
