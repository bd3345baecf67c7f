import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../engine/index.ts";
import { Workplace } from "../support/daemon.ts";
import { OutageProxy } from "../support/outage-proxy.ts";
import { Random } from "../support/random.ts";
import type { CountedTable, TableAudit } from "./counted-table.ts";
import { KafkaLoad } from "./kafka-load.ts";
import type { KafkaServers } from "./kafka-servers.ts";
import { KafkaSubject } from "./kafka-subject.ts";
import { kafkaVariants } from "./kafka-variants.ts";
import { failuresOf } from "./outages.ts";
import { until } from "./patience.ts";
import { ResidentMemory } from "./resident-memory.ts";

export interface KafkaOutageOptions extends KafkaServers {
  /** How long each outage lasts, in milliseconds. */
  each: number;
  /** Whether the connections that an outage left hanging are broken at its end; else they hang for up to 5 minutes. */
  cut: boolean;
  /** Of a few more than 1,000 bytes each. */
  eventsPerSecond?: number;
  log?: (line: string) => void;
}

export interface KafkaOutageReport extends TableAudit {
  /** Ids that were produced, while it read and while it could not write. */
  distinct: number;
  deadLetters: number;
  /** Statements that met each outage; while nothing listens there are none to count. */
  met: Record<string, number>;
  /** Failed inserts by the name of the error. */
  failures: Record<string, number>;
  /** Inserts that the server dropped as repeats. */
  dropped: number;
  /** Whether the consumer group had the same members all the time. */
  isSameGroup: boolean;
  /** Of the process before the load, at its highest, and the most that it may be, in bytes. */
  memory: { idle: number; highest: number; limit: number };
}

const outages = ["refusing", "hanging", "silent", "overloaded", "slow"] as const;
const sinkMemory = 256 << 20;
/** What the process may hold beside the buffers of a pipeline, in bytes. */
const slack = 150 << 20;
const eventBytes = 1_000;
/** After an outage: a request may hang for 5 minutes, and the pipeline may wait for a minute until it tries again. */
const recoveryLimit = 10 * 60_000;

/** What a report says that must not be; empty where every promise was kept and each outage hit an insert. */
export function brokenByOutages(report: KafkaOutageReport): string[] {
  const { count, unique, distinct, lost, doubled, strangers, changed, deadLetters, met, failures } = report;
  const isWhole = count === distinct && unique === distinct;
  const unmet = outages.filter((outage) => outage !== "refusing" && met[outage] === 0);
  const claims: [boolean, string][] = [
    [!isWhole, `expected ${distinct} rows and ids, found ${count} rows and ${unique} ids`],
    [lost.length + doubled.length + strangers.length + changed.length > 0, "events were lost, doubled or invented"],
    [deadLetters > 0, `${deadLetters} good events are dead letters`],
    [unmet.length > 0, `nothing met the outage ${unmet.join(", ")}`],
    [(failures["network_io"] ?? 0) === 0, "expected an insert to fail whose answer never came"],
    [(failures["TOO_MANY_PARTS"] ?? 0) === 0, "expected inserts to fail of too many parts"],
    [report.dropped === 0, "expected the server to drop a repeat of an insert whose answer was lost"],
    [!report.isSameGroup, "expected the same members in the consumer group, found that it was joined anew"],
  ];
  return claims.filter(([isBroken]) => isBroken).map(([, text]) => text);
}

/** Produces without a pause while the ClickHouse that the events go to has one outage after the other; then counts. */
export async function sufferOutages(options: KafkaOutageOptions): Promise<KafkaOutageReport> {
  const { kafka, server } = options;
  const variant = kafkaVariants.unique;
  const subject = await KafkaSubject.create({ kafka, server, variant, members: 1, random: new Random(0) });
  const place = await Workplace.make();
  const proxy = await OutageProxy.start(server.url);
  try {
    const started = await subject.prepare(place, String(proxy.port), { limits: { memory: String(sinkMemory) } });
    return await befall(await place.start(started), subject, proxy, options);
  } finally {
    await place.clean();
    await proxy.close();
    await subject.remove();
  }
}

async function befall(
  daemon: Daemon,
  subject: KafkaSubject,
  proxy: OutageProxy,
  { each, cut, eventsPerSecond = 2_000, log = () => undefined }: KafkaOutageOptions,
): Promise<KafkaOutageReport> {
  const { pipeline_id, table, mix } = subject;
  const health = (): Promise<PipelineHealth> => daemon.get(`/api/v1/pipeline/${pipeline_id}/health`);
  await until(daemon, "to be in its group", () => subject.isJoined());
  const [members, dropped] = [await subject.memberIds(), await table.dropped()];
  const memory = new ResidentMemory(daemon.pid);
  const idle = memory.now;
  mix.padding = eventBytes;
  const load = new KafkaLoad(subject, eventsPerSecond);
  try {
    await written(daemon, table);
    for (const outage of outages) {
      await proxy.change(outage);
      await sleep(each);
      // The pipeline may just then wait before its next attempt.
      const isMet = (): boolean => outage === "refusing" || proxy.met(outage) > 0;
      await until(daemon, `to meet the outage ${outage}`, isMet, recoveryLimit);
      await proxy.change("passing");
      if (cut) proxy.cut();
      const ended = Date.now();
      await written(daemon, table);
      const waited = ((Date.now() - ended) / 1000).toFixed(1);
      const mebibytes = Math.round(memory.highest / 2 ** 20);
      log(`${outage}: met by ${proxy.met(outage)}, written again after ${waited} s, ${mebibytes} MiB at most`);
    }
    await load.stop();
    await until(daemon, "to read all that was produced", () => subject.isRead(), recoveryLimit);
    await until(daemon, "to settle", async () => (await health()).pending_batches === 0);
    return {
      ...(await table.audit(mix.distinct)),
      distinct: mix.distinct,
      deadLetters: (await health()).dead_letters.total_messages,
      met: Object.fromEntries(outages.map((outage) => [outage, proxy.met(outage)])),
      failures: await failuresOf(daemon),
      dropped: (await table.dropped()) - dropped,
      isSameGroup: String(await subject.memberIds()) === String(members),
      memory: { idle, highest: memory.highest, limit: idle + sinkMemory + slack },
    };
  } finally {
    memory.stop();
    await load.stop();
  }
}

/** Resolves when more rows are there than now. */
async function written(daemon: Daemon, table: CountedTable): Promise<void> {
  const before = await table.rows();
  await until(daemon, `to write rows after ${before}`, async () => (await table.rows()) > before, recoveryLimit);
}
