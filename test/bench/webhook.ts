import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { childrenOf, pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { cpuSeconds, post, type Answers } from "./load.ts";

const connections = 50;
const events = 20_000;
const rounds = 5;
const pipeline_id = "webhook-bench";
const headers = { "content-type": "application/json", "x-pipeline-access-token": token };

interface Round extends Answers {
  /** From the first post to the last row. */
  total: number;
  cpu: Record<string, number>;
}

/** Events to rows over HTTP, each answered after it is on disk, beside a server that only reads the bodies. */
export async function run(): Promise<void> {
  console.log(
    `${events} events of ${bodiesOf(0)[0]!.length} bytes, ${connections} connections, medians of ${rounds} rounds`,
  );
  const floor = await bareRounds();
  const place = await Workplace.make();
  try {
    const sink = "  max_batch_size: 5000\n  max_delay_time: 200ms";
    const resources = "resources: { nats: { stream: { max_msgs: -1 } } }";
    await place.write("bench.yaml", `${pipelineFile(pipeline_id, { sink })}${resources}\n`);
    const daemon = await place.start({ env: tokenEnv });
    await daemon.until(async () => daemon.health(pipeline_id), "to run the pipeline");
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round += 1) measured.push(await sluiceRound(daemon, round));
    print("bare server", floor, floor);
    print("sluice, to rows", measured, floor);
  } finally {
    await place.clean();
  }
}

function bodiesOf(round: number): string[] {
  const text = "x".repeat(200);
  return Array.from({ length: events }, (_, n) =>
    JSON.stringify({ id: `event-${round}-${n}`, n, text, at: Date.now() }),
  );
}

async function sluiceRound(daemon: Daemon, round: number): Promise<Round> {
  const [clickhouse = 0] = childrenOf(daemon.pid, "clickhouse.js");
  const before = [cpuSeconds(daemon.pid), cpuSeconds(clickhouse)] as const;
  const url = `${daemon.events}/v1/pipelines/${pipeline_id}/topics/input/events`;
  const started = performance.now();
  const answers = await post({ url, headers, connections, bodies: bodiesOf(round) });
  await daemon.settled(pipeline_id);
  const total = (performance.now() - started) / 1000;
  const cpu = { sluice: cpuSeconds(daemon.pid) - before[0], clickhouse: cpuSeconds(clickhouse) - before[1] };
  return { ...answers, total, cpu };
}

async function bareRounds(): Promise<Round[]> {
  const script = fileURLToPath(new URL("bare-server.ts", import.meta.url));
  const server = spawn(process.execPath, ["--import", "tsx", script], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [said] = (await once(server.stdout, "data")) as [Buffer];
    const url = `http://127.0.0.1:${said.toString().trim()}/`;
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = cpuSeconds(server.pid!);
      const answers = await post({ url, headers, connections, bodies: bodiesOf(round) });
      measured.push({ ...answers, total: answers.seconds, cpu: { server: cpuSeconds(server.pid!) - before } });
    }
    return measured;
  } finally {
    server.kill();
  }
}

function print(name: string, measured: readonly Round[], floor: readonly Round[]): void {
  const rate = median(measured.map(({ total }) => events / total));
  const ratio = rate / median(floor.map(({ total }) => events / total));
  const at = (share: number): string =>
    median(measured.map(({ latencies }) => latencies[Math.floor(latencies.length * share)]!)).toFixed(1);
  const cpu = Object.keys(measured[0]!.cpu).map((who) => {
    const seconds = median(measured.map((round) => round.cpu[who]!));
    return `${who} ${((seconds / events) * 1e6).toFixed(1)}`;
  });
  console.log(
    `${name.padEnd(18)} ${Math.round(rate).toString().padStart(7)} events/s (${ratio.toFixed(2)} of the floor)   ` +
      `answer p50 ${at(0.5)} ms, p99 ${at(0.99)} ms   CPU-s per million: ${cpu.join(", ")}`,
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
