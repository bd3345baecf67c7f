import { startClickHouse } from "../../support/clickhouse.ts";
import { KafkaCluster } from "../../support/kafka/cluster.ts";
import { librdkafkaObstacle } from "../../support/kafka/librdkafka.ts";
import { brokerObstacle } from "../../support/kafka/obstacle.ts";
import { Random } from "../../support/random.ts";
import { accessFaults } from "./access-faults.ts";
import { brokerFaults } from "./broker-faults.ts";
import type { BrokerFault } from "./fault.ts";
import { groupFaults } from "./group-faults.ts";
import { brokenBy, brokenByAudit, heading, type KindReport, legend, lineOf } from "./report.ts";
import { replicaFaults } from "./replica-faults.ts";
import { type BrokerServers, BrokerScene } from "./scene.ts";
import { topicFaults } from "./topic-faults.ts";
import type { PipelineAudit } from "./watched-pipeline.ts";

/** The most important ones first. */
export const kinds: readonly BrokerFault[] = [
  ...groupFaults,
  ...brokerFaults,
  ...replicaFaults,
  ...topicFaults,
  ...accessFaults,
];

/** Of the long form. */
export const allFaults = kinds.reduce((sum, { times }) => sum + times, 0);

const usualPatience = 75_000;
/** Lines of Sluice's log, after a fault that broke a promise. */
const linesOfLog = 12;

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
    const report = await playKind(fault, times, { ...servers, random, log });
    reports.push(report);
    log(lineOf(report));
  }
  log("");
  for (const line of [heading, ...reports.map(lineOf), legend]) log(line);
  return reports.flatMap(brokenBy);
}

interface Round extends BrokerServers {
  random: Random;
  log: (line: string) => void;
}

/** Faults that leave nothing behind meet the same pipelines, which are counted in the end; each other one meets its own. */
async function playKind(fault: BrokerFault, times: number, round: Round): Promise<KindReport> {
  const report: KindReport = { fault, faults: 0, audits: [], problems: [] };
  if (fault.isRepeated === true) await play(report, round, times);
  else for (let time = 0; time < times; time += 1) await play(report, round, 1);
  return report;
}

/** So many faults for the same pipelines. What fails is a problem of the kind, and the next one is played all the same. */
async function play(report: KindReport, { log, ...servers }: Round, times: number): Promise<void> {
  const { fault } = report;
  const { plans, flags = [], patience = usualPatience } = fault;
  const [begun, problems, audits] = [Date.now(), [] as string[], [] as PipelineAudit[]];
  let scene: BrokerScene | undefined;
  await noting(problems, async () => {
    scene = await BrokerScene.start({ ...servers, plans, flags });
    for (let time = 0; time < times; time += 1) {
      scene.begin();
      report.faults += 1;
      await fault.befall(scene);
    }
    await scene.mend();
    audits.push(...(await scene.audit(patience)));
  });
  problems.push(...(scene?.problems ?? []));
  await noting(problems, async () => scene?.mend());
  await noting(problems, async () => scene?.clean());
  report.audits.push(...audits);
  report.problems.push(...problems);
  const broken = [...problems, ...audits.flatMap((audit) => brokenByAudit(fault, audit))];
  const took = `${((Date.now() - begun) / 1_000).toFixed(0)} s`;
  log(`  ${[`${fault.name}, ${report.faults}: ${took}`, ...(scene?.notes ?? [])].join(", ")}`);
  for (const text of broken) log(`    BROKEN: ${text}`);
  if (broken.length > 0) for (const line of scene?.daemon.log.slice(-linesOfLog) ?? []) log(`      ${line}`);
}

async function noting(problems: string[], work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    problems.push((error as Error).message);
  }
}
