import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../engine/index.ts";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { freeListeners, pipelineFile as webhookFile, sluice, Workplace } from "../support/daemon.ts";
import { KafkaBroker } from "../support/kafka/broker.ts";
import { produce } from "../support/kafka/produce.ts";
import type { TestKafka } from "../support/kafka/test-kafka.ts";
import { type Cost, median } from "./cost.ts";
import { cases, shapes } from "./kafka-cases.ts";
import { earliestOf, passwordVariable, targetOf } from "./kafka-pipeline.ts";
import { cpuSeconds, peakMemory } from "./load.ts";
import type { Shape } from "./kafka-shape.ts";
import { sluiceRun } from "./kafka-sluice.ts";
import { checkRows, loadFile, makeTable } from "./kafka-target.ts";
import { fillTopic, kafkajsReading } from "./kafka-topic.ts";

/** The delay of the batches whose latency is measured, in milliseconds. */
const maxDelay = 100;
const rates = [50, 1_000];
/** How long events are produced; after how long idle pipelines are watched, when all is compiled; and how long. */
const [produceSeconds, settleSeconds, watchSeconds] = [20, 75, 30];
const idle = Number(process.env["BENCH_IDLE"] ?? 100);
/** Runs of each batch size, of which the median counts. */
const runs = Number(process.env["BENCH_RUNS"] ?? 5);
const [smallBatch, largeBatch] = [1_000, 50_000];
/** Keys that dedup remembers over a restart. */
const keys = Number(process.env["BENCH_KEYS"] ?? 10_000_000);
/** The parts that are measured. */
const only = new RegExp(process.env["BENCH_ONLY"] ?? "");

const ingestOnly = cases.find(({ steps }) => steps.length === 0)!;

interface Servers {
  kafka: TestKafka;
  server: TestClickHouse;
}

const parts: Readonly<Record<string, (servers: Servers) => Promise<string>>> = {
  ...Object.fromEntries(shapes.map((shape) => [`batches of ${shape.name}`, (of: Servers) => costOfBatches(shape, of)])),
  ...Object.fromEntries(rates.map((rate) => [`latency at ${rate}`, (of: Servers) => latencyAt(rate, of)])),
  "idle kafka": (of) => costOfIdle("kafka", of),
  "idle webhook": (of) => costOfIdle("webhook", of),
  restart: restartWithKeys,
};

/**
 * The settings that users run: what batches of the default size cost beside large ones, how long an event takes from its
 * producer to a visible row where batches are small, what pipelines cost to which nothing comes, and how soon a restart
 * with many keys reads.
 */
export async function run(): Promise<void> {
  const server = await startClickHouse();
  try {
    const kafka = await KafkaBroker.start();
    try {
      for (const [name, measure] of Object.entries(parts)) {
        if (only.test(name)) console.log(`${name}: ${await measure({ kafka, server })}`);
      }
    } finally {
      await kafka.stop();
    }
  } finally {
    await server.stop();
  }
}

/** CPU of small batches beside large ones, and beside kafkajs, which reads the same and does nothing. */
async function costOfBatches(shape: Shape, { kafka, server }: Servers): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-bench-"));
  const filled = await fillTopic(kafka, shape, folder);
  try {
    const { checksum } = await loadFile(server, shape, filled);
    const scene = { kafka, server, topic: filled.topic, checksum };
    const costs: Record<"kafkajs" | "small" | "large", Cost[]> = { kafkajs: [], small: [], large: [] };
    for (let turn = 0; turn < runs; turn += 1) {
      costs.kafkajs.push(await kafkajsReading(kafka, shape, filled));
      costs.small.push(await sluiceRun(scene, { of: ingestOnly, shape, batch: smallBatch }));
      costs.large.push(await sluiceRun(scene, { of: ingestOnly, shape, batch: largeBatch }));
    }
    const cpu = (of: keyof typeof costs): number =>
      (median(costs[of].map((cost) => cost.cpu))! / shape.events) * 1_000_000;
    const memory = (of: keyof typeof costs): number =>
      Math.round(median(costs[of].map((cost) => cost.memory))! / 2 ** 20);
    const [small, large] = [cpu("small"), cpu("large")];
    return [
      `${smallBatch} rows a batch ${small.toFixed(1)} CPU-s per million events, ${memory("small")} MiB`,
      `${largeBatch} rows a batch ${large.toFixed(1)}, ${memory("large")} MiB`,
      `ratio ${(small / large).toFixed(2)}`,
      `kafkajs reading ${cpu("kafkajs").toFixed(1)}`,
      `medians of ${runs} runs, rows compared by a checksum`,
    ].join("; ");
  } finally {
    await kafka.topics.delete(filled.topic);
    await rm(folder, { recursive: true, force: true });
  }
}

