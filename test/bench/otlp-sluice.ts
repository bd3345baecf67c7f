import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../../examples/quickstart/daemon.ts";
import { freeAddress } from "../support/ports.ts";
import type { TestClickHouse } from "../support/clickhouse.ts";
import { freeListeners, sluice, Workplace } from "../support/daemon.ts";
import { cpuSeconds, peakMemory } from "./load.ts";
import { makeTable } from "./kafka-target.ts";
import { mappingOf, type Case } from "./otlp-cases.ts";
import type { Cost } from "./cost.ts";
import { profiled } from "./hot-functions.ts";
import { Senders } from "./otlp-senders.ts";

const table = "bench";
const passwordVariable = "SLUICE_SECRET_BENCH";
const batch = 50_000;
/** How often the table is counted, in milliseconds, and how long it may take to fill, in seconds. */
const [lookEvery, patience] = [50, 300];

/** What a run is made of. */
export interface Plan {
  of: Case;
  server: TestClickHouse;
  /** Folder of the requests, and how often one of them is sent. */
  folder: string;
  requests: number;
}

/**
 * Runs the daemon on a data dir of its own until all that is sent to it is in the table. The target and the senders are
 * other processes, so that all that is counted is Sluice: from the first request to the last commit. `profiles` is a folder
 * for CPU profiles, one for each thread.
 */
export async function sluiceRun({ of, server, folder, requests }: Plan, profiles?: string): Promise<Cost> {
  await makeTable(
    server,
    table,
    mappingOf(of).map(({ column_name: name, column_type }) => ({ name, column_type })),
  );
  const place = await Workplace.make();
  const pipeline_id = `bench-${randomBytes(4).toString("hex")}`;
  await place.write("bench.yaml", pipelineFile(pipeline_id, of, server));
  const address = await freeAddress();
  const daemon = await Daemon.start({
    sluice,
    dataDir: place.dataDir,
    args: ["--dir", place.pipelines],
    listeners: { ...(await freeListeners()), [of.transport === "gRPC" ? "otlpGrpc" : "otlpHttp"]: address },
    env: { [passwordVariable]: server.password },
    ...(profiles !== undefined && { wrap: (command: string[]) => profiled(command, profiles) }),
  });
  try {
    await daemon.until(() => daemon.health(pipeline_id), "to run the pipeline");
    const senders = await Senders.start(of, { address, pipeline_id, folder, requests });
    const cost = await sendAll(daemon, senders, { pipeline_id, server, rows: requests * of.records });
    // Threads write their profiles when they end by themselves.
    await daemon.stop();
    return cost;
  } finally {
    await daemon.stop("SIGKILL");
    await place.clean();
  }
}

async function sendAll(
  daemon: Daemon,
  senders: Senders,
  { pipeline_id, server, rows }: { pipeline_id: string; server: TestClickHouse; rows: number },
): Promise<Cost> {
  const [started, before] = [performance.now(), cpuSeconds(daemon.pid)];
  try {
    await senders.send();
  } finally {
    senders.stop();
  }
  await filled(server, rows);
  const seconds = (performance.now() - started) / 1000;
  const { dead_letters } = await daemon.settled(pipeline_id);
  if (dead_letters.total_messages > 0)
    throw new Error(`expected no dead letters, found ${dead_letters.total_messages}`);
  const whole = cpuSeconds(daemon.pid);
  return { seconds, cpu: whole - before, whole, memory: peakMemory(daemon.pid) };
}

/** Resolves when the table has so many rows. It is the target that is asked: questions would cost what is measured. */
async function filled(server: TestClickHouse, rows: number): Promise<void> {
  let found = 0;
  for (const end = performance.now() + patience * 1000; performance.now() < end; await sleep(lookEvery)) {
    const [counted] = await server.query<{ rows: string }>(`SELECT count() AS rows FROM ${table}`);
    found = Number(counted?.rows);
    if (found === rows) return;
  }
  throw new Error(`table ${table}: expected ${rows} rows within ${patience} seconds, found ${found}`);
}

/** JSON is YAML. */
function pipelineFile(pipeline_id: string, of: Case, server: TestClickHouse): string {
  const { hostname: host, port: http_port } = new URL(server.url);
  const password = `\${env:${passwordVariable}}`;
  return JSON.stringify({
    version: "v3",
    pipeline_id,
    sources: [{ type: "otlp.logs", source_id: "input" }],
    sink: {
      type: "clickhouse",
      connection_params: { host, port: "9000", http_port, database: "default", username: server.username, password },
      table,
      max_batch_size: batch,
      max_delay_time: "5s",
      mapping: mappingOf(of),
    },
    resources: { nats: { stream: { max_msgs: -1, max_bytes: "0" } } },
  });
}
