import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { BatchRecord } from "../../../engine/core/journal.ts";
import { PipelineStorage } from "../../../engine/catalog/storage.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { Deletions } from "../../../engine/state/deletions.ts";
import { StoreJournal } from "../../../engine/state/journal.ts";
import { Moves } from "../../../engine/state/moves.ts";
import { Store } from "../../../engine/state/store.ts";
import { Streams } from "../../../engine/streams/streams.ts";
import { systemDisk } from "../../../engine/system/disk.ts";
import { Recorder } from "../../../engine/telemetry/recorder.ts";
import { pushOf } from "../../conformance/stream-scene.ts";
import { webhookPipeline } from "../../support/pipelines.ts";

const hour = 3_600_000;
const pipeline_id = "old";
const config = webhookPipeline(pipeline_id, { resources: { nats: { stream: { max_age: "24h", max_msgs: -1 } } } });
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

let folder: string;
let store: Store;
let journal: StoreJournal;
let streams: Streams;
let recorder: Recorder;
let storage: PipelineStorage;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) });
  folder = await mkdtemp(join(tmpdir(), "sluice-expiry-"));
  store = Store.open(join(folder, "state"));
  const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id));
  journal = new StoreJournal(store, letters);
  streams = new Streams(systemDisk, join(folder, "pipelines"), silent);
  recorder = new Recorder(silent, new Registry());
  const [deletions, moves] = [new Deletions(store), new Moves(store)];
  storage = new PipelineStorage({
    disk: systemDisk,
    dataDir: folder,
    journal,
    letters,
    streams,
    deletions,
    moves,
    recorder,
    log: silent,
  });
  await streams.open(pipeline_id, config, 0);
});

afterEach(async () => {
  vi.useRealTimers();
  await streams.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

/** Time goes on by some hours; then events come. */
async function pushAfter(hours: number, ...texts: string[]): Promise<void> {
  vi.setSystemTime(Date.now() + hours * hour);
  await streams.get(pipeline_id).append(pushOf(texts, Date.now()));
}

async function expireAfter(hours: number): Promise<number> {
  vi.setSystemTime(Date.now() + hours * hour);
  const { counters } = recorder.observed(pipeline_id);
  const before = counters.events_aged_out;
  await storage.expire({ pipeline_id, config });
  return counters.events_aged_out - before;
}

test("events leave when they are older than max_age, each counted once, and their positions are final", async () => {
  await pushAfter(0, "a", "b", "c");
  await pushAfter(10, "d");
  await pushAfter(10, "e", "f");
  expect(await expireAfter(4)).toBe(0);
  expect(await expireAfter(1)).toBe(3);
  expect(await expireAfter(1)).toBe(0);
  expect(journal.settledUpTo(pipeline_id)).toBe(3);
  expect(streams.state(pipeline_id)).toMatchObject({ messages: 3, first: 4, last: 6 });
  expect(await expireAfter(24)).toBe(3);
  expect(streams.state(pipeline_id)).toMatchObject({ messages: 0, first: 7, last: 6 });
});

test("events that were written before the stop do not count", async () => {
  await pushAfter(0, "a", "b", "c");
  await journal.place(pipeline_id, { "": 2 });
  await streams.get(pipeline_id).trim(2);
  expect(await expireAfter(25)).toBe(1);
});

test("events of a batch under way stay, and what is behind them", async () => {
  await pushAfter(0, "a", "b", "c");
  const ranges = [{ feed: "", base: 0, first: 1, last: 2, count: 2 }];
  const under: BatchRecord = {
    batch: 1,
    pipeline_id,
    madeOf: { kind: "source", ranges },
    revision: 1,
    token: "t",
    clock: 1,
    oldest: 0,
    rows: 2,
    rejections: [],
    excluded: [],
    keys: [],
    waiting: [],
    state: { kind: "prepared" },
  };
  await journal.prepare(under);
  expect(await expireAfter(25)).toBe(0);
  await journal.commit(under);
  streams.settled(pipeline_id, journal.settledUpTo(pipeline_id));
  expect(await expireAfter(0)).toBe(1);
});

test("a hundred thousand events leave in one step, and their space comes back", async () => {
  const texts = Array.from({ length: 1_000 }, (_, index) => `event ${index} ${"x".repeat(90)}`);
  for (let push = 0; push < 100; push += 1) await pushAfter(0.1, ...texts);
  expect(await expireAfter(19.05)).toBe(50_000);
  expect(await expireAfter(24)).toBe(50_000);
  await streams.get(pipeline_id).trim(100_000);
  const names = await readdir(streams.folder(pipeline_id));
  expect(names.filter((name) => name.endsWith(".segment"))).toHaveLength(1);
  expect(streams.state(pipeline_id)).toMatchObject({ messages: 0, bytes: 0 });
});
