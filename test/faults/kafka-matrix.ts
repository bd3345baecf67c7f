import { Random } from "../support/random.ts";
import { KafkaDelivery } from "./kafka-delivery.ts";
import { type KafkaReport, brokenBy, heading, lineOf, missing } from "./kafka-report.ts";
import type { KafkaServers } from "./kafka-servers.ts";
import { allSteps, type KafkaStep, kafkaSteps } from "./kafka-steps.ts";
import type { SubjectOptions } from "./kafka-subject.ts";
import { type KafkaVariant, kafkaVariants } from "./kafka-variants.ts";

export interface MatrixOptions {
  /** Kills at random moments, of each run. */
  kills: number;
  /** Events of each run. */
  events: number;
  seed: number;
  log: (line: string) => void;
}

/** Names the variants of the run, such as `join`; all by default. */
const only = new RegExp(process.env["FAULTS_ONLY"] ?? "");

/** The share of a run's events that is read around the kill at one step. */
const stepShare = 0.05;

/**
 * The crash matrix of Kafka: unique ids, and ids that repeat, each with one member and with three, and ids that repeat in
 * two topics, and joins. Each run is killed at every step, then at random moments. Resolves with what must not be, and is.
 */
export async function killKafka(servers: KafkaServers, options: MatrixOptions): Promise<string[]> {
  const reports: KafkaReport[] = [];
  const problems: string[] = [];
  for (const variant of Object.values<KafkaVariant>(kafkaVariants).filter(({ name }) => only.test(name))) {
    for (const members of variant.members) {
      const run = await runOf(
        { ...servers, variant, members, random: new Random(options.seed + reports.length) },
        options,
      );
      reports.push(...run);
      problems.push(...run.flatMap(brokenBy), ...missing(run));
    }
  }
  if (reports.length > 0) for (const line of [heading, ...reports.map(lineOf)]) options.log(line);
  return problems;
}

async function runOf(
  subject: SubjectOptions & KafkaServers,
  { kills, events, log }: MatrixOptions,
): Promise<KafkaReport[]> {
  const delivery = await KafkaDelivery.start(subject);
  const reports: KafkaReport[] = [];
  const share = Math.floor(events * stepShare);
  const tell = (report: KafkaReport): void => {
    reports.push(report);
    log(lineOf(report));
  };
  try {
    const steps = Object.keys(subject.variant.joins === undefined ? kafkaSteps : allSteps) as KafkaStep[];
    for (const step of steps) tell(await delivery.killAt(step, share));
    tell(await delivery.killAtRandom(kills, events - reports.length * share, log));
  } finally {
    await delivery.clean();
  }
  return reports;
}
