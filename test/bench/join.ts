import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../engine/index.ts";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { freeListeners, sluice, Workplace } from "../support/daemon.ts";
import { KafkaBroker } from "../support/kafka/broker.ts";
import { type Cost, median } from "./cost.ts";
import { profiled } from "./hot-functions.ts";
import { type JoinCase, joinCases, joinGoal } from "./join-cases.ts";
import { checkRows, makeTable } from "./kafka-target.ts";
import { partitions } from "./kafka-topic.ts";
import { passwordVariable } from "./kafka-pipeline.ts";
import { cpuSeconds, peakMemory } from "./load.ts";
import { runProgram } from "./program.ts";

/** Runs of each row, of which the median counts. */
const runs = Number(process.env["BENCH_RUNS"] ?? 5);
/** Names the rows that are measured, such as `150 B, 1:1`. */
const only = new RegExp(process.env["BENCH_ONLY"] ?? "");
/** A folder for the CPU profiles of the runs. */
const profiles = process.env["BENCH_PROFILE"];

const table = "joined";
const lookEvery = 100;
const patience = 900;

/** What one run of a case found. */
interface JoinCost extends Cost {
  /** CPU-seconds for all right events. */
  buffering: number;
  /** Bytes on disk for each buffered event. */
  diskBytes: number;
  /** Seconds from the start of a process to the moment when it reads, with all that is buffered. */
  restart: number;
}

/**
 * What joins cost: the CPU time of Sluice alone per million rows, after the right side was buffered and the process started
 * anew; beside kafkajs reading the left topic.
 */
export async function run(): Promise<void> {
  const server = await startClickHouse();
  try {
    const kafka = await KafkaBroker.start();
    try {
      console.log(header());
      for (const of of joinCases.filter(({ name }) => only.test(name))) console.log(await measure(of, kafka, server));
    } finally {
      await kafka.stop();
    }
  } finally {
    await server.stop();
  }
}

async function measure(of: JoinCase, kafka: KafkaBroker, server: TestClickHouse): Promise<string> {
  const brokers = kafka.access.plaintext.join(",");
  const right = await filled(of, "right", kafka);
  const costs: JoinCost[] = [];
  const floors: Cost[] = [];
  for (let turn = 1; turn <= runs; turn += 1) {
    const left = kafka.unique("left");
    await kafka.topics.create(left, { partitions });
    const cost = await once(of, kafka, server, { left, right });
    costs.push(cost);
    floors.push(JSON.parse(await runProgram("kafka-floor.ts", brokers, left, String(of.lefts))) as Cost);
    await kafka.topics.delete(left);
    console.error(`${turn} of ${runs}: ${of.name}: ${cost.seconds.toFixed(1)} s, ${cost.cpu.toFixed(2)} CPU-s`);
  }
  await kafka.topics.delete(right);
  return line(of, costs, floors);
}

/** A new topic with the events of a side. */
async function filled(of: JoinCase, side: "left" | "right", kafka: KafkaBroker): Promise<string> {
  const topic = kafka.unique(side);
  await kafka.topics.create(topic, { partitions });
  await fill(of, side, kafka, topic);
  return topic;
}

async function fill({ name }: JoinCase, side: "left" | "right", kafka: KafkaBroker, topic: string): Promise<void> {
  await runProgram("join-fill.ts", name, side, kafka.access.plaintext.join(","), topic);
}

/** Buffers the right side, starts the process anew, and joins the left side. */
async function once(
  of: JoinCase,
  kafka: KafkaBroker,
  server: TestClickHouse,
  topics: { left: string; right: string },
): Promise<JoinCost> {
  const columns = ["id Int64", "amount Float64", "name String", "plan LowCardinality(String)", "city String"];
  await makeTable(
    server,
    table,
    columns.map((column) => ({ name: column.split(" ")[0]!, column_type: column.split(" ")[1]! })),
  );
  const place = await Workplace.make();
  const pipeline_id = `bench-${randomBytes(4).toString("hex")}`;
  await place.write("bench.yaml", pipelineFile(pipeline_id, topics, kafka, server));
  const start = async (into?: string): Promise<Daemon> =>
    Daemon.start({
      sluice,
      dataDir: place.dataDir,
      args: ["--dir", place.pipelines],
      listeners: await freeListeners(),
      env: { [passwordVariable]: server.password },
      ...(into !== undefined && { wrap: (command: string[]) => profiled(command, into) }),
    });
  let daemon = await start();
  try {
    const isBuffered = ({ join }: PipelineHealth): boolean => join?.right?.events === of.rights;
    await until(daemon, pipeline_id, isBuffered);
    const buffering = cpuSeconds(daemon.pid);
    const { join } = await health(daemon, pipeline_id);
    await daemon.stop();
    await fill(of, "left", kafka, topics.left);
    const began = performance.now();
    daemon = await start(profiles);
    await until(daemon, pipeline_id, ({ source }) => source?.partitions === 2 * partitions);
    const [started, before] = [performance.now(), cpuSeconds(daemon.pid)];
    await until(daemon, pipeline_id, ({ counters }) => counters.rows_written >= of.lefts);
    const seconds = (performance.now() - started) / 1000;
    const whole = cpuSeconds(daemon.pid);
    const memory = peakMemory(daemon.pid);
    await daemon.stop();
    await checkRows(server, table, { rows: of.lefts, areDistinct: true });
    const cost = { seconds, cpu: whole - before, whole, memory };
    return { ...cost, buffering, diskBytes: join!.storage! / of.rights, restart: (started - began) / 1000 };
  } finally {
    await daemon.stop("SIGKILL");
    await place.clean();
  }
}

