import { readFile } from "node:fs/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { unlimited } from "../../conformance/stream-scene.ts";
import { quiet, SimulatedStreamFolder } from "../../support/simulation/stream-folder.ts";

const megabyte = 1024 * 1024;
/** Its segments are closed at 1 MiB. */
const small = { max_bytes: 8 * megabyte, max_msgs: Infinity };
const large = "x".repeat(1.2 * megabyte);

let folder: SimulatedStreamFolder;

beforeEach(async () => {
  folder = await SimulatedStreamFolder.make();
});

describe("a new segment that cannot be made", () => {
  test.each([
    ["open", "EMFILE", "nothing"],
    ["open", "EIO", "all"],
    ["write", "ENOSPC", "part"],
    ["sync", "EIO", "nothing"],
    ["rename", "EIO", "nothing"],
    ["rename", "EIO", "all"],
    ["syncFolder", "EIO", "nothing"],
    ["close", "EIO", "all"],
  ] as const)("loses no event that is answered later: %s fails with %s, %s of it done", async (call, code, taken) => {
    for (const isSettled of [true, false]) {
      folder = await SimulatedStreamFolder.make();
      // Without a limit the segment is far from full: only that all of it is settled makes a new one.
      const limits = isSettled ? unlimited : small;
      await folder.reopen(0, limits);
      await folder.push(large);
      folder.disk.fail(call, call === "write" && !isSettled ? 2 : 1, { code, taken });
      if (isSettled) await folder.stream.trim(1).catch(() => undefined);
      const answered: string[] = [];
      for (const text of ["two", "three", "four"]) {
        await folder.push(text).then(
          (sequence) => answered.push(`${sequence}:${text}`),
          () => undefined,
        );
      }
      expect(answered.length).toBeGreaterThan(1);
      expect(await folder.texts(2)).toEqual(answered);
      await folder.reopen(1, limits);
      expect(await folder.texts(2)).toEqual(answered);
      await folder.crash(1);
      expect(await folder.texts(2)).toEqual(answered);
      expect(folder.disk.handles).toHaveLength(1);
    }
  });

  test("and cannot be taken away again either keeps events from being answered until it can", async () => {
    await folder.push(large);
    folder.disk.fail("rename", 1, { code: "EIO", taken: "all" });
    for (const kth of [1, 2, 3]) folder.disk.fail("unlink", kth, { code: "EIO" });
    await folder.stream.trim(1).catch(() => undefined);
    await expect(folder.push("refused")).rejects.toMatchObject({ policy: "retry" });
    folder.disk.heal();
    expect(await folder.push("two")).toBe(2);
    expect(await folder.texts(2)).toEqual(["2:two"]);
    await folder.reopen(1);
    expect(await folder.texts(2)).toEqual(["2:two"]);
  });
});

