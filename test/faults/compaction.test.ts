import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { compactStore } from "../../engine/state/compaction.ts";
import { DeadLetters } from "../../engine/state/dead-letters.ts";
import { Store, storePath } from "../../engine/state/store.ts";
import { SmallDisk } from "../support/small-disk.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { memoryRoot } from "../support/memory-folder.ts";

const child = fileURLToPath(new URL("compaction-child.ts", import.meta.url));
const megabyte = 1024 * 1024;
/** Letters of about 4 KiB. */
const [removed, kept] = [24_000, 6_000];
/** Holds a store with the letters of two pipelines, of which those of one are purged. */
let filled: string;
/** Of one test, with a copy of that store. */
let folder: string;

beforeAll(async () => {
  filled = await mkdtemp(join(memoryRoot(), "sluice-compaction-"));
  await fill(filled);
});

afterAll(() => rm(filled, { recursive: true, force: true }));

beforeEach(async () => {
  folder = await mkdtemp(join(memoryRoot(), "sluice-compaction-"));
  await cp(filled, folder, { recursive: true });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const sizeOf = (): number => statSync(storePath(folder)).size;
const lettersIn = (store: Store): DeadLetters => new DeadLetters(store, () => new Set());

async function fill(path: string): Promise<void> {
  const store = Store.open(path);
  const letters = lettersIn(store);
  for (const [id, count] of [["purged", removed] as const, ["kept", kept] as const]) {
    for (let from = 0; from < count; from += 1000) {
      const some = Array.from({ length: 1000 }, (_, index) => ({
        component: "ingestor" as const,
        reason: "parse_error",
        error: "no JSON",
        original_message: `${from + index} ${"x".repeat(3800)}`,
        position: from + index,
      }));
      await store.write(() => letters.addInWrite(id, some), 16 * megabyte);
    }
  }
  expect(await letters.queue("purged").purge()).toBe(removed);
  await store.close();
}

/** What stays is whole, and new letters come after it. */
async function expectWhole(): Promise<void> {
  const store = Store.open(folder);
  const letters = lettersIn(store);
  expect(letters.queue("purged").state()).toMatchObject({ total_messages: 0, bytes: 0 });
  expect(letters.queue("kept").state().total_messages).toBe(kept);
  let cursor: string | undefined;
  let newest = "";
  for (let seen = 0; seen < kept;) {
    const { messages, next_cursor } = letters.queue("kept").list(1000, cursor);
    for (const { original_message, message_id } of messages) {
      newest = message_id;
      expect(original_message.startsWith(`${seen} x`)).toBe(true);
      seen += 1;
    }
    cursor = next_cursor;
  }
  await store.write(() =>
    letters.addInWrite("kept", [
      { component: "ingestor", reason: "parse_error", error: "", original_message: "", position: 1 },
    ]),
  );
  const added = letters.queue("kept").list(10, newest).messages;
  expect(added).toHaveLength(1);
  await letters.queue("kept").discard({ mode: "selected", message_ids: added.map(({ message_id }) => message_id) });
  expect(letters.queue("kept").state().total_messages).toBe(kept);
  await store.close();
}

/** Pages of the letters that were purged, at the least. */
const gain = 90 * megabyte;

test("a compaction gives the space of purged letters back, and is not repeated", { timeout: 240_000 }, async () => {
  const before = sizeOf();
  const compacted = await compactStore(storePath(folder));
  expect(compacted!.to).toBe(sizeOf());
  expect(compacted!.to).toBeLessThan(before - gain);
  await expectWhole();
  expect(await compactStore(storePath(folder))).toBeUndefined();
  await expectWhole();
});

test(
  "a compaction that is killed at any moment leaves the whole store, and the next one removes its rest",
  { tags: ["rest"], timeout: 240_000 },
  async () => {
    const before = sizeOf();
    const copy = `${storePath(folder)}.compact`;
    await killed("whole");
    expect(existsSync(copy)).toBe(true);
    await expectWhole();
    // It is killed later and later after the copy was begun.
    for (let round = 0; round < 4 && sizeOf() === before; round += 1) {
      await killed(round * 4);
      if (existsSync(copy)) expect(sizeOf()).toBe(before);
    }
    await expectWhole();
    await compactStore(storePath(folder));
    expect(sizeOf()).toBeLessThan(before - gain);
    expect((await readdir(folder)).toSorted()).toEqual(["state.mdb", "state.mdb-probe"]);
    await expectWhole();
  },
);

/** Runs a compaction that is killed when the copy is whole, or so many milliseconds after it was begun. */
async function killed(when: "whole" | number): Promise<void> {
  const copy = `${storePath(folder)}.compact`;
  await rm(copy, { force: true });
  const args = ["--import", "tsx", child, storePath(folder), String(when)];
  const compacting = spawn(process.execPath, args, { stdio: "inherit" });
  const ended = once(compacting, "exit");
  if (when !== "whole") {
    while (compacting.exitCode === null && !existsSync(copy)) await sleep(1);
    await sleep(when);
    compacting.kill("SIGKILL");
  }
  await ended;
}

test("without room for the copy the store stays as it is", { tags: ["rest"], timeout: 240_000 }, async ({ skip }) => {
  requireOrSkip(SmallDisk.obstacle(), skip);
  const small = await mkdtemp(join(memoryRoot(), "sluice-compaction-"));
  const disk = await SmallDisk.make(small, 300);
  try {
    await cp(filled, disk.path, { recursive: true });
    const { size } = statSync(storePath(disk.path));
    disk.fill(64 * megabyte);
    expect(await compactStore(storePath(disk.path))).toBeUndefined();
    expect(statSync(storePath(disk.path)).size).toBe(size);
    expect(disk.freeBytes).toBeGreaterThan(60 * megabyte);
  } finally {
    await disk.remove();
    await rm(small, { recursive: true, force: true });
  }
});
