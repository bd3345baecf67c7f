import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AccessTokens, recordOf } from "../../../engine/catalog/access-tokens.ts";
import { BatchReader } from "../../../engine/batch/reader.ts";
import { BackPressure } from "../../../engine/ingest/gate.ts";
import { Arrivals } from "../../../engine/flow/arrivals.ts";
import { Event } from "../../../engine/event/event.ts";
import type { CompiledPipeline } from "../../../engine/batch/compiled-pipeline.ts";
import { BackPressure as KafkaBackPressure } from "../../../engine/sources/kafka/reading/back-pressure.ts";
import { SourceFailures } from "../../../engine/sources/kafka/brokers/failures.ts";
import { StreamSource } from "../../../engine/sources/stream/stream-source.ts";
import { Recorder } from "../../../engine/telemetry/recorder.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import { keptLog, tableOfSecrets } from "../../support/engine.ts";
import { webhookPipeline } from "../../support/pipelines.ts";

const hour = 3_600_000;
const second = 1_000;

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) }));
afterEach(() => void vi.useRealTimers());

/** Ten seconds pass, in which the wall clock is set by so much. */
function pass(setBy: number): void {
  vi.advanceTimersByTime(5 * second);
  vi.setSystemTime(Date.now() + setBy);
  vi.advanceTimersByTime(5 * second);
}

/** Notes what is told, by the names of the functions. */
function telling(): { told: { event: string; seconds?: number }[]; telemetry: Telemetry } {
  const told: { event: string; seconds?: number }[] = [];
  const telemetry = new Proxy({} as Telemetry, {
    get: (_target, event: string) => (fields: { seconds?: number }) => void told.push({ event, ...fields }),
  });
  return { told, telemetry };
}

const never = new AbortController().signal;

const apply = (passed: readonly Event[]) => ({ passed: [...passed], dropped: 0, rejected: [] });

