import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../engine/index.ts";
import type { TestClickHouse } from "../support/clickhouse.ts";
import { freeListeners, sluice, Workplace } from "../support/daemon.ts";
import type { TestKafka } from "../support/kafka/test-kafka.ts";
import { rowsOf } from "./kafka-cases.ts";
import { columnsOf, passwordVariable, pipelineFile, type Plan } from "./kafka-pipeline.ts";
import type { Cost } from "./cost.ts";
import { profiled } from "./hot-functions.ts";
import { checkRows, makeTable } from "./kafka-target.ts";
import { partitions } from "./kafka-topic.ts";
import { cpuSeconds, peakMemory } from "./load.ts";

const table = "bench";
const [startSeconds, readSeconds] = [60, 300];
/** While it reads, looks are rare: each costs the process that is measured nearly a millisecond of CPU time. */
const [startLookMs, readLookMs] = [20, 100];

export interface Scene {
  kafka: TestKafka;
  server: TestClickHouse;
  topic: string;
  /** Of the rows that the events of the topic are without a transform. */
  checksum?: string;
}

/**
 * Runs the daemon on a data dir of its own until it has written all rows of a topic that is full already. The target
 * belongs to another process, so that all that is counted is Sluice: from the moment when it has its partitions until
 * the last commit. `profiles` is a folder for CPU profiles, one for each thread.
 */
export async function sluiceRun(scene: Scene, plan: Plan, profiles?: string): Promise<Cost> {
  const { server } = scene;
  await makeTable(server, table, columnsOf(plan.of, plan.shape));
  const place = await Workplace.make();
  const pipeline_id = `bench-${randomBytes(4).toString("hex")}`;
  await place.write("bench.yaml", pipelineFile(pipeline_id, plan, { ...scene, table }));
  const daemon = await Daemon.start({
    sluice,
    dataDir: place.dataDir,
    args: ["--dir", place.pipelines],
    listeners: await freeListeners(),
    env: { [passwordVariable]: server.password },
    ...(profiles !== undefined && { wrap: (command: string[]) => profiled(command, profiles) }),
  });
  try {
    const cost = await readThrough(daemon, pipeline_id, rowsOf(plan.of, plan.shape));
    // Threads write their profiles when they end by themselves.
    await daemon.stop();
    await checkRows(server, table, {
      rows: rowsOf(plan.of, plan.shape),
      areDistinct: plan.of.steps.includes("dedup"),
      checksum: plan.of.steps.length === 0 ? scene.checksum : undefined,
    });
    return cost;
  } finally {
    await daemon.stop("SIGKILL");
    await place.clean();
  }
}

async function readThrough(daemon: Daemon, pipeline_id: string, rows: number): Promise<Cost> {
  const look = (): Promise<PipelineHealth> => daemon.get(`/api/v1/pipeline/${pipeline_id}/health`);
  await until(
    daemon,
    { look, every: startLookMs, most: startSeconds },
    ({ source }) => source?.partitions === partitions,
  );
  const [started, before] = [performance.now(), cpuSeconds(daemon.pid)];
  const commits: { rows: number; seconds: number }[] = [];
  await until(daemon, { look, every: readLookMs, most: readSeconds }, ({ counters: { rows_written } }) => {
    if (rows_written > (commits.at(-1)?.rows ?? 0)) {
      commits.push({ rows: rows_written, seconds: (performance.now() - started) / 1000 });
    }
    return rows_written >= rows;
  });
  const whole = cpuSeconds(daemon.pid);
  // The last batch may have waited to be full, so the speed is that of all before it.
  const { rows: timed, seconds } = commits.at(-2) ?? commits.at(-1)!;
  return { seconds: (seconds / timed) * rows, cpu: whole - before, whole, memory: peakMemory(daemon.pid) };
}

interface Watch {
  look: () => Promise<PipelineHealth>;
  /** Milliseconds. */
  every: number;
  /** Seconds. */
  most: number;
}

async function until(
  daemon: Daemon,
  { look, every, most }: Watch,
  isAsWished: (health: PipelineHealth) => boolean,
): Promise<void> {
  let last: PipelineHealth | undefined;
  for (const end = performance.now() + most * 1000; performance.now() < end; await sleep(every)) {
    last = await look().catch(() => undefined);
    if (last?.overall_status === "Failed" || (last?.counters.dead_lettered ?? 0) > 0) break;
    if (last !== undefined && isAsWished(last)) return;
  }
  throw new Error(`waited in vain: ${JSON.stringify(last)}\n${daemon.log.slice(-20).join("\n")}`);
}
