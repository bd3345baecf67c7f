import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { defaultDeadLetterLimits } from "../../../engine/core/dead-letter.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../../engine/state/journal.ts";
import { Store } from "../../../engine/state/store.ts";
import { keysAt, record, recordOf, rejection } from "../../conformance/journal.ts";

/** Which batches the journal takes while the dead letters of their pipeline are at a bound. */

const megabyte = 1024 * 1024;
let folder: string;
let store: Store;
let letters: DeadLetters;
let journal: StoreJournal;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-letter-room-"));
  store = Store.open(folder);
  letters = new DeadLetters(store, (id) => journal.heldLetters(id), { ...defaultDeadLetterLimits, maxCount: 2 });
  journal = new StoreJournal(store, letters);
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const full = { code: "DEAD_LETTERS_FULL", policy: "retry" };
const two = [rejection(10), rejection(11)];

test("letters of pending batches count, also those that the target refused, and in the next process", async () => {
  await journal.prepare(record(1, { rejections: two.slice(0, 1) }));
  await journal.prepare(record(2));
  await journal.amend(record(2, { rejections: two.slice(0, 1), excluded: [10] }));
  await expect(journal.prepare(record(3))).rejects.toMatchObject(full);
  await store.close();
  store = Store.open(folder);
  letters = new DeadLetters(store, (id) => journal.heldLetters(id), { ...defaultDeadLetterLimits, maxCount: 2 });
  journal = new StoreJournal(store, letters);
  await expect(journal.prepare(record(3))).rejects.toMatchObject(full);
  await journal.prepare(record(1, { pipeline_id: "another" }));
});

test("begun work goes on: pending batches change and commit, and letters are reprocessed", async () => {
  await journal.prepare(record(1, { rejections: two }));
  await journal.prepare(record(1, { rejections: [...two, rejection(12)] }));
  await journal.amend(record(1, { rejections: [...two, rejection(12)], state: { kind: "refused" } }));
  await journal.commit(record(1, { rejections: [...two, rejection(12)] }));
  expect(letters.queue("orders").state().total_messages).toBe(3);
  await expect(journal.prepare(record(2))).rejects.toMatchObject(full);
  await journal.prepare(recordOf([1, 2], 3));
  await journal.commit(recordOf([1, 2], 3));
  expect(letters.queue("orders").state().total_messages).toBe(1);
  await journal.prepare(record(2));
});

test("a batch with many letters waits for room for its commit, beside what senders need", async () => {
  const large = { ...rejection(10), original_message: "x".repeat(4 * megabyte) };
  const free = vi.spyOn(store, "checkRoom");
  await journal.prepare(record(1, { rejections: [large] }));
  expect(Math.max(...free.mock.calls.map(([bytes]) => bytes))).toBeGreaterThan((48 + 16) * megabyte);
  free.mockClear();
  await journal.amend(record(1, { rejections: [large], state: { kind: "refused" } }));
  await journal.commit(record(1, { rejections: [large] }));
  expect(free).not.toHaveBeenCalled();
});

test("a batch with many keys waits for room for them", async () => {
  const keys = keysAt(Array.from({ length: 100_000 }, (_, index) => index));
  const free = vi.spyOn(store, "checkRoom");
  await journal.prepare(record(1));
  await journal.prepare(record(2, { keys }));
  const [few, many] = free.mock.calls.map(([bytes]) => bytes);
  // A page may be half full.
  expect(many! - few!).toBeGreaterThan(2 * 100_000 * 16);
});