describe.each([
  ["back", -hour],
  ["forward", hour],
])("a wall clock that is set %s by an hour", (_way, by) => {
  test("does not change how long a pause was", async () => {
    const { told, telemetry } = telling();
    const room = new RetryPause("p", telemetry, async () => undefined);
    await room.wait({ class: "setup", text: "no table" }, 1, never);
    pass(by);
    room.leave();
    expect(told.at(-1)).toMatchObject({ event: "pauseEnded", seconds: 10 });
  });

  test("does not change how long one was that a thread left open by its death", async () => {
    const registry = new Registry();
    const recorder = new Recorder(keptLog(), registry);
    const pause = { class: "setup" as const, since: new Date().toISOString(), text: "no table", way_out: "" };
    recorder.paused({ pipeline_id: "p", pause });
    pass(by);
    recorder.started({ pipeline_id: "p", components: [] });
    expect(await registry.getSingleMetricAsString("sluice_pipeline_paused_seconds_total")).toMatch(
      /class="setup"} 10$/m,
    );
    expect(recorder.observed("p").pause).toBeUndefined();
  });

  test("does not change how long a source had troubles, or was not read", () => {
    const { told, telemetry } = telling();
    const troubles = new SourceFailures("p", telemetry);
    const pressure = new KafkaBackPressure("p", telemetry);
    troubles.note("broker", new Error("away"), 5);
    pressure.look(false);
    pass(by);
    troubles.clear("broker");
    pressure.end();
    expect(told.filter(({ event, seconds }) => event === "pauseEnded" || (seconds ?? 0) > 0)).toMatchObject([
      { event: "pauseEnded", seconds: 10 },
      { event: "backpressure", seconds: 10 },
    ]);
  });

  test("does not change how long a stream was full, nor when that is over", () => {
    const { told, telemetry } = telling();
    const config = webhookPipeline("p", { resources: { nats: { stream: { max_msgs: 2 } } } });
    const held = { messages: 2, bytes: 4, first: 1, last: 2 };
    const registry = { find: () => ({ config }) as never };
    const pressure = new BackPressure({ registry, streams: { state: () => held }, telemetry });
    pressure.refused("p", { ends: [2], bytes: Buffer.from("{}"), receivedAt: 0 }, "ingestor");
    pass(by);
    held.messages = 0;
    vi.advanceTimersByTime(1_500);
    expect(told).toMatchObject([{ event: "backpressure" }, { event: "backpressure", active: false }]);
    expect(told[1]!.seconds).toBeCloseTo(10, 0);
    pressure.close();
  });

  test("does not change when a batch is due", async () => {
    const events = [new Event(1, Date.now(), Buffer.from("{}"))];
    const stream = {
      advance: () => undefined,
      read: async (position: number) => (position === 1 ? [{ signal: undefined, events }] : []),
      close: async () => undefined,
    };
    const sink = { begin: () => ({ add: () => [], size: 0, isCurrent: true, body: () => Buffer.alloc(0) }) };
    const line = {
      revision: 1,
      chains: new Map([[undefined, { receiver: "ingestor", transforms: [{ name: "ingestor", apply }] }]]),
      sink,
    };
    const reader = new BatchReader({
      pipeline_id: "p",
      source: new StreamSource(stream, 1, 1, new RetryPause("p", telling().telemetry)),
      telemetry: telling().telemetry,
      limits: { max_batch_size: 10, max_delay_time: "20s" },
      maxAge: Infinity,
      clock: { now: () => Date.now(), earlier: () => Date.now() },
      letters: [],
      leave: never,
      drain: never,
    });
    let isDone = false;
    const next = reader
      .next(
        line as unknown as CompiledPipeline,
        () => 1,
        () => undefined,
      )
      .then(() => (isDone = true));
    await vi.advanceTimersByTimeAsync(1);
    vi.setSystemTime(Date.now() + by);
    await vi.advanceTimersByTimeAsync(19 * second);
    expect(isDone).toBe(false);
    await vi.advanceTimersByTimeAsync(second);
    expect(isDone).toBe(true);
    await next;
  });

  test("does not change how long a rotated token still counts", async () => {
    const entry = { token: recordOf("old", false) };
    const registry = {
      get: () => entry,
      find: () => entry,
      save: async (_id: string, changes: (present: object) => object) => Object.assign(entry, changes(entry)),
      tokenUsed: () => Promise.resolve(),
    };
    const tokens = new AccessTokens(registry as never, tableOfSecrets());
    await tokens.rotate("p");
    pass(by);
    expect(tokens.accepts("p", "old")).toBe(true);
    vi.advanceTimersByTime(11 * 60 * second);
    expect(tokens.accepts("p", "old")).toBe(false);
  });
});

test("a wait for something to read ends by the monotonic clock", async () => {
  let isOver = false;
  const wait = new Arrivals().wait(() => false, performance.now() + 10 * second, never).then(() => (isOver = true));
  vi.setSystemTime(0);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isOver).toBe(true);
  await wait;
});

describe("a number that no metric can take", () => {
  test("is left out, and said once", async () => {
    const log = keptLog();
    const registry = new Registry();
    const recorder = new Recorder(log, registry);
    const pause = { class: "setup" as const, since: new Date().toISOString(), text: "no table", way_out: "" };
    for (const seconds of [-1, NaN, -2]) {
      recorder.paused({ pipeline_id: "p", pause });
      recorder.pauseEnded({ pipeline_id: "p", class: "setup", seconds });
    }
    recorder.inserted({ pipeline_id: "p", rows: -1, bytes: NaN, seconds: Infinity });
    const said = log.lines.filter(({ sentence }) => sentence.startsWith("A metric got"));
    expect(said.map(({ level, fields }) => [level, fields["metric"]])).toEqual([
      ["error", "sluice_pipeline_paused_seconds_total"],
      ["error", "gfm_bytes_processed_total"],
      ["error", "gfm_processing_duration_seconds"],
      ["error", "gfm_sink_batch_size_records"],
      ["error", "gfm_sink_batch_size_bytes"],
    ]);
    expect(await registry.metrics()).not.toMatch(/NaN|Infinity/);
  });
});
