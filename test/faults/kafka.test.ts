import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { useKafka } from "../support/kafka/use-kafka.ts";
import { Random } from "../support/random.ts";
import { KafkaDelivery } from "./kafka-delivery.ts";
import { brokenBy } from "./kafka-report.ts";
import type { KafkaStep } from "./kafka-steps.ts";
import { type KafkaVariant, kafkaVariants } from "./kafka-variants.ts";

vi.setConfig({ testTimeout: 240_000 });

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);
const kafka = useKafka();
let server: TestClickHouse;

beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.stop());

interface Run {
  variant: KafkaVariant;
  members: number;
  steps: readonly KafkaStep[];
}

/**
 * Steps that an event of Kafka, or a join, adds to those of `delivery.test.ts`. What is read a second time only shows where
 * dedup does not drop it: there the pipeline is killed around its commits of offsets.
 */
const everyPush: Run[] = [{ variant: kafkaVariants.repeats, members: 1, steps: ["later batch written"] }];
const rest: Run[] = [
  { variant: kafkaVariants.unique, members: 2, steps: ["offset commit unanswered", "later batch committed"] },
  { variant: kafkaVariants.many, members: 1, steps: ["join step durable"] },
];

const title = "what was produced is there once: $variant.name, members: $members";

describe.each(everyPush)(title, killAtEach);
describe.each(rest)(title, { tags: ["rest"] }, killAtEach);

function killAtEach({ variant, members, steps: own }: Run): void {
  let delivery: Promise<KafkaDelivery> | undefined;
  // Where there is no Kafka, tests are skipped and hooks are not.
  const started = (): Promise<KafkaDelivery> =>
    (delivery ??= KafkaDelivery.start({ kafka: kafka(), server, variant, members, random: new Random(seed) }));
  afterAll(async () => (await delivery)?.clean());

  test.each(own)(`killed %s (FAULTS_SEED=${seed})`, async (step) => {
    expect(brokenBy(await (await started()).killAt(step, 3_000))).toEqual([]);
  });
}
