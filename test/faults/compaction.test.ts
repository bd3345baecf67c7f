import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { compactStore } from "../../engine/state/compaction.ts";
import { DeadLetters } from "../../engine/state/dead-letters.ts";
import { Store, storePath } from "../../engine/state/store.ts";
import { SmallDisk } from "../support/small-disk.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { memoryRoot } from "../support/memory-folder.ts";

const child = fileURLToPath(new URL("compaction-child.ts", import.meta.url));
const megabyte = 1024 * 1024;
/** Letters of about 4 KiB. */
const [removed, kept] = [40_000, 15_000];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(memoryRoot(), "sluice-compaction-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const sizeOf = (): number => statSync(storePath(folder)).size;
const lettersIn = (store: Store): DeadLetters => new DeadLetters(store, () => new Set());

/** Fills the store with the letters of two pipelines, and purges those of one. */
async function filled(path = folder): Promise<void> {
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

test("a compaction gives the space of purged letters back, and is not repeated", { timeout: 120_000 }, async () => {
  await filled();
  const before = sizeOf();
  expect(before).toBeGreaterThan(200 * megabyte);
  const compacted = await compactStore(storePath(folder));
  expect(compacted!.to).toBe(sizeOf());
  expect(compacted!.to).toBeLessThan(before - 150 * megabyte);
  await expectWhole();
  expect(sizeOf()).toBeLessThan(before - 100 * megabyte);
  expect(await compactStore(storePath(folder))).toBeUndefined();
  await expectWhole();
});

test(
  "a compaction that is killed at any moment leaves the whole store, and the next one removes its rest",
  {
    timeout: 240_000,
  },
  async () => {
    await filled();
    const before = sizeOf();
    const copy = `${storePath(folder)}.compact`;
    let killedWithin = 0;
    for (let round = 0; round < 12 && sizeOf() === before; round += 1) {
      const compacting = spawn(process.execPath, ["--import", "tsx", child, storePath(folder)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(compacting, "exit");
      // It is killed later and later after the copy was begun.
      while (compacting.exitCode === null && !existsSync(copy)) await sleep(1);
      await sleep(round * 4);
      compacting.kill("SIGKILL");
      await ended;
      if (existsSync(copy)) {
        killedWithin += 1;
        expect(sizeOf()).toBe(before);
      }
      // The last round is compared as well, whatever came of it.
      if (round % 4 === 0) await expectWhole();
    }
    expect(killedWithin).toBeGreaterThan(0);
    await expectWhole();
    await compactStore(storePath(folder));
    expect(sizeOf()).toBeLessThan(before - 100 * megabyte);
    expect((await readdir(folder)).toSorted()).toEqual(["state.mdb", "state.mdb-lock"]);
    await expectWhole();
  },
);

test("without room for the copy the store stays as it is", { timeout: 120_000 }, async ({ skip }) => {
  requireOrSkip(SmallDisk.obstacle(), skip);
  const disk = await SmallDisk.make(folder, 500);
  try {
    const path = disk.path;
    await filled(path);
    const { size } = statSync(storePath(path));
    disk.fill(90 * megabyte);
    expect(await compactStore(storePath(path))).toBeUndefined();
    expect(statSync(storePath(path)).size).toBe(size);
    expect(disk.freeBytes).toBeGreaterThan(60 * megabyte);
  } finally {
    await disk.remove();
  }
});
