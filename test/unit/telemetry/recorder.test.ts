import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { BatchRecord } from "../../../engine/core/journal.ts";
import type { Pause } from "../../../engine/core/pause.ts";
import type { Place } from "../../../engine/core/positions.ts";
import type { Failure } from "../../../engine/core/sink.ts";
import { Recorder } from "../../../engine/telemetry/recorder.ts";
import { keptLog } from "../../support/engine.ts";

const pipeline_id = "orders";
let registry: Registry;
let recorder: Recorder;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"], now: 0 });
  registry = new Registry();
  recorder = new Recorder(keptLog(), registry);
});
afterEach(() => vi.useRealTimers());

async function metric(name: string): Promise<[labels: string, value: number][]> {
  const { values } = await registry.getSingleMetric(name)!.get();
  return values.map(({ labels, value }) => {
    const { pipeline_id: _id, ...own } = labels as Record<string, string>;
    return [Object.values(own).join(" "), value];
  });
}

const committed = (rows: number, ...reasons: string[]): void => committedWithout([], rows, ...reasons);

/** The events at the places `excluded` were refused, or are gone. */
const committedWithout = (excluded: Place[], rows: number, ...reasons: string[]): void =>
  recorder.batchCommitted({
    pipeline_id,
    rows,
    excluded,
    rejections: reasons.map((reason) => ({ component: "sink", reason, error: "", original_message: "", position: 0 })),
    madeOf: { kind: "letters", numbers: [] },
  } as Partial<BatchRecord> as BatchRecord);

const failed = (kind: Failure["class"]): void =>
  recorder.insertFailed({
    pipeline_id,
    rows: 10,
    unknown: false,
    failure: { class: kind, code: 1, name: "NAME", text: "no" },
  });

test("rows that ClickHouse refused are counted as excluded, and events that are gone from the source are not", async () => {
  committedWithout([3, 4], 10, "sink_rejection_VIOLATED_CONSTRAINT");
  expect(await metric("sluice_rows_excluded_total")).toEqual([["", 1]]);
});

test("a pause is logged again where it says something else, and not where only its figures move", () => {
  const log = keptLog();
  const other = new Recorder(log, new Registry());
  const since = "2026-01-01T00:00:00.000Z";
  const paused = (text: string): void =>
    other.paused({ pipeline_id, pause: { class: "lost", since, text, way_out: "" } });
  for (const end of [60, 70, 80])
    paused(`partition 0 of topic o2 goes on at offset 5, and the brokers have 50 to ${end}`);
  expect(other.observed(pipeline_id).pause?.text).toContain("50 to 80");
  paused("partition 1 of topic o2 goes on at offset 5, and the brokers have 50 to 80");
  other.pauseEnded({ pipeline_id, class: "lost", seconds: 1 });
  paused("partition 1 of topic o2 goes on at offset 5, and the brokers have 50 to 80");
  expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(3);
});

test("of several pauses that began first is shown; another owner comes before all, the death of a thread after all", () => {
  const since = "2026-01-01T00:00:00.000Z";
  const pause = (kind: Pause["class"]): void =>
    recorder.paused({ pipeline_id, pause: { class: kind, since, text: kind, way_out: "" } });
  const shown: (string | undefined)[] = [];
  for (const kind of ["thread", "view", "source", "owner"] as const) {
    pause(kind);
    shown.push(recorder.observed(pipeline_id).pause?.class);
  }
  recorder.pauseEnded({ pipeline_id, class: "owner", seconds: 1 });
  shown.push(recorder.observed(pipeline_id).pause?.class);
  expect(shown).toEqual(["thread", "view", "view", "owner", "view"]);
});

test("rows per second are those of the last ten whole seconds", async () => {
  const rate = async (): Promise<number> => (await metric("gfm_clickhouse_records_written_per_second"))[0]![1];
  committed(100);
  expect(await rate()).toBe(0);
  vi.advanceTimersByTime(1_000);
  committed(50);
  expect(await rate()).toBe(10);
  vi.advanceTimersByTime(9_000);
  expect(await rate()).toBe(15);
  vi.advanceTimersByTime(1_000);
  expect(await rate()).toBe(5);
  vi.advanceTimersByTime(60_000);
  expect(await rate()).toBe(0);
  recorder.forget(pipeline_id);
  expect(await metric("gfm_clickhouse_records_written_per_second")).toEqual([]);
});

test("the rows of a sink are counted by their outcome: written, refused, or to be sent again", async () => {
  failed("transient");
  failed("row");
  failed("setup");
  committed(8, "sink_rejection_VIOLATED_CONSTRAINT", "schema_mismatch", "sink_rejection_CANNOT_PARSE");
  expect(await metric("gfm_processor_messages_total")).toEqual([
    ["sink retry", 10],
    ["sink error", 2],
    ["sink success", 8],
  ]);
  expect(await metric("gfm_sink_nack_messages_total")).toEqual([["", 10]]);
});

test("the stage of a dedup is dedup_filter, as the format calls it", async () => {
  const event = { pipeline_id, passed: 1, dropped: 1, rejected: 0, bytesIn: 2, bytesOut: 1, seconds: 0.01 };
  recorder.transformed({ ...event, component: "dedup" });
  recorder.transformed({ ...event, component: "filter" });
  const stages = new Set((await metric("gfm_processing_duration_seconds")).map(([labels]) => labels.split(" ").at(-1)));
  expect([...stages]).toEqual(["dedup_filter", "filter"]);
});

