import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Mapping } from "../../../schemas/pipeline.ts";
import { createTable } from "../../support/pipelines.ts";
import { OtlpScene, otlpPipeline, tableOf } from "./scene.ts";
import { jsonType, post } from "./senders.ts";

let scene: OtlpScene;
let made = 0;
/** The pipeline of a test. */
let id: string;
let to: Record<string, string>;

beforeAll(async () => {
  scene = await OtlpScene.open();
});

beforeEach(() => {
  id = `telemetry-${++made}`;
  to = { "x-sluice-pipeline-id": id, ...jsonType };
});

afterAll(() => scene.close());

const mapping: Mapping[] = [
  { name: "scope_name", column_name: "scope_name", column_type: "String" },
  { name: "flags", column_name: "flags", column_type: "UInt8" },
];

/** Logs without a filter and with their scope in capitals, spans of which few pass and each but once. */
function pipeline(expression = "kind == 'SERVER'"): ReturnType<typeof otlpPipeline> {
  return otlpPipeline(id, "logs", {
    mapping,
    sources: [
      { type: "otlp.logs", source_id: "records" },
      { type: "otlp.traces", source_id: "spans" },
      { type: "otlp.metrics", source_id: "points" },
    ],
    transforms: [
      { type: "filter", source_id: "spans", config: { expression } },
      { type: "dedup", source_id: "spans", config: { key: "trace_state", time_window: "1h" } },
      {
        type: "stateless",
        source_id: "records",
        config: {
          transforms: [
            { expression: "upper(scope_name)", output_name: "scope_name", output_type: "string" },
            { expression: "flags", output_name: "flags", output_type: "int" },
          ],
        },
      },
    ],
  });
}

const inScopes = (kind: string, items: string, name: string, of: object[]): Buffer =>
  Buffer.from(JSON.stringify({ [`resource${kind}`]: [{ [`scope${kind}`]: [{ scope: { name }, [items]: of }] }] }));

async function push(signal: "logs" | "traces" | "metrics", body: Buffer): Promise<void> {
  const heard = await post(scene.listeners.http, signal, to, body);
  expect(heard).toMatchObject({ status: 200 });
}

const logs = (name: string, ...flags: number[]): Promise<void> =>
  push(
    "logs",
    inScopes(
      "Logs",
      "logRecords",
      name,
      flags.map((of) => ({ flags: of })),
    ),
  );
const spans = (name: string, ...of: { traceState: string; kind: number; flags?: number }[]): Promise<void> =>
  push(
    "traces",
    inScopes(
      "Spans",
      "spans",
      name,
      of.map((span) => ({ traceId: "5b".repeat(16), spanId: "5b".repeat(8), ...span })),
    ),
  );
const gauges = (name: string, ...flags: number[]): Promise<void> =>
  push(
    "metrics",
    inScopes("Metrics", "metrics", name, [
      { name: "m", gauge: { dataPoints: flags.map((of) => ({ flags: of, asInt: 1 })) } },
    ]),
  );

const rows = (): Promise<{ scope_name: string; flags: number }[]> =>
  scene.running.rows(`SELECT * FROM ${tableOf(id)} ORDER BY scope_name, flags`);

const server = 2;
const client = 3;

test("signals of one pipeline flow into one table, each by the transforms of its own source", async () => {
  const { engine } = scene.running;
  await engine.create(pipeline(), createTable);
  await logs("shop", 1, 2);
  await spans("cart", { traceState: "01".repeat(8), kind: server }, { traceState: "02".repeat(8), kind: client });
  await gauges("load", 4);
  await spans(
    "cart",
    { traceState: "01".repeat(8), kind: server },
    { traceState: "03".repeat(8), kind: server, flags: 7 },
  );
  const { counters } = await scene.settled(id);
  expect(counters).toMatchObject({ events_read: 7, events_filtered: 1, duplicates_dropped: 1, rows_written: 5 });
  expect(await rows()).toEqual([
    { scope_name: "SHOP", flags: 1 },
    { scope_name: "SHOP", flags: 2 },
    { scope_name: "cart", flags: 0 },
    { scope_name: "cart", flags: 7 },
    { scope_name: "load", flags: 4 },
  ]);
});

test("a record without its dedup key is a dead letter of the receiver, and no event of an ingestor", async () => {
  const { engine, registry } = scene.running;
  await engine.create(pipeline(), createTable);
  await spans("cart", { traceState: "", kind: server, flags: 7 });
  await scene.settled(id);
  const { messages } = engine.deadLetters(id).list(10);
  expect(messages).toMatchObject([{ component: "otlp-receiver", reason: "parse_error", origin: "traces" }]);
  const bytes = await registry.getSingleMetricAsString("gfm_bytes_processed_total");
  expect(bytes).toContain('component="otlp.traces",direction="in"');
  expect(bytes).not.toContain('component="ingestor"');
});

test("a dead letter is sent again by the transforms of the source that it came from", async () => {
  const { engine } = scene.running;
  await engine.create(pipeline(), createTable);
  // Flags beyond a UInt8 do not fit their column.
  await logs("shop", 300);
  await spans("cart", { traceState: "01".repeat(8), kind: server, flags: 300 });
  await scene.settled(id);
  const { messages } = engine.deadLetters(id).list(10);
  expect(messages.map(({ component, origin }) => [component, origin])).toEqual([
    ["sink", "logs"],
    ["sink", "traces"],
  ]);
  await engine.stop(id);
  const wide = pipeline();
  wide.sink.mapping = wide.sink.mapping.map((entry) =>
    entry.name === "flags" ? { ...entry, column_type: "UInt16" } : entry,
  );
  await engine.sql(`ALTER TABLE ${tableOf(id)} MODIFY COLUMN flags UInt16`);
  await engine.update(id, wide, createTable);
  await engine.resume(id);
  await engine.reprocess(id, { mode: "all" });
  await scene.running.until(
    id,
    ({ dead_letters, pending_batches }) => dead_letters.total_messages + pending_batches === 0,
  );
  expect(await rows()).toEqual([
    { scope_name: "SHOP", flags: 300 },
    { scope_name: "cart", flags: 300 },
  ]);
});

test("what a stopped pipeline holds of several signals is written when it is resumed, by an edited filter", async () => {
  const { engine } = scene.running;
  await engine.create(pipeline(), createTable);
  await engine.stop(id);
  await logs("shop", 1);
  await spans("cart", { traceState: "02".repeat(8), kind: client }, { traceState: "03".repeat(8), kind: server });
  await logs("shop", 2);
  await engine.update(id, pipeline("kind == 'CLIENT'"), createTable);
  await engine.resume(id);
  await scene.settled(id);
  expect(await rows()).toEqual([
    { scope_name: "SHOP", flags: 1 },
    { scope_name: "SHOP", flags: 2 },
    { scope_name: "cart", flags: 0 },
  ]);
});

test("a signal that no source is for is refused", async () => {
  const two = pipeline();
  two.sources = two.sources.slice(0, 2);
  await scene.running.engine.create(two, createTable);
  const body = inScopes("Metrics", "metrics", "load", []);
  expect(await post(scene.listeners.http, "metrics", to, body)).toMatchObject({ status: 400 });
});
