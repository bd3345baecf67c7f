import { appendFile, mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Folder } from "../../../reconciler/git/folder/folder.ts";
import { type ChangingFiles, SourceError } from "../../../reconciler/git/revision.ts";

const signal = new AbortController().signal;
let path: string;
let folder: Folder;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "sluice-folder-"));
  folder = new Folder({ path, quiet: 20 });
});

afterEach(async () => {
  await folder.close();
  await rm(path, { recursive: true, force: true });
});

const write = async (name: string, text: string) => {
  await mkdir(join(path, name, ".."), { recursive: true });
  await writeFile(join(path, name), text);
};
const paths = async () => (await folder.fetch(signal)).files.map((file) => file.path);

/** Watches, changes something and waits until that is told; several times in turn. */
async function eachIsTold(...changes: (() => Promise<unknown>)[]): Promise<void> {
  let told = 0;
  await folder.watch(() => (told += 1));
  await folder.fetch(signal);
  for (const change of changes) {
    const before = told;
    await change();
    await expect.poll(() => told).toBeGreaterThan(before);
    await folder.fetch(signal);
  }
}

async function isWatchedBehind(data: string): Promise<void> {
  await write(`${data}-1/a.yaml`, "one");
  await write(`${data}-2/a.yaml`, "two");
  await symlink(`${data}-1`, join(path, data));
  await symlink(`${data}/a.yaml`, join(path, "a.yaml"));
  await eachIsTold(
    () => write(`${data}-1/a.yaml`, "three"),
    async () => {
      await symlink(`${data}-2`, join(path, "next"));
      await rename(join(path, "next"), join(path, data));
    },
    () => write(`${data}-2/a.yaml`, "four"),
  );
}

/** How often a change is told while a file grows. */
async function tellsBeside(growing: string): Promise<number> {
  let told = 0;
  const patient = new Folder({ path, quiet: 500 });
  await patient.watch(() => (told += 1));
  const growth = setInterval(() => void appendFile(join(path, growing), "x\n"), 20);
  try {
    await write("a.yaml", "one");
    await expect.poll(() => told).toBeGreaterThan(0);
    return told;
  } finally {
    clearInterval(growth);
    await patient.close();
  }
}

describe("a folder", () => {
  test("is a revision of its YAML and JSON files, without hidden ones", async () => {
    for (const name of ["b.yml", "a/c.json", "README.md", ".git/x.yaml", ".hidden.yaml"]) await write(name, "x");
    expect(await paths()).toEqual(["a/c.json", "b.yml"]);
  });

  test("has its hidden files apart, but not those of Git and of a mounted ConfigMap, and links", async () => {
    for (const name of [".hidden.yaml", ".old/sub/a.yaml", ".old/note.md", ".git/x.yaml", "..data/a.yaml"])
      await write(name, "x");
    await symlink(join(path, ".hidden.yaml"), join(path, ".link.yaml"));
    const { files, hidden = [], skipped } = await folder.fetch(signal);
    expect(hidden.map((file) => file.path)).toEqual([".hidden.yaml", ".old/sub/a.yaml"]);
    expect([files, skipped]).toEqual([[], []]);
    await rm(join(path, ".old"), { recursive: true });
    expect((await folder.fetch(signal)).hidden).toHaveLength(1);
  });

  test("has no more than 2,000 hidden files", { tags: ["rest"] }, async () => {
    for (let at = 0; at < 2_100; at += 1) await write(`.many/${at}.yaml`, "x");
    expect((await folder.fetch(signal)).hidden!.length).toBeLessThan(2_000);
  });

  test("has another revision when a file's content or name changes, and the same while nothing does", async () => {
    await write("a.yaml", "one");
    const first = await folder.fetch(signal);
    expect(first.id).toMatch(/^dir@sha256:[0-9a-f]{64}$/);
    expect(await folder.fetch(signal)).toBe(first);
    await write("a.yaml", "two");
    const second = await folder.fetch(signal);
    await rename(join(path, "a.yaml"), join(path, "b.yaml"));
    const third = await folder.fetch(signal);
    expect(new Set([first.id, second.id, third.id]).size).toBe(3);
  });

  test("that is not there is an error, never an empty one", async () => {
    await rm(path, { recursive: true });
    const error = await folder.fetch(signal).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SourceError);
    expect((error as SourceError).message).toContain("expected a folder that can be read");
  });

  test("follows a link to a file inside, as a mounted ConfigMap has them, and names every other link", async () => {
    await write("..data/a.yaml", "a");
    await symlink("..data/a.yaml", join(path, "a.yaml"));
    await symlink("/etc/hostname", join(path, "b.yaml"));
    await symlink(tmpdir(), join(path, "c"));
    await symlink("nowhere", join(path, "d.yaml"));
    const { files, skipped } = await folder.fetch(signal);
    expect(files).toEqual([{ path: "a.yaml", bytes: Buffer.from("a") }]);
    expect(skipped.map((one) => one.path).toSorted()).toEqual(["b.yaml", "c", "d.yaml"]);
  });

  test("with a huge file names it and reads the rest", async () => {
    await write("a.yaml", "a");
    await write("b.yaml", "b".repeat(100));
    const small = new Folder({ path, limits: { files: 9, fileBytes: 99, bytes: 999 } });
    const { files, skipped } = await small.fetch(signal);
    expect(files.map((file) => file.path)).toEqual(["a.yaml"]);
    expect(skipped).toEqual([{ path: "b.yaml", reason: expect.stringContaining("100 bytes") as string }]);
  });
});

