import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { KafkaCluster } from "../../support/kafka/cluster.ts";
import {
  describeGroup,
  LibrdkafkaConsumer,
  librdkafkaObstacle,
  LibrdkafkaProducer,
  OpenTransaction,
  readCommitted,
} from "../../support/kafka/librdkafka.ts";
import { brokerObstacle } from "../../support/kafka/obstacle.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";

let obstacle: string | undefined;
let cluster: KafkaCluster;

beforeAll(async () => {
  obstacle = (await brokerObstacle()) ?? (await librdkafkaObstacle());
  if (obstacle === undefined) cluster = await KafkaCluster.start();
}, 300_000);
beforeEach(({ skip }) => requireOrSkip(obstacle, skip));
afterAll(async () => cluster?.stop());

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await sleep(50);
}

test("what is acknowledged while brokers are killed and move is read by a group, each message once", async () => {
  const topic = cluster.unique("topic");
  await cluster.topics.create(topic, { partitions: 3, replicas: 3 });
  const params = cluster.connectionParams();
  const properties = { acks: "all", "enable.idempotence": "true" };
  const producer = await LibrdkafkaProducer.start({ params, topic, partitions: 3, perSecond: 100, properties });
  const group = cluster.unique("group");
  const consumer = await LibrdkafkaConsumer.start({ params, group, topics: [topic] });
  try {
    await until(() => consumer.records.length > 0);
    expect((await describeGroup(params, group)).members).toMatchObject([{ partitions: [0, 1, 2] }]);
    await cluster.broker(1).kill();
    await cluster.broker(1).start();
    await cluster.whole();
    await cluster.broker(2).move();
    await cluster.whole();
    await producer.end();
    const records = await readCommitted(params, topic);
    expect(records.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([...Array(producer.produced).keys()]);
    await until(() => new Set(consumer.records.map(({ id }) => id)).size === producer.produced);
  } finally {
    await producer.end();
    await consumer.end();
  }
});

test("a partition whose only broker is away has no leader until it is back", async () => {
  const topic = cluster.unique("topic");
  await cluster.topics.create(topic, { assignment: [[1], [3]] });
  await cluster.broker(3).end();
  await cluster.leaderless(topic);
  await cluster.broker(3).start();
  await cluster.leads(topic, 1, 3);
  await cluster.reassign(topic, [[2], [1, 2]]);
  expect((await cluster.partitionsOf(topic)).map(({ replicas }) => replicas)).toEqual([[2], [1, 2]]);
});

test("of transactions only those count that were committed", async () => {
  const topic = cluster.unique("topic");
  await cluster.topics.create(topic, { partitions: 2, replicas: 3 });
  const params = cluster.connectionParams();
  const begin = (first: number, timeout: number): Promise<OpenTransaction> =>
    OpenTransaction.begin({ params, topic, partitions: 2, name: `${topic}-${first}`, first, count: 4, timeout });
  await (await begin(0, 10_000)).commit();
  await (await begin(100, 10_000)).abort();
  (await begin(200, 1_000)).abandon();
  const ends = async (): Promise<number> => (await cluster.topics.endOffsets(topic)).reduce((a, b) => a + b);
  // Each of the three has a marker in both partitions once it is over.
  await until(async () => (await ends()) === 3 * 4 + 3 * 2);
  expect((await readCommitted(params, topic)).map(({ id }) => id)).toEqual([0, 2, 1, 3]);
});