test("an ingestor has one duration a batch, by event, and a receiver of OTLP has none", async () => {
  recorder.eventsRead({ pipeline_id, count: 3, bytes: 10, ingested: 2, seconds: 0.5 });
  recorder.eventsRead({ pipeline_id, count: 3, bytes: 0, ingested: 0, seconds: 0.5 });
  const durations = await metric("gfm_processing_duration_seconds");
  const sums = durations.filter(([labels]) => /^ingestor batch$/.test(labels));
  expect(sums).toEqual([
    ["ingestor batch", 0.25],
    ["ingestor batch", 1],
  ]);
});

test("a batch that is prepared has its bytes, and the durations of its mapping, of all and by event", async () => {
  recorder.prepared({ pipeline_id, events: 4, bytes: 100, mapping: 0.5, seconds: 2 });
  recorder.prepared({ pipeline_id, events: 0, bytes: 0, mapping: 0, seconds: 1 });
  expect(await metric("gfm_bytes_processed_total")).toEqual([["sink in", 100]]);
  const durations = await metric("gfm_processing_duration_seconds");
  expect(durations.filter(([labels]) => /^sink \w+$/.test(labels))).toEqual([
    ["sink schema_mapping", 0.5],
    ["sink schema_mapping", 1],
    ["sink total_preparation", 2],
    ["sink total_preparation", 1],
    ["sink per_message", 0.5],
    ["sink per_message", 1],
  ]);
});

test("what open transactions hold back has a sample while it is known", async () => {
  const lag = { pipeline_id, partitions: 1, uncommitted: 0 };
  recorder.lag({ ...lag, held_back: 3 });
  expect(await metric("sluice_kafka_held_back_offsets")).toEqual([["", 3]]);
  recorder.lag(lag);
  expect(await metric("sluice_kafka_held_back_offsets")).toEqual([]);
});

test("a transaction that is open for long is logged when it is found and when it is over, and not in between", () => {
  const lines: string[] = [];
  const log = { ...keptLog(), warn: () => lines.push("found"), info: () => lines.push("over") };
  const own = new Recorder(log, new Registry());
  const lag = { pipeline_id, partitions: 1, uncommitted: 0 };
  const open = { topic: "orders", partition: 0, offset: 5, since: "2026-01-01T00:00:00.000Z" };
  for (const open_transactions of [[open], [open], []]) own.lag({ ...lag, open_transactions });
  expect(lines).toEqual(["found", "over"]);
});

const of = (...lags: (number | undefined)[]) =>
  lags.map((one, partition) => ({ topic: "orders", partition, ...(one !== undefined && { lag: one }) }));

test("the lag of each partition has a series while it is known, unless there are more than a hundred", async () => {
  const lag = { pipeline_id, partitions: 1, uncommitted: 0 };
  recorder.lag({ ...lag, by_partition: of(3, 0, undefined) });
  expect(await metric("sluice_kafka_partition_lag")).toEqual([
    ["orders 0", 3],
    ["orders 1", 0],
  ]);
  // Two clusters may have a topic of one name.
  recorder.lag({ ...lag, by_partition: [...of(4), { ...of(5)[0]!, cluster: "b" }] });
  expect(await metric("sluice_kafka_partition_lag")).toEqual([["orders 0", 9]]);
  recorder.lag({ ...lag, by_partition: of(...Array.from({ length: 101 }, () => 1)) });
  expect(await metric("sluice_kafka_partition_lag")).toEqual([]);
});

test("the lag in time has a sample while it is known, and goes with its pipeline", async () => {
  const lag = { pipeline_id, partitions: 1, uncommitted: 0 };
  recorder.lag({ ...lag, lag: 3, lag_seconds: 1.5, by_partition: [{ topic: "orders", partition: 0, lag: 3 }] });
  expect(await metric("sluice_kafka_lag_seconds")).toEqual([["", 1.5]]);
  recorder.lag({ ...lag, lag: 3 });
  expect(await metric("sluice_kafka_lag_seconds")).toEqual([]);
  recorder.lag({ ...lag, lag: 3, lag_seconds: 1.5, by_partition: [{ topic: "orders", partition: 0, lag: 3 }] });
  recorder.forget(pipeline_id);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await metric("sluice_kafka_lag_seconds")).toEqual([]);
  expect(await metric("sluice_kafka_partition_lag")).toEqual([]);
});

const by = (...brokers: number[]) => brokers.map((broker) => ({ broker, seconds: 40 }));

test("the time for which quotas throttled is counted, and logged when it begins and ends to be considerable", async () => {
  recorder.observed(pipeline_id);
  expect(await metric("sluice_kafka_throttled_seconds_total")).toEqual([["", 0]]);
  recorder.throttled({ pipeline_id, seconds: 1.5 });
  recorder.throttled({ pipeline_id, seconds: 2 });
  expect(await metric("sluice_kafka_throttled_seconds_total")).toEqual([["", 3.5]]);
  const lines: string[] = [];
  const log = { ...keptLog(), warn: () => lines.push("begins"), info: () => lines.push("ends") };
  const own = new Recorder(log, new Registry());
  for (const throttled_by of [by(1), by(1, 2), by()]) {
    own.lag({ pipeline_id, partitions: 1, uncommitted: 0, throttled_by });
  }
  expect(lines).toEqual(["begins", "ends"]);
});