function health(daemon: Daemon, pipeline_id: string): Promise<PipelineHealth> {
  return daemon.get(`/api/v1/pipeline/${pipeline_id}/health`);
}

async function until(
  daemon: Daemon,
  pipeline_id: string,
  isAsWished: (health: PipelineHealth) => boolean,
): Promise<void> {
  let last: PipelineHealth | undefined;
  for (const end = performance.now() + patience * 1000; performance.now() < end; await sleep(lookEvery)) {
    last = await health(daemon, pipeline_id).catch(() => undefined);
    if (last?.overall_status === "Failed" || (last?.counters.dead_lettered ?? 0) > 0) break;
    if (last !== undefined && isAsWished(last)) return;
  }
  throw new Error(`waited in vain: ${JSON.stringify(last)}\n${daemon.log.slice(-20).join("\n")}`);
}

const column = (name: string, column_type: string) => ({ name, column_name: name, column_type });

/** JSON is YAML. */
function pipelineFile(
  pipeline_id: string,
  topics: { left: string; right: string },
  kafka: KafkaBroker,
  server: TestClickHouse,
): string {
  const { hostname: host, port: http_port } = new URL(server.url);
  const password = `\${env:${passwordVariable}}`;
  const source = (source_id: string, topic: string, fields: Record<string, string>) => ({
    type: "kafka",
    source_id,
    topic,
    connection_params: kafka.connectionParams(),
    schema_fields: Object.entries(fields).map(([name, type]) => ({ name, type })),
  });
  return JSON.stringify({
    version: "v3",
    pipeline_id,
    sources: [
      source("left", topics.left, { id: "int", customer: "string", amount: "float" }),
      source("right", topics.right, { customer: "string", name: "string", plan: "string", city: "string" }),
    ],
    join: {
      enabled: true,
      left_source: { source_id: "left", key: "customer", time_window: "1h" },
      right_source: { source_id: "right", key: "customer", time_window: "0" },
      output_fields: [
        { source_id: "left", name: "id" },
        { source_id: "left", name: "amount" },
        { source_id: "right", name: "name" },
        { source_id: "right", name: "plan" },
        { source_id: "right", name: "city" },
      ],
    },
    sink: {
      type: "clickhouse",
      connection_params: { host, port: "9000", http_port, database: "default", username: server.username, password },
      table,
      max_batch_size: 50_000,
      max_delay_time: "2s",
      mapping: [
        column("id", "Int64"),
        column("amount", "Float64"),
        column("name", "String"),
        column("plan", "LowCardinality(String)"),
        column("city", "String"),
      ],
    },
  });
}

const columns = [
  ["case", 28],
  ["rows/s", 9],
  ["CPU-s/M", 9],
  ["goal", 6],
  ["x kafkajs", 10],
  ["buffer CPU-s/M", 15],
  ["disk B/event", 13],
  ["restart s", 10],
  ["peak MB", 8],
] as const;

function header(): string {
  return cells(columns.map(([title]) => title));
}

function line(of: JoinCase, costs: readonly JoinCost[], floors: readonly Cost[]): string {
  const middle = (what: keyof JoinCost): number => median(costs.map((cost) => cost[what])) ?? Number.NaN;
  const cpu = middle("cpu");
  return cells([
    of.name,
    String(Math.round(of.lefts / middle("seconds"))),
    ((cpu / of.lefts) * 1e6).toFixed(2),
    String(joinGoal),
    (cpu / (median(floors.map((floor) => floor.cpu)) ?? Number.NaN)).toFixed(2),
    ((middle("buffering") / of.rights) * 1e6).toFixed(2),
    middle("diskBytes").toFixed(0),
    middle("restart").toFixed(2),
    String(Math.round(middle("memory") / 1e6)),
  ]);
}

function cells(texts: readonly string[]): string {
  return texts
    .map((text, index) => (index === 0 ? text.padEnd(columns[0][1]) : text.padStart(columns[index]![1])))
    .join(" ");
}