describe("a folder that may be half of a copy", () => {
  let now = 0;
  let copied: Folder;

  beforeEach(async () => {
    now = 0;
    const pause = async (wait: number): Promise<void> => void (now += wait);
    copied = new Folder({ path, settle: 10_000, now: () => now, pause });
    await write("a.yaml", "a");
    await write("sub/b.yaml", "b");
  });

  const settlingAt = async (time: number) => {
    now = time;
    return (await copied.fetch(signal)).settling;
  };

  test("has settled when it was read twice the same, and stood still in between", async () => {
    expect(await settlingAt(5)).toMatchObject({ after: 10_000, at: 10_005 });
    expect(await settlingAt(10_004)).toMatchObject({ after: 10_000, at: 10_005 });
    const waiting = await copied.fetch(signal);
    expect(await settlingAt(10_005)).toBeUndefined();
    const settled = await copied.fetch(signal);
    expect(settled).not.toBe(waiting);
    expect(settled.files).toBe(waiting.files);
    expect(await copied.fetch(signal)).toBe(settled);
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ["removed", () => rm(join(path, "sub"), { recursive: true }), "sub/b.yaml"],
    ["added", () => write("c.json", "c"), "c.json"],
    ["written", () => write("a.yaml", "c"), "a.yaml"],
    ["hidden", () => rename(join(path, "a.yaml"), join(path, ".a.yaml")), ".a.yaml"],
    [
      "removed and copied again with its time",
      async () => {
        await rm(join(path, "a.yaml"));
        await write("a.yaml", "a");
        await utimes(join(path, "a.yaml"), 1, 1);
      },
      "a.yaml",
    ],
    ["replaced by a link that leads to nothing", () => symlink("nowhere", join(path, "x.yaml")), "x.yaml"],
  ])("waits anew after a file was %s", async (_title, change, changed) => {
    await utimes(join(path, "a.yaml"), 1, 1);
    await settlingAt(0);
    await change();
    expect(await settlingAt(9_000)).toMatchObject({ after: 10_000, at: 19_000, changed });
    expect(await settlingAt(18_999)).toMatchObject({ changed });
    expect(await settlingAt(19_000)).toBeUndefined();
  });

  test("waits anew after it was gone", async () => {
    await settlingAt(0);
    expect(await settlingAt(10_000)).toBeUndefined();
    await rename(path, `${path}-away`);
    await expect(copied.fetch(signal)).rejects.toThrow(SourceError);
    await rename(`${path}-away`, path);
    expect(await settlingAt(20_000)).toMatchObject({ after: 10_000, at: 30_000 });
  });

  test("waits for no file that is none of a pipeline", async () => {
    await settlingAt(0);
    await write("growing.log", "line");
    expect(await settlingAt(10_000)).toBeUndefined();
  });
});

/** What a reading says of one file that is written. */
function changing(name: string, at: number): ChangingFiles {
  return { paths: [name], after: 2_000, at, isBrief: true };
}