/** How soon a start with many remembered keys has written an event that came meanwhile. */
async function restartWithKeys({ kafka, server }: Servers): Promise<string> {
  const topic = kafka.unique("keys");
  await kafka.topics.create(topic, { partitions: 3 });
  await makeTable(server, "restart", [{ name: "id", column_type: "Int64" }]);
  const place = await Workplace.make();
  await place.write("restart.yaml", keyedFile(topic, { kafka, server }));
  try {
    const filling = await started(place, server);
    await produce(kafka.client(), topic, numbered(0, keys));
    await untilRows(server, "restart", keys);
    await filling.stop();
    const loading: number[] = [];
    for (let turn = 0; turn < runs; turn += 1) {
      await produce(kafka.client(), topic, numbered(keys + turn, 1));
      const began = performance.now();
      const daemon = await started(place, server);
      await untilRows(server, "restart", keys + turn + 1);
      loading.push((performance.now() - began) / 1000);
      await daemon.stop();
    }
    await checkRows(server, "restart", { rows: keys + runs, areDistinct: true });
    return `${keys} keys: ${median(loading)!.toFixed(1)} s from the start of the process to a new row, median of ${runs}`;
  } finally {
    await place.clean();
    await kafka.topics.delete(topic);
  }
}

function* numbered(from: number, count: number): Generator<string> {
  for (let id = from; id < from + count; id += 1) yield `{"id":${id}}`;
}

async function untilRows(server: TestClickHouse, table: string, count: number): Promise<void> {
  for (const end = performance.now() + 600_000; performance.now() < end; await sleep(20)) {
    const [found] = await server.query<{ rows: string }>(`SELECT count() AS rows FROM ${table}`);
    if (Number(found?.rows) >= count) return;
  }
  throw new Error(`table ${table}: expected ${count} rows within ten minutes`);
}

