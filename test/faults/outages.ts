import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { OutageProxy, type Outage } from "../support/outage-proxy.ts";
import { changedIn } from "../support/pipeline-file.ts";
import { Random } from "../support/random.ts";
import { droppedBy } from "./duplicate-counter.ts";
import { EventMix } from "./event-mix.ts";
import { type Audit, Ledger } from "./ledger.ts";
import { Poster } from "./poster.ts";
import { until } from "./patience.ts";
import { ResidentMemory } from "./resident-memory.ts";

export interface OutageOptions {
  /** How long each outage lasts from when it was met, in milliseconds. */
  each: number;
  /**
   * Whether the connections that an outage left hanging are broken at its end. Without it the pipeline waits until its
   * requests have run out of time, which is 5 minutes.
   */
  cut: boolean;
  /** Milliseconds that each of eight connections rests after a post. */
  rest?: number;
  log?: (line: string) => void;
}

export interface OutageReport extends Audit {
  /** Statements that met each outage; while nothing listens there are none to count. */
  met: Record<Exclude<Outage, "passing">, number>;
  /** Failed attempts by the name of the error. */
  failures: Record<string, number>;
  /** Inserts that the server dropped as repeats. */
  dropped: number;
  /** Memory of the daemon before the load, at its highest, and the most that it may be, in bytes. */
  memory: { idle: number; highest: number; limit: number };
}

const pipeline_id = "outages";
const outages = ["refusing", "hanging", "silent", "overloaded", "slow"] as const;
const sinkMemory = 256 << 20;
/** Events that the stream holds: a long outage fills it, and further events are refused until it is over. */
const streamLimit = 50_000;
/** What the process may hold beside the buffers of a pipeline, in bytes. */
const slack = 150 << 20;
/**
 * After an outage: a request that nobody broke may hang for 5 minutes, and the pipeline may wait for a minute until it
 * tries again. In milliseconds.
 */
const recoveryLimit = { cut: 4 * 60_000, uncut: 10 * 60_000 };

/** What a report says that must not be; empty where every promise was kept and each outage hit an insert. */
export function brokenBy(report: OutageReport): string[] {
  const { lost, doubled, strangers, deadLetters, met, failures, dropped } = report;
  const unmet = outages.filter((outage) => outage !== "refusing" && met[outage] === 0);
  const claims: [boolean, string][] = [
    [lost.length + doubled.length + strangers.length > 0, "events were lost, doubled or invented"],
    [deadLetters > 0, `${deadLetters} good events are dead letters`],
    [unmet.length > 0, `nothing met the outage ${unmet.join(", ")}`],
    [(failures["network_io"] ?? 0) === 0, "expected an insert to fail whose answer never came"],
    [(failures["TOO_MANY_PARTS"] ?? 0) === 0, "expected inserts to fail of too many parts"],
    [dropped === 0, "expected the server to drop a repeat of an insert whose answer was lost"],
  ];
  return claims.filter(([isBroken]) => isBroken).map(([, text]) => text);
}

/** The same of a process that could not write for long: it held no more than it may. */
export function tooMuchMemory({ memory: { highest, limit } }: Pick<OutageReport, "memory">): string[] {
  return highest < limit ? [] : [`expected at most ${limit} bytes of memory, found ${highest}`];
}

