/** @module-tag rest */
import kafkajs, { type Consumer, type PartitionAssigner } from "kafkajs";
import { expect, test, vi } from "vitest";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import type { KafkaScene } from "./kafka-scene.ts";
import { useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 120_000 });

const inScene = useScenes(useKafka());

/** Consumers of Java offer these two by default; a client of kafkajs offers another one. */
const ofJava = ["range", "cooperative-sticky"];

function named(name: string): PartitionAssigner {
  return (options) => {
    const assigner = kafkajs.PartitionAssigners.roundRobin(options);
    const protocol: typeof assigner.protocol = (subscription) => ({ ...assigner.protocol(subscription), name });
    return { ...assigner, name, protocol };
  };
}

/** A consumer of the group of a scene that offers the assignors of Java. */
async function neighbour({ kafka, group, topic }: KafkaScene): Promise<Consumer> {
  const client = kafka.client(undefined, { retry: { retries: 0, restartOnFailure: () => Promise.resolve(false) } });
  const times = { sessionTimeout: 30_000, heartbeatInterval: 1_000 };
  const consumer = client.consumer({ groupId: group, ...times, partitionAssigners: ofJava.map(named) });
  await consumer.connect();
  await consumer.subscribe({ topic });
  return consumer;
}

test("a consumer with the assignors of Java is refused by the broker while Sluice is in the group", () =>
  inScene(async (scene) => {
    await scene.create();
    await scene.reads(3);
    const consumer = await neighbour(scene);
    const crashed = new Promise<Error>((resolve) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => resolve(payload.error));
    });
    await consumer.run({ eachMessage: () => Promise.resolve() }).catch(() => undefined);
    expect(await crashed).toMatchObject({ message: expect.stringContaining("protocols are incompatible") as string });
    await consumer.disconnect();
    await scene.produce(1, 3);
    await scene.holds(span(1, 3));
  }));

test("where it is in the group already, the pipeline pauses with a way out, and reads on once it has left", () =>
  inScene(async (scene) => {
    const consumer = await neighbour(scene);
    const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
    await consumer.run({ eachMessage: () => Promise.resolve() });
    await joined;
    await scene.create();
    const { paused } = await scene.until(({ paused: pause }) => pause !== undefined);
    expect(paused?.class).toBe("source");
    expect(paused?.text).toMatch(
      /\(INCONSISTENT_GROUP_PROTOCOL\): other consumers are in group sluice-consumer-group-/,
    );
    await consumer.disconnect();
    await scene.produce(1, 3);
    await scene.holds(span(1, 3));
    await scene.until(({ paused: pause }) => pause === undefined);
  }));