async function latencyAt(rate: number, { kafka, server }: Servers): Promise<string> {
  const topic = kafka.unique("latency");
  await kafka.topics.create(topic, { partitions: 1 });
  await makeTable(server, "latency", [{ name: "id", column_type: "Int64" }]);
  const place = await Workplace.make();
  await place.write("latency.yaml", kafkaFile("latency", topic, { kafka, server }));
  const daemon = await started(place, server);
  try {
    await untilReady(daemon, ({ source }) => source?.partitions === 1);
    const count = rate * produceSeconds;
    const producer = kafka.client().producer();
    await producer.connect();
    const sent: number[] = [];
    const seen: number[] = [];
    const watching = watch(server, count, seen);
    const every = Math.max(1, Math.round(rate / 100));
    const began = performance.now();
    for (let id = 0; id < count; id += every) {
      await sleep(Math.max(0, began + (id / rate) * 1000 - performance.now()));
      const ids = Array.from({ length: Math.min(every, count - id) }, (_, at) => id + at);
      for (const one of ids) sent[one] = performance.now();
      await producer.send({ topic, messages: ids.map((one) => ({ value: JSON.stringify({ id: one }) })) });
    }
    await watching;
    await producer.disconnect();
    const latencies = seen.map((at, id) => at - sent[id]!).toSorted((a, b) => a - b);
    const at = (share: number): number => Math.round(latencies[Math.floor(share * (latencies.length - 1))]!);
    return `${rate} events/s, max_delay_time ${maxDelay} ms: visible after p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
  } finally {
    await daemon.stop("SIGKILL");
    await place.clean();
    await kafka.topics.delete(topic);
  }
}

/** Notes when each row of a partition can be seen first: they become visible in their order. */
async function watch(server: TestClickHouse, count: number, seen: number[]): Promise<void> {
  while (seen.length < count) {
    const [found] = await server.query<{ rows: string }>("SELECT count() AS rows FROM latency");
    const now = performance.now();
    while (seen.length < Number(found?.rows)) seen.push(now);
    await sleep(5);
  }
}

async function costOfIdle(kind: "kafka" | "webhook", { kafka, server }: Servers): Promise<string> {
  const place = await Workplace.make();
  const topics = Array.from({ length: kind === "kafka" ? idle : 0 }, () => kafka.unique("idle"));
  for (const topic of topics) await kafka.topics.create(topic, { partitions: 3 });
  await makeTable(server, "idle", [{ name: "id", column_type: "Int64" }]);
  for (let index = 0; index < idle; index += 1) {
    const id = `idle-${index}-${kind}`;
    const text = kind === "kafka" ? kafkaFile(id, topics[index]!, { kafka, server }, "idle") : webhookFile(id);
    await place.write(`${id}.yaml`, text);
  }
  const daemon = await started(place, server);
  try {
    await untilAllRun(daemon, kind);
    await sleep(settleSeconds * 1000);
    const before = cpuSeconds(daemon.pid);
    await sleep(watchSeconds * 1000);
    const share = ((cpuSeconds(daemon.pid) - before) / watchSeconds) * 100;
    const memory = Math.round(peakMemory(daemon.pid) / 2 ** 20);
    return `${idle} idle ${kind} pipelines: ${share.toFixed(1)} % of a core, ${memory} MiB`;
  } finally {
    await daemon.stop("SIGKILL");
    await place.clean();
    for (const topic of topics) await kafka.topics.delete(topic);
  }
}

async function untilAllRun(daemon: Daemon, kind: "kafka" | "webhook"): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1, await sleep(500)) {
    const all = await daemon.get<{ pipeline_id: string; status: string }[]>("/api/v1/pipeline").catch(() => []);
    if (all.length < idle || all.some(({ status }) => status !== "Running")) continue;
    if (kind === "webhook") return;
    const healths = await Promise.all(
      all.map(({ pipeline_id }) => daemon.get<PipelineHealth>(`/api/v1/pipeline/${pipeline_id}/health`)),
    );
    if (healths.every(({ source }) => source?.partitions === 3)) return;
  }
  throw new Error(`expected ${idle} pipelines to run: ${daemon.log.slice(-10).join("\n")}`);
}

async function untilReady(daemon: Daemon, isReady: (health: PipelineHealth) => boolean): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1, await sleep(100)) {
    const health = await daemon.get<PipelineHealth>("/api/v1/pipeline/latency/health").catch(() => undefined);
    if (health !== undefined && isReady(health)) return;
  }
  throw new Error(`expected a pipeline that reads: ${daemon.log.slice(-10).join("\n")}`);
}

async function started(place: Workplace, server: TestClickHouse): Promise<Daemon> {
  return Daemon.start({
    sluice,
    dataDir: place.dataDir,
    args: ["--dir", place.pipelines],
    listeners: await freeListeners(),
    env: { [passwordVariable]: server.password, SLUICE_SECRET_TOKEN: "token-of-the-benchmark" },
  });
}

/** The same with dedup, in large batches. */
function keyedFile(topic: string, servers: Servers): string {
  const file = JSON.parse(kafkaFile("restart", topic, servers, "restart")) as Record<string, object>;
  const dedup = { type: "dedup", source_id: "input", config: { key: "id", time_window: "24h" } };
  return JSON.stringify({ ...file, transforms: [dedup], sink: { ...file["sink"], max_batch_size: largeBatch } });
}

/** A pipeline file: JSON is YAML. */
function kafkaFile(pipeline_id: string, topic: string, { kafka, server }: Servers, table = "latency"): string {
  return JSON.stringify({
    version: "v3",
    pipeline_id,
    sources: [{ ...earliestOf(kafka, topic), schema_fields: [{ name: "id", type: "int" }] }],
    sink: {
      type: "clickhouse",
      connection_params: targetOf(server),
      table,
      max_batch_size: 1_000,
      max_delay_time: `${maxDelay}ms`,
      mapping: [{ name: "id", column_name: "id", column_type: "Int64" }],
    },
  });
}