/** Posts events without a pause while the ClickHouse that they go to has one outage after the other; then counts. */
export async function suffer({ each, cut, rest = 20, log = () => undefined }: OutageOptions): Promise<OutageReport> {
  const limit = cut ? recoveryLimit.cut : recoveryLimit.uncut;
  const place = await Workplace.make();
  const clickhouse = await startClickHouse();
  const proxy = await OutageProxy.start(clickhouse.url);
  try {
    await place.write("outages.yaml", fileFor(proxy, clickhouse));
    const daemon = await place.start({ env: { ...tokenEnv, SLUICE_SECRET_CLICKHOUSE: clickhouse.password } });
    await daemon.until(() => daemon.health(pipeline_id), "to run the pipeline");
    const memory = new ResidentMemory(daemon.pid);
    const idle = memory.now;
    const ledger = new Ledger();
    const mix = new EventMix(new Random(0), { withBad: false, repeats: 0 });
    const poster = new Poster({ url: daemon.events, pipeline_id, token, mix, ledger, rest });
    await written(daemon, limit);
    for (const outage of outages) {
      await hit(daemon, proxy, outage, limit);
      await sleep(each);
      await proxy.change("passing");
      if (cut) proxy.cut();
      const ended = Date.now();
      await written(daemon, limit);
      const waited = ((Date.now() - ended) / 1000).toFixed(1);
      const mebibytes = Math.round(memory.highest / 2 ** 20);
      log(`${outage}: ${proxy.met(outage)} statements met it, rows again after ${waited} s, memory ${mebibytes} MiB`);
    }
    await poster.stop();
    await settled(daemon, limit);
    memory.stop();
    return {
      ...ledger.audit({ row: await rowIds(clickhouse), letter: new Map() }, false),
      deadLetters: (await daemon.health(pipeline_id)).dead_letters.total_messages,
      met: Object.fromEntries(outages.map((outage) => [outage, proxy.met(outage)])) as OutageReport["met"],
      failures: await failuresOf(daemon),
      dropped: await droppedBy(clickhouse),
      memory: { idle, highest: memory.highest, limit: idle + sinkMemory + slack },
    };
  } finally {
    await place.clean();
    await proxy.close();
    await clickhouse.stop();
  }
}

/** Begins an outage; resolves when it has hit the pipeline, which may just then wait before its next attempt. */
async function hit(daemon: Daemon, proxy: OutageProxy, outage: (typeof outages)[number], limit: number): Promise<void> {
  const failures = async (): Promise<number> =>
    Object.values(await failuresOf(daemon)).reduce((sum, count) => sum + count, 0);
  // After the change it may be too late: where nothing listens, only the first attempt is an insert.
  const before = await failures();
  await proxy.change(outage);
  const isMet = outage === "refusing" ? async () => (await failures()) > before : (): boolean => proxy.met(outage) > 0;
  await until(daemon, `to meet the outage ${outage}`, isMet, limit);
  // Rows may still be counted that were written before it.
  if (outage === "slow") await written(daemon, limit);
}

function fileFor(proxy: OutageProxy, { username }: TestClickHouse): string {
  const server = `{ host: 127.0.0.1, port: "9000", http_port: "${proxy.port}", database: default, username: ${username}, password: "\${env:SLUICE_SECRET_CLICKHOUSE}" }`;
  const file = changedIn(pipelineFile(pipeline_id), "{ host: embedded, database: default }", server);
  return `${file}resources: { nats: { stream: { max_msgs: ${streamLimit} } }, sink: { limits: { memory: "${sinkMemory}" } } }\n`;
}

/** Resolves when more rows are written than now. */
async function written(daemon: Daemon, limit: number): Promise<void> {
  const before = (await daemon.health(pipeline_id)).counters.rows_written;
  const hasWritten = async (): Promise<boolean> => (await daemon.health(pipeline_id)).counters.rows_written > before;
  await until(daemon, `to write rows after ${before}`, hasWritten, limit);
}

async function settled(daemon: Daemon, limit: number): Promise<void> {
  const isSettled = async (): Promise<boolean> => {
    const { stream, pending_batches } = await daemon.health(pipeline_id);
    return stream.messages + pending_batches === 0;
  };
  await until(daemon, "to settle all events", isSettled, limit);
}

async function rowIds(clickhouse: TestClickHouse): Promise<Map<string, number>> {
  const rows = await clickhouse.query<{ id: string; times: string }>(
    "SELECT id, toString(count()) AS times FROM default.outages GROUP BY id",
  );
  return new Map(rows.map(({ id, times }) => [id, Number(times)]));
}

/** Failed inserts by the name of the error. */
export async function failuresOf(daemon: Daemon): Promise<Record<string, number>> {
  const text = await daemon.get<string>("/metrics");
  const series = text.matchAll(/^gfm_sink_errors_by_classification_total\{(.*)\} (\d+)$/gm);
  return Object.fromEntries(
    [...series].map(([, labels = "", count]) => [/error_name="([^"]*)"/.exec(labels)?.[1] ?? labels, Number(count)]),
  );
}
