import { startClickHouse } from "../../support/clickhouse.ts";
import { KafkaCluster } from "../../support/kafka/cluster.ts";
import { librdkafkaObstacle } from "../../support/kafka/librdkafka.ts";
import { brokerObstacle } from "../../support/kafka/obstacle.ts";
import { Random } from "../../support/random.ts";
import { accessFaults } from "./access-faults.ts";
import { brokerFaults } from "./broker-faults.ts";
import type { BrokerFault } from "./fault.ts";
import { groupFaults } from "./group-faults.ts";
import { brokenBy, brokenByAudit, heading, type KindReport, lineOf } from "./report.ts";
import { type BrokerServers, BrokerScene } from "./scene.ts";
import { topicFaults } from "./topic-faults.ts";

/** The most important ones first. */
export const kinds: readonly BrokerFault[] = [...groupFaults, ...brokerFaults, ...topicFaults, ...accessFaults];

/** Of the long form. */
export const allFaults = kinds.reduce((sum, { times }) => sum + times, 0);

const usualPatience = 75_000;

export interface RoundOptions {
  /** Faults of all kinds together, of which each kind has its share, and one at least. */
  faults: number;
  seed: number;
  log: (line: string) => void;
}

/** Why this machine can play no faults of brokers; undefined where it can. */
export async function brokersObstacle(): Promise<string | undefined> {
  return (await brokerObstacle()) ?? (await librdkafkaObstacle());
}

/** Runs `use` between three brokers and a ClickHouse. Throws why there can be none here. */
export async function withBrokers<T>(use: (servers: BrokerServers) => Promise<T>): Promise<T> {
  const obstacle = await brokersObstacle();
  if (obstacle !== undefined) throw new Error(obstacle);
  const cluster = await KafkaCluster.start();
  try {
    const server = await startClickHouse();
    try {
      return await use({ cluster, server });
    } finally {
      await server.stop();
    }
  } finally {
    await cluster.stop();
  }
}

/** Plays the faults of these kinds one after the other. Resolves with what must not be, and is. */
export async function befallBrokers(
  picked: readonly BrokerFault[],
  servers: BrokerServers,
  { faults, seed, log }: RoundOptions,
): Promise<string[]> {
  const reports: KindReport[] = [];
  for (const [at, fault] of picked.entries()) {
    const times = Math.max(1, Math.round((fault.times * faults) / allFaults));
    const random = new Random(seed + at);
    const report = await (fault.isRepeated === true ? repeat : renew)(fault, times, { ...servers, random, log });
    reports.push(report);
    log(lineOf(report));
  }
  log("");
  for (const line of [heading, ...reports.map(lineOf)]) log(line);
  return reports.flatMap(brokenBy);
}

interface Round extends BrokerServers {
  random: Random;
  log: (line: string) => void;
}

/** All faults meet the same pipelines, which are counted in the end. */
async function repeat(fault: BrokerFault, times: number, round: Round): Promise<KindReport> {
  const report: KindReport = { fault, faults: 0, audits: [], problems: [] };
  await play(fault, report, round, times);
  return report;
}

/** Each fault meets pipelines of its own. */
async function renew(fault: BrokerFault, times: number, round: Round): Promise<KindReport> {
  const report: KindReport = { fault, faults: 0, audits: [], problems: [] };
  for (let time = 0; time < times; time += 1) await play(fault, report, round, 1);
  return report;
}

async function play(fault: BrokerFault, report: KindReport, round: Round, times: number): Promise<void> {
  const { patience = usualPatience, plans, flags = [], befall } = fault;
  const { log, ...servers } = round;
  const begun = Date.now();
  const problems: string[] = [];
  let scene: BrokerScene | undefined;
  try {
    scene = await BrokerScene.start({ ...servers, plans, flags });
    for (let time = 0; time < times; time += 1) {
      scene.begin();
      report.faults += 1;
      await befall(scene);
    }
    await scene.mend();
    const audits = await scene.audit(patience);
    report.audits.push(...audits);
    for (const audit of audits) problems.push(...brokenByAudit(fault, audit));
  } catch (error) {
    report.problems.push((error as Error).message);
    problems.push((error as Error).message);
    await scene?.mend();
  } finally {
    report.problems.push(...(scene?.problems ?? []));
    problems.push(...(scene?.problems ?? []));
    await scene?.clean();
  }
  const took = ((Date.now() - begun) / 1_000).toFixed(0);
  const notes = (scene?.notes ?? []).map((text) => `, ${text}`).join("");
  log(
    `  ${fault.name}, ${report.faults}: ${took} s${notes}${problems.map((text) => `\n    BROKEN: ${text}`).join("")}`,
  );
}
