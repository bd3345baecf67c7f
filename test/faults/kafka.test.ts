import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { useKafka } from "../support/kafka/use-kafka.ts";
import { Random } from "../support/random.ts";
import { KafkaDelivery } from "./kafka-delivery.ts";
import { brokenBy } from "./kafka-report.ts";
import { allSteps } from "./kafka-steps.ts";
import { kafkaVariants } from "./kafka-variants.ts";
import { steps } from "./steps.ts";

vi.setConfig({ testTimeout: 240_000 });

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);
const kafka = useKafka();
let server: TestClickHouse;

beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.stop());

/**
 * Each step that an event of Kafka, or a join, adds to those of `delivery.test.ts`. What is read a second time only shows where
 * dedup does not drop it: there the pipeline is killed around its commits of offsets.
 */
const runs = [
  {
    variant: kafkaVariants.unique,
    members: 2,
    steps: ["offset commit unanswered", "later batch committed"],
    random: [],
  },
  {
    variant: kafkaVariants.repeats,
    members: 1,
    steps: ["later batch written"],
    random: [],
  },
  {
    variant: kafkaVariants.many,
    members: 1,
    steps: ["join step written", "join step durable"],
    random: [1],
  },
] as const;

describe.each(runs)(
  "what was produced is there once: $variant.name, members: $members",
  ({ variant, members, ...kills }) => {
    let delivery: Promise<KafkaDelivery> | undefined;
    // Where there is no Kafka, tests are skipped and hooks are not.
    const started = (): Promise<KafkaDelivery> =>
      (delivery ??= KafkaDelivery.start({
        kafka: kafka(),
        server,
        variant,
        members,
        random: new Random(seed),
      }));
    afterAll(async () => (await delivery)?.clean());

    test.each(kills.steps)(`killed %s (FAULTS_SEED=${seed})`, async (step) => {
      expect(brokenBy(await (await started()).killAt(step, 3_000))).toEqual([]);
    });

    test.each(kills.random)(`killed at %d random moment (FAULTS_SEED=${seed})`, async (times) => {
      expect(brokenBy(await (await started()).killAtRandom(times, 10_000))).toEqual([]);
    });
  },
);

test("each step that a pipeline with a webhook has not is among them", () => {
  const own = Object.keys(allSteps).filter((step) => !(step in steps));
  expect(runs.flatMap((run) => run.steps as readonly string[]).toSorted()).toEqual(own.toSorted());
});
