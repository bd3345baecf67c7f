import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../engine/index.ts";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { freeListeners, pipelineFile as webhookFile, sluice, Workplace } from "../support/daemon.ts";
import { KafkaBroker } from "../support/kafka/broker.ts";
import type { TestKafka } from "../support/kafka/test-kafka.ts";
import { earliestOf, passwordVariable, targetOf } from "./kafka-pipeline.ts";
import { cpuSeconds, peakMemory } from "./load.ts";
import { makeTable } from "./kafka-target.ts";

/** The delay of the batches whose latency is measured, in milliseconds. */
const maxDelay = 100;
const rates = [50, 1_000];
/** How long events are produced; after how long idle pipelines are watched, when all is compiled; and how long. */
const [produceSeconds, settleSeconds, watchSeconds] = [20, 75, 30];
const idle = Number(process.env["BENCH_IDLE"] ?? 100);

interface Servers {
  kafka: TestKafka;
  server: TestClickHouse;
}

/**
 * The settings that users run: how long an event takes from its producer to a visible row where batches are small, and
 * what pipelines cost to which nothing comes.
 */
export async function run(): Promise<void> {
  const server = await startClickHouse();
  try {
    const kafka = await KafkaBroker.start();
    try {
      for (const rate of rates) console.log(await latencyAt(rate, { kafka, server }));
      for (const kind of ["kafka", "webhook"] as const) console.log(await costOfIdle(kind, { kafka, server }));
    } finally {
      await kafka.stop();
    }
  } finally {
    await server.stop();
  }
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
    env: { [passwordVariable]: server.password, TEST_TOKEN: "token-of-the-benchmark" },
  });
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
