import { beforeEach, describe, expect, test } from "vitest";
import type { Disk } from "../../../engine/core/disk.ts";
import { makeFolders } from "../../../engine/state/durable-files.ts";
import { SimulatedDisk } from "../../support/simulation/disk.ts";
import { Random } from "../../support/random.ts";

let random: Random;
let simulated: SimulatedDisk;
let disk: Disk;

beforeEach(() => start(1));

function start(seed: number): void {
  random = new Random(seed);
  simulated = new SimulatedDisk((n) => random.below(n));
  disk = simulated.boot();
}

function crash(): void {
  simulated.crash();
  disk = simulated.boot();
}

/** Writes a file of which nothing is synced. */
async function write(path: string, text: string): Promise<void> {
  const file = await disk.open(path, "create");
  await file.write(Buffer.from(text), 0);
  await file.close();
}

async function sync(path: string): Promise<void> {
  const file = await disk.open(path, "write");
  await file.sync();
  await file.close();
}

async function textOf(path: string): Promise<string | undefined> {
  return disk.open(path, "read").then(
    async (file) => {
      const bytes = Buffer.alloc(await file.size());
      await file.read(bytes, 0);
      await file.close();
      return bytes.toString("latin1");
    },
    (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? undefined : error.code),
  );
}

const stories = {
  "a file in a folder, both synced": async () => {
    await write("/a", "text");
    await sync("/a");
    await disk.syncFolder("/");
  },
  "a file that is synced": async () => {
    await write("/a", "text");
    await sync("/a");
  },
  "a text that is not synced": async () => {
    await write("/a", "");
    await disk.syncFolder("/");
    await write("/a", "text");
  },
  "a rename": async () => {
    await write("/a", "old");
    await write("/a.new", "new");
    await sync("/a");
    await sync("/a.new");
    await disk.syncFolder("/");
    await disk.rename("/a.new", "/a");
  },
  "a removal": async () => {
    await write("/a", "text");
    await sync("/a");
    await disk.syncFolder("/");
    await disk.unlink("/a");
  },
  "a removal that is synced": async () => {
    await write("/a", "text");
    await disk.syncFolder("/");
    await disk.unlink("/a");
    await disk.syncFolder("/");
  },
  "a folder that is made": async () => {
    await disk.mkdir("/folder");
    await write("/folder/a", "text");
    await sync("/folder/a");
    await disk.syncFolder("/folder");
  },
  "folders that are made durably": async () => {
    await makeFolders(disk, "/one/two");
    await write("/one/two/a", "text");
    await sync("/one/two/a");
    await disk.syncFolder("/one/two");
  },
  "a sync that fails before one that does not": async () => {
    await write("/a", "");
    await disk.syncFolder("/");
    await write("/a", "text");
    simulated.fail("sync", 1, { code: "EIO" });
    await expect(sync("/a")).rejects.toMatchObject({ code: "EIO" });
    expect(await textOf("/a")).toBe("text");
    await sync("/a");
  },
} satisfies Record<string, () => Promise<void>>;

/** What a story leaves after the crash at its end, under many seeds. */
async function leaves(story: keyof typeof stories, path: string): Promise<Set<string | undefined>> {
  const found = new Set<string | undefined>();
  for (let seed = 1; seed <= 200; seed += 1) {
    start(seed);
    await stories[story]();
    crash();
    found.add(await textOf(path));
  }
  return found;
}

