import { expect, test } from "vitest";
import { brokerObstacle } from "../../support/kafka/obstacle.ts";
import { registerReadCodecs } from "../../support/kafka/read-codecs.ts";
import { compacted, type NewTopic } from "../../support/kafka/topics.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { isEveryCase } from "../../support/cases.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";

const patience = { timeout: 60_000, interval: 100 };
const kafka = useKafka({ prepare: registerReadCodecs });

async function create(options: NewTopic = {}): Promise<string> {
  const topic = kafka().unique("orders");
  await kafka().topics.create(topic, options);
  return topic;
}

function events(count: number): string[] {
  return Array.from({ length: count }, (_, id) => JSON.stringify({ id, text: `é ${"x".repeat(40)}` }));
}

test("keeps what is written, with keys, headers and tombstones", async () => {
  const topic = await create();
  const headers = { trace: "1" };
  await kafka().produce(topic, ["plain", { key: "a", value: "keyed", headers }, { key: "a", value: null }]);
  expect(await kafka().read(topic)).toMatchObject([
    { offset: 0, key: null, value: "plain", headers: {} },
    { offset: 1, key: "a", value: "keyed", headers: { trace: Buffer.from("1") } },
    { offset: 2, key: "a", value: null },
  ]);
});

test("spreads many messages over partitions, also over those that come later", async () => {
  const topic = await create({ partitions: 2 });
  const sent = events(20_000);
  await kafka().produce(topic, sent);
  const read = await kafka().read(topic);
  expect(new Set(read.map(({ value }) => value))).toEqual(new Set(sent));
  expect(await kafka().topics.endOffsets(topic)).toEqual([10_000, 10_000]);
  await kafka().topics.addPartitions(topic, 3);
  await kafka().produce(topic, ["late"], { partition: 2 });
  expect(await kafka().topics.endOffsets(topic)).toEqual([10_000, 10_000, 1]);
});

test("takes what is produced to many new partitions once", async () => {
  // Where it is not awaited that all partitions take requests, about one topic in six has doubles.
  for (let topics = 0; topics < (isEveryCase ? 5 : 2); topics += 1) {
    const topic = await create({ partitions: 60 });
    await kafka().produce(topic, events(300));
    const written = await kafka().topics.endOffsets(topic);
    expect(written.reduce((sum, count) => sum + count, 0)).toBe(300);
    await kafka().topics.delete(topic);
  }
});

test("does not show what was aborted, and counts its records and the marker", async () => {
  const topic = await create();
  await kafka().produce(topic, ["a"], { transaction: "commit" });
  await kafka().produce(topic, ["b", "c"], { transaction: "abort" });
  await kafka().produce(topic, ["d"]);
  await kafka().produce(topic, ["e"], { transaction: "abort" });
  expect((await kafka().read(topic)).map(({ offset, value }) => [offset, value])).toEqual([
    [0, "a"],
    [5, "d"],
  ]);
  expect(await kafka().topics.endOffsets(topic)).toEqual([8]);
});

test("gives records up on demand and by age, and topics whole", async () => {
  const topic = await create();
  await kafka().produce(topic, ["a", "b", "c"]);
  await kafka().topics.deleteRecords(topic, 0, 2);
  expect(await kafka().topics.startOffsets(topic)).toEqual([2]);
  expect(await kafka().read(topic)).toMatchObject([{ offset: 2, value: "c" }]);
  await kafka().topics.configure(topic, { "retention.ms": "1" });
  await expect.poll(() => kafka().topics.startOffsets(topic), patience).toEqual([3]);
  expect(await kafka().topics.endOffsets(topic)).toEqual([3]);
  await kafka().topics.delete(topic);
  expect(await kafka().withAdmin((admin) => admin.listTopics())).not.toContain(topic);
});

test("compacts at once what is made for it", async () => {
  const topic = await create({ config: compacted });
  const keyed = ["a1", "b1", "a2", "c1", "b2"].map((value) => ({ key: value[0]!, value }));
  for (const message of [...keyed, { key: "c", value: null }]) await kafka().produce(topic, [message]);
  await kafka().produce(topic, [{ key: "end", value: "the last one is never cleaned" }]);
  const left = async (): Promise<unknown[]> => (await kafka().read(topic)).map(({ offset, value }) => [offset, value]);
  await expect.poll(left, patience).toEqual([
    [2, "a2"],
    [4, "b2"],
    // A tombstone goes when the partition is cleaned for the second time.
    [5, null],
    [6, "the last one is never cleaned"],
  ]);
});

test("keeps the offsets of groups, with their metadata", async () => {
  const topic = await create({ partitions: 2 });
  await kafka().produce(topic, events(10));
  const group = kafka().unique("readers");
  expect(await kafka().groups.state(group)).toBe("Dead");
  await kafka().groups.set(group, [{ topic, partition: 1, offset: 4 }], "x".repeat(4_096));
  await kafka().groups.set(group, [{ topic, partition: 0, offset: 3 }]);
  expect(await kafka().groups.offsets(group)).toEqual([
    { topic, partition: 0, offset: 3, metadata: null },
    { topic, partition: 1, offset: 4, metadata: "x".repeat(4_096) },
  ]);
  expect(await kafka().groups.state(group)).toBe("Empty");
  await kafka().groups.delete(group);
  expect(await kafka().groups.offsets(group)).toEqual([]);
});

/** Each starts a Java. */
const compressions = isEveryCase ? (["none", "gzip", "snappy", "lz4", "zstd"] as const) : (["zstd"] as const);

test.for<(typeof compressions)[number]>(compressions)(
  "holds what Java wrote with %s",
  async (compression, { skip }) => {
    requireOrSkip(await brokerObstacle(), skip);
    const topic = await create();
    const sent = events(5_000);
    const special = [
      { key: "a", value: "keyed", headers: { one: "1", two: "2" } },
      { key: "a", value: null },
    ];
    await kafka().produceByJava(topic, [...sent, ...special], { compression });
    const read = await kafka().read(topic);
    expect(read.slice(0, -2).map(({ value }) => value)).toEqual(sent);
    expect(read.slice(-2)).toMatchObject([
      { offset: 5_000, key: "a", value: "keyed", headers: { one: Buffer.from("1"), two: Buffer.from("2") } },
      { offset: 5_001, key: "a", value: null, headers: {} },
    ]);
  },
);
