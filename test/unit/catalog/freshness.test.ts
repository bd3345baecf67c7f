import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Catalog } from "../../../engine/catalog/catalog.ts";
import { PipelineRegistry } from "../../../engine/catalog/registry.ts";
import { PipelineViews } from "../../../engine/catalog/views.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../../engine/state/journal.ts";
import { Store } from "../../../engine/state/store.ts";
import { Streams } from "../../../engine/streams/streams.ts";
import { systemDisk } from "../../../engine/system/disk.ts";
import { Recorder } from "../../../engine/telemetry/recorder.ts";
import { defaultOptions, type PipelineConfig } from "../../../schemas/pipeline.ts";
import { record } from "../../conformance/journal.ts";
import { pushOf } from "../../conformance/stream-scene.ts";
import { keptLog } from "../../support/engine.ts";
import { memoryRoot } from "../../support/memory-folder.ts";
import { kafkaPipeline, webhookPipeline } from "../../support/pipelines.ts";

const pipeline_id = "orders";
const begin = Date.UTC(2026, 0, 1);
const kafka = kafkaPipeline(pipeline_id, {
  topic: "orders",
  connection_params: { brokers: ["b:9092"], protocol: "PLAINTEXT" },
});
let folder: string;
let store: Store;
let journal: StoreJournal;
let streams: Streams;
let recorder: Recorder;
let views: PipelineViews;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: begin });
  folder = await mkdtemp(join(memoryRoot(), "sluice-freshness-"));
  store = Store.open(join(folder, "state"));
});

afterEach(async () => {
  vi.useRealTimers();
  await streams.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

/** A process with this pipeline. */
async function open(config: PipelineConfig): Promise<void> {
  const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id));
  journal = new StoreJournal(store, letters);
  recorder = new Recorder(keptLog(), new Registry());
  streams = new Streams(systemDisk, join(folder, "pipelines"), keptLog());
  const registry = new PipelineRegistry(new Catalog(store, () => new Set()), recorder);
  views = new PipelineViews({ registry, journal, letters, streams, recorder });
  if (registry.find(pipeline_id) !== undefined) return;
  const times = { created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z" };
  await registry.add({ pipeline_id, config, options: defaultOptions, status: "Running", revision: 1, ...times });
}

const age = (): number | undefined => views.health(pipeline_id).freshness_seconds;
const pass = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1_000);
const push = (...texts: string[]): Promise<number> => streams.get(pipeline_id).append(pushOf(texts, Date.now()));

describe("the age of the oldest event that is not yet a row", () => {
  test("of a stream is that of the oldest that is not settled, also after a start", async () => {
    const config = webhookPipeline(pipeline_id);
    await open(config);
    await streams.open(pipeline_id, config, 0);
    expect(age()).toBe(0);
    await push("1");
    pass(20);
    await push("2", "3");
    pass(10);
    expect(age()).toBe(30);
    streams.settled(pipeline_id, 1);
    expect(age()).toBe(10);
    await streams.close();
    await open(config);
    await streams.open(pipeline_id, config, 0);
    pass(5);
    expect(age()).toBe(35);
    streams.settled(pipeline_id, 3);
    expect(age()).toBe(0);
  });

  test("is not known while the stream cannot be opened", async () => {
    const config = webhookPipeline(pipeline_id);
    await open(config);
    await mkdir(join(folder, "pipelines", pipeline_id), { recursive: true });
    await writeFile(streams.folder(pipeline_id), "");
    await expect(streams.open(pipeline_id, config, 0)).rejects.toThrow();
    expect(age()).toBeUndefined();
  });

  test("of topics is that of their lag, which grows until it is reported again, and unknown where that is", async () => {
    await open(kafka);
    expect(age()).toBeUndefined();
    recorder.lag({ pipeline_id, partitions: 1, uncommitted: 0, lag: 0, lag_seconds: 0 });
    pass(60);
    expect(age()).toBe(0);
    recorder.lag({ pipeline_id, partitions: 1, uncommitted: 0, lag: 5, lag_seconds: 12 });
    pass(4);
    expect(age()).toBe(16);
    recorder.lag({ pipeline_id, partitions: 1, uncommitted: 0, lag: 5 });
    expect(age()).toBeUndefined();
  });

  test("of a join counts the rows that wait for the table from when they were joined", async () => {
    const side = { source_id: "input", key: "id", time_window: "1h" };
    const sides = { left_source: side, right_source: side };
    await open({ ...kafka, join: { enabled: true, type: "temporal", ...sides, output_fields: [] } });
    recorder.lag({ pipeline_id, partitions: 1, uncommitted: 0, lag: 0, lag_seconds: 0 });
    expect(age()).toBe(0);
    const made = record(1, { into: "join" });
    await journal.prepare(made);
    await journal.commit({ ...made, joined: 4 });
    expect(age()).toBeUndefined();
    const buffered = { events: 1, bytes: 1, unmatched: 0 };
    const held = { pipeline_id, rows: 4, left: buffered, right: buffered, memory: 0, storage: 0 };
    recorder.joined({ ...held, waiting: 4, oldest: Date.now() });
    pass(7);
    expect(age()).toBe(7);
    recorder.joined({ ...held, rows: 0, waiting: 0 });
    expect(age()).toBe(0);
  });
});