describe("a file that is written in parts", () => {
  let now = 0;
  let written: Folder;
  let paused: number[];

  const follow = (settle: number): void => {
    [now, paused] = [0, []];
    const pause = async (wait: number): Promise<void> => {
      paused.push(wait);
      now += wait;
    };
    written = new Folder({ path, settle, now: () => now, pause });
  };

  beforeEach(async () => {
    follow(10_000);
    await write("a.yaml", "whole");
    await written.fetch(signal);
  });

  const at = async (time: number) => {
    now = time;
    const { files, settling } = await written.fetch(signal);
    return [Object.fromEntries(files.map((file) => [file.path, file.bytes.toString()])), settling?.changing];
  };
  const whole = { "a.yaml": "whole" };

  test("counts when it was read twice the same, two seconds apart; until then what it held before", async () => {
    await write("a.yaml", "ha");
    expect(await at(30_000)).toEqual([whole, changing("a.yaml", 32_000)]);
    await appendFile(join(path, "a.yaml"), "lf");
    expect(await at(31_999)).toEqual([whole, changing("a.yaml", 33_999)]);
    expect(await at(33_998)).toEqual([whole, changing("a.yaml", 33_999)]);
    expect(await at(33_999)).toEqual([{ "a.yaml": "half" }, undefined]);
  });

  test("counts for nothing before that where it is new, and nothing else waits for it", async () => {
    await write("b.yaml", "ha");
    await write("a.yaml", "else");
    await at(30_000);
    await appendFile(join(path, "b.yaml"), "lf");
    expect(await at(31_000)).toEqual([whole, { ...changing("a.yaml", 32_000), paths: ["a.yaml", "b.yaml"] }]);
    expect(await at(32_000)).toEqual([{ "a.yaml": "else" }, changing("b.yaml", 33_000)]);
    expect(await at(33_000)).toEqual([{ "a.yaml": "else", "b.yaml": "half" }, undefined]);
  });

  test("is not waited for where its bytes are those that count, nor when it is removed", async () => {
    await write("a.new", "whole");
    await rename(join(path, "a.new"), join(path, "a.yaml"));
    expect(await at(30_000)).toEqual([whole, undefined]);
    await rm(join(path, "a.yaml"));
    expect(await at(31_000)).toEqual([{}, undefined]);
    await write("a.yaml", "half");
    expect(await at(32_000)).toEqual([{}, changing("a.yaml", 34_000)]);
  });

  test("is not waited for by others when it is written all the time", async () => {
    for (let time = 30_000; time < 40_000; time += 1_000) {
      await appendFile(join(path, "a.yaml"), "x");
      expect(await at(time)).toEqual([whole, changing("a.yaml", time + 2_000)]);
    }
    await appendFile(join(path, "a.yaml"), "x");
    expect(await at(40_000)).toEqual([whole, { ...changing("a.yaml", 42_000), isBrief: false }]);
  });

  test("is waited for at the start, unless it is old", async () => {
    expect(paused).toEqual([2_000]);
    // By the clock of the machine it must be older than a fifth of that.
    follow(5);
    await sleep(10);
    expect((await written.fetch(signal)).files).toHaveLength(1);
    expect(paused).toEqual([]);
  });

  test("counts at once where nothing has to stand still", async () => {
    follow(0);
    for (const text of ["ha", "half"]) {
      await write("a.yaml", text);
      expect(await at(0)).toEqual([{ "a.yaml": text }, undefined]);
    }
  });
});

describe("a watched folder", () => {
  test.each<[string, () => Promise<void>]>([
    ["written", () => write("a.yaml", "two")],
    ["added in a new folder", () => write("new/b.yaml", "b")],
    ["removed", () => rm(join(path, "a.yaml"))],
    [
      "replaced by a rename, as editors do",
      async () => {
        await write("a.yaml.tmp", "two");
        await rename(join(path, "a.yaml.tmp"), join(path, "a.yaml"));
      },
    ],
  ])("tells that a file was %s", async (_title, change) => {
    await write("a.yaml", "one");
    const told = new Promise<void>((resolve) => void folder.watch(resolve).then(change));
    await told;
  });

  test("that is not there yet is told when it comes", async () => {
    await rm(path, { recursive: true });
    await new Promise<void>((resolve) => void folder.watch(resolve).then(() => write("a.yaml", "one")));
    expect(await paths()).toEqual(["a.yaml"]);
  });

  test("tells many changes at once as one", async () => {
    let told = 0;
    const patient = new Folder({ path, quiet: 300 });
    await patient.watch(() => (told += 1));
    for (let count = 0; count < 20; count++) await write(`${count}.yaml`, "x");
    await expect.poll(() => told, { timeout: 60_000 }).toBe(1);
    await patient.close();
    expect(told).toBe(1);
  });

  test("is watched again when another folder was made in its place", async () => {
    await write("a.yaml", "one");
    await eachIsTold(
      async () => {
        await rename(path, `${path}-old`);
        await write("a.yaml", "two");
      },
      () => write("a.yaml", "three"),
      async () => {
        await rm(path, { recursive: true });
        await write("a.yaml", "four");
      },
      () => write("b.yaml", "five"),
    );
    await rm(`${path}-old`, { recursive: true });
  });

  test("is watched behind the link that it is, also after that was swapped", async () => {
    await write("1/a.yaml", "one");
    await write("2/a.yaml", "one");
    await symlink("1", join(path, "current"));
    folder = new Folder({ path: join(path, "current"), quiet: 20 });
    await eachIsTold(
      () => write("1/a.yaml", "two"),
      async () => {
        await symlink("2", join(path, "next"));
        await rename(join(path, "next"), join(path, "current"));
      },
      () => write("2/a.yaml", "two"),
    );
  });

  test("is watched where its files are links to a hidden folder", () => isWatchedBehind(".data"));

  test("is watched as a mounted ConfigMap", { tags: ["rest"] }, () => isWatchedBehind("..data"));

  test("is watched below a folder that was renamed and made again", { tags: ["rest"] }, async () => {
    await write("sub/a.yaml", "one");
    await eachIsTold(
      async () => {
        await rename(join(path, "sub"), join(path, "old"));
        await write("sub/a.yaml", "two");
      },
      () => write("sub/a.yaml", "three"),
    );
  });

  test("tells a change while a log grows beside, and not of the log", async () => {
    expect(await tellsBeside("app.log")).toBe(1);
  });

  test("tells a change while a file of JSON grows beside", { tags: ["rest"] }, async () => {
    await tellsBeside("app.json");
  });
});