describe("a write that fails", () => {
  test.each([
    ["write", "ENOSPC", "part"],
    ["write", "EIO", "all"],
    ["datasync", "EIO", "nothing"],
    ["datasync", "EIO", "all"],
  ] as const)("is cut before it is answered: %s fails with %s, %s of it done", async (call, code, taken) => {
    await folder.push("one");
    // The next call is one of the segment.
    await quiet();
    folder.disk.fail(call, 1, { code, taken });
    await expect(folder.push("refused")).rejects.toMatchObject({ policy: "retry" });
    await folder.open();
    expect(await folder.texts()).toEqual(["1:one"]);
    await folder.crash();
    expect(await folder.texts()).toEqual(["1:one"]);
    expect(await folder.push("two")).toBe(2);
  });

  test("is not answered before it is known that it is not there; what comes meanwhile is refused", async () => {
    await folder.push("one");
    folder.disk.fail("datasync", 1, { code: "EIO" });
    for (const kth of [1, 2, 3]) folder.disk.fail("truncate", kth, { code: "EIO" });
    let answer = "none";
    folder.push("unknown").then(
      () => (answer = "stored"),
      () => (answer = "refused"),
    );
    await quiet();
    expect([answer, folder.stuck]).toEqual(["none", 1]);
    await expect(folder.push("refused")).rejects.toMatchObject({ policy: "retry" });
    expect(answer).toBe("none");
    folder.disk.heal();
    expect(await folder.push("two")).toBe(2);
    expect(answer).toBe("refused");
    await folder.reopen();
    expect(await folder.texts()).toEqual(["1:one", "2:two"]);
  });

  test("that could not be cut is cut when the stream is closed", async () => {
    await folder.push("one");
    folder.disk.fail("datasync", 1, { code: "EIO" });
    folder.disk.fail("truncate", 1, { code: "EIO" });
    const refused = expect(folder.push("unknown")).rejects.toMatchObject({ policy: "retry" });
    await quiet();
    await folder.reopen();
    await refused;
    expect(await folder.texts()).toEqual(["1:one"]);
  });

  test("at its sync leaves the file alone: what comes next goes to another one", async () => {
    await folder.push("one");
    folder.disk.fail("datasync", 1, { code: "EIO" });
    await expect(folder.push("refused")).rejects.toThrow("EIO");
    expect(await folder.push("two", "three")).toBe(3);
    expect(await folder.names()).toHaveLength(2);
    await folder.crash();
    expect(await folder.texts()).toEqual(["1:one", "2:two", "3:three"]);
    await folder.stream.release(2);
    await folder.crash();
    expect(await folder.texts()).toEqual(["1:one", "2:two"]);
    expect(await folder.push("four")).toBe(4);
    await folder.stream.trim(3);
    await folder.crash(3);
    expect(await folder.texts(4)).toEqual(["4:four"]);
  });

  test.each(["at once", "after a start"])(
    "at its sync ends the file: a release of all that follows it, %s, is no damage",
    async (when) => {
      await folder.push("one");
      folder.disk.fail("datasync", 1, { code: "EIO" });
      await expect(folder.push("refused")).rejects.toThrow("EIO");
      // Nothing follows yet, and the file that does next must not be replaced.
      await folder.stream.release(1);
      expect(await folder.push("two")).toBe(2);
      if (when !== "at once") await folder.reopen();
      expect(await folder.texts()).toEqual(["1:one", "2:two"]);
      await folder.stream.release(1);
      expect(await folder.push("three")).toBe(3);
      await folder.crash();
      expect(await folder.texts()).toEqual(["1:one", "3:three"]);
      await folder.reopen(1);
      expect(await folder.texts(2)).toEqual(["3:three"]);
    },
  );
});

describe("what a crash may undo", () => {
  test("events that a release has dropped do not come back", async () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      folder = await SimulatedStreamFolder.make(seed);
      await folder.reopen(0, small);
      for (const letter of ["a", "b", "c", "d"]) await folder.push(letter + large, letter);
      await folder.stream.release(3);
      await folder.crash();
      expect(folder.stream.state).toMatchObject({ messages: 3, last: 8 });
      await folder.stream.trim(3);
      await folder.crash(3);
      expect(folder.stream.state).toMatchObject({ messages: 0, last: 8 });
    }
  });

  test("a start that follows a settled segment which was emptied and is still named", async () => {
    await folder.reopen(0, small);
    for (const letter of ["a", "b", "c", "d"]) await folder.push(letter + large, letter);
    await folder.stream.release(2);
    folder.disk.fail("unlink", 1, { code: "EIO" });
    await folder.stream.trim(2).catch(() => undefined);
    await folder.reopen(2);
    expect(folder.stream.state).toMatchObject({ messages: 0, last: 8 });
  });

  test("a stream that was just made, with what it was answered", async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      folder = await SimulatedStreamFolder.make(seed);
      await folder.push("one");
      await folder.crash();
      expect(await folder.texts()).toEqual(["1:one"]);
    }
  });
});

test("a disk with less than 48 MB free takes no push, and says so as the docs do", async () => {
  folder.disk.free = 48 * megabyte - 1;
  await expect(folder.push("one")).rejects.toMatchObject({
    code: "DISK_FULL",
    message: expect.stringContaining("less than 48 MB free"),
  });
  folder.disk.free = 48 * megabyte;
  expect(await folder.push("one")).toBe(1);
  const page = await readFile(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  const figures = [...page.matchAll(/less than (\d+) MB/g)].map(([, figure]) => figure);
  expect(new Set(figures)).toEqual(new Set(["48", "8"]));
});

test("a stream that cannot be opened leaves no file open", async () => {
  await folder.push("one");
  await folder.stream.close();
  for (const call of ["open", "read", "size", "write", "truncate", "sync", "syncFolder", "readdir"] as const) {
    for (let kth = 1; kth <= 4; kth += 1) {
      folder.disk.fail(call, kth, { code: "EIO" });
      const opened = await folder.open().then(
        (stream) => stream.close().then(() => "opened"),
        (error: { policy: string }) => error.policy,
      );
      folder.disk.heal();
      expect([call, kth, opened]).toEqual([call, kth, opened === "opened" ? "opened" : "retry"]);
      expect([call, kth, folder.disk.handles]).toEqual([call, kth, []]);
    }
  }
  await folder.open();
  expect(await folder.texts()).toEqual(["1:one"]);
});