describe("what a crash leaves", () => {
  test.each([
    ["a file in a folder, both synced", "/a", ["text"]],
    ["a file that is synced", "/a", ["text", undefined]],
    ["a rename", "/a", ["old", "new"]],
    ["a rename", "/a.new", [undefined, "new"]],
    ["a removal", "/a", ["text", undefined]],
    ["a removal that is synced", "/a", [undefined]],
    ["a folder that is made", "/folder/a", ["text", undefined]],
    ["folders that are made durably", "/one/two/a", ["text"]],
  ] as const)("of %s: what %s may be", async (story, path, texts) => {
    expect(await leaves(story, path)).toEqual(new Set(texts));
  });

  test("of a text that is not synced: it is there, not there, cut short, or has zeros", async () => {
    const found = await leaves("a text that is not synced", "/a");
    for (const text of ["text", "", "te", "t\0\0t", "\0\0\0\0"]) expect(found).toContain(text);
    expect(found).not.toContain("text\0");
  });

  test("of a sync that fails: what it has lost is lost, although a later sync has no error", async () => {
    expect((await leaves("a sync that fails before one that does not", "/a")).size).toBeGreaterThan(2);
  });

  test("calls of a process that the crash ended are never answered, and do nothing", async () => {
    await write("/a", "text");
    const file = await disk.open("/a", "write");
    const before = disk;
    const ended: string[] = [];
    void file.write(Buffer.from("more"), 0).then(() => ended.push("write"));
    crash();
    void before.mkdir("/b").then(() => ended.push("mkdir"));
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    expect(ended).toEqual([]);
    expect(await disk.readdir("/")).not.toContain("b");
    expect(simulated.handles).toEqual([]);
  });
});

describe("faults", () => {
  test.each([
    ["open", () => disk.open("/new", "create")],
    ["rename", () => disk.rename("/a", "/b")],
    ["unlink", () => disk.unlink("/a")],
    ["mkdir", () => disk.mkdir("/folder")],
    ["rmdir", () => disk.rmdir("/empty")],
    ["rm", () => disk.rm("/a")],
    ["readdir", () => disk.readdir("/")],
    ["syncFolder", () => disk.syncFolder("/")],
    ["freeBytes", () => disk.freeBytes("/")],
  ] as const)("the k-th %s fails, once, with nothing done, or with all done", async (kind, call) => {
    await disk.mkdir("/empty");
    await write("/a", "text");
    const names = await disk.readdir("/");
    simulated.fail(kind, 1, { code: "EMFILE" });
    await expect(call()).rejects.toMatchObject({ code: "EMFILE" });
    expect(await disk.readdir("/")).toEqual(names);
    expect(simulated.met.get(`${kind} EMFILE`)).toBe(1);
    simulated.fail(kind, 1, { code: "EIO", taken: "all" });
    await expect(call()).rejects.toMatchObject({ code: "EIO" });
    const changes = !["readdir", "syncFolder", "freeBytes"].includes(kind);
    expect((await disk.readdir("/")).join() !== names.join()).toBe(changes);
  });

  test("the second write is short, the third fails after a part of it", async () => {
    simulated.fail("write", 2, { taken: "part" });
    simulated.fail("write", 3, { code: "ENOSPC", taken: "part" });
    const file = await disk.open("/a", "create");
    expect(await file.write(Buffer.from("0123456789"), 0)).toBe(10);
    expect(await file.write(Buffer.from("0123456789"), 10)).toBeLessThan(10);
    await file.truncate(10);
    await expect(file.write(Buffer.from("0123456789"), 10)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(await file.size()).toBeGreaterThan(10);
    expect(await file.size()).toBeLessThan(20);
    expect(Object.fromEntries(simulated.met)).toEqual({ "write short": 1, "write ENOSPC": 1 });
    await file.close();
  });

  test("a bit that is turned round stays so", async () => {
    await write("/a", "b");
    await sync("/a");
    await disk.syncFolder("/");
    simulated.flip("/a", 0);
    expect(await textOf("/a")).toBe("c");
    crash();
    expect(await textOf("/a")).toBe("c");
  });

  test("open handles are listed until they are closed; a closed one is refused", async () => {
    const file = await disk.open("/a", "create");
    const other = await disk.open("/a", "read");
    expect(simulated.handles).toEqual(["/a", "/a"]);
    await file.close();
    expect(simulated.handles).toEqual(["/a"]);
    await expect((async () => file.size())()).rejects.toMatchObject({ code: "EBADF" });
    await expect((async () => other.truncate(0))()).rejects.toMatchObject({ code: "EBADF" });
    await other.close();
    expect(simulated.calls.get("open")).toBe(2);
  });
});
