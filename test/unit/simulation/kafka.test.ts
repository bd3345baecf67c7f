import type { Consumer } from "kafkajs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { consumerGroup } from "../../../engine/core/names.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { RequestName } from "../../support/simulation/kafka/codes.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { troubleText, type Trouble } from "../../support/simulation/kafka/troubles.ts";
import { KafkaWorld, Reading, type SourceOptions } from "./kafka-world.ts";

const group = consumerGroup("orders");
const topic = "orders";

let world: KafkaWorld;

// What is loaded from files is loaded before time is simulated.
beforeAll(async () => {
  await Codecs.load();
});
afterEach(() => {
  world.end();
});

function begin(options: Partial<SimulatedKafkaOptions> = {}, seed = 1): KafkaWorld {
  world = new KafkaWorld(seed, { topics: { orders: 3 }, ...options });
  return world;
}

function reading(options: SourceOptions = {}): Reading {
  return new Reading(world, options).start();
}

/** Values "a-0", "a-1" and on. */
const some = (count: number, name = "a"): string[] => Array.from({ length: count }, (_, at) => `${name}-${at}`);

/** All partitions of the topic get so many events each, named after them. */
function produceAll(count: number, name = "a"): void {
  for (const partition of [0, 1, 2]) world.kafka.produce(topic, partition, some(count, `${name}${partition}`));
}

function offsetsOf(id = group): Record<string, number> {
  return Object.fromEntries([...world.kafka.committed(id)].map(([place, { offset }]) => [place, offset]));
}

/** Everything was read that had to be, and nothing twice. */
function expectAllRead(of: Reading): void {
  const due = world.kafka.truth.dueTo(group);
  const lines = due.map(({ partition, offset, value }) => `${topic}/${partition}/${offset} ${value}`);
  expect(of.read.toSorted()).toEqual(lines.toSorted());
}

describe("a consumer of kafkajs", () => {
  interface Member {
    consumer: Consumer;
    read: string[];
    partitions: number[];
  }

  async function member(clientId: string, sessionTimeout = 30_000): Promise<Member> {
    const consumer = world.client(clientId).consumer({ groupId: "g", sessionTimeout });
    const of: Member = { consumer, read: [], partitions: [] };
    consumer.on("consumer.group_join", ({ payload }) => {
      of.partitions = payload.memberAssignment[topic] ?? [];
    });
    await world.settled(consumer.connect());
    await world.settled(consumer.subscribe({ topic, fromBeginning: true }));
    await world.settled(
      consumer.run({ eachMessage: ({ message }) => Promise.resolve(void of.read.push(message.value!.toString())) }),
    );
    return of;
  }

  test("shares the partitions with another one, and takes over those of one that leaves", async () => {
    const { kafka } = begin({ brokers: 2 });
    produceAll(5);
    const one = await member("one");
    await world.until(() => one.read.length === 15);
    const other = await member("other");
    await world.until(() => one.partitions.length + other.partitions.length === 3 && one.partitions.length < 3);
    expect([...one.partitions, ...other.partitions].toSorted()).toEqual([0, 1, 2]);
    expect(kafka.members("g")).toEqual(["one", "other"]);
    produceAll(5, "b");
    await world.until(() => one.read.length + other.read.length === 30);
    await world.settled(other.consumer.disconnect());
    await world.until(() => one.partitions.length === 3);
    await world.settled(one.consumer.disconnect());
    expect(offsetsOf("g")).toEqual({ "orders/0": 10, "orders/1": 10, "orders/2": 10 });
    expect(kafka.unknown).toEqual([]);
  });

  test("expires when it is silent for its session, and is fenced when it comes back", async () => {
    const { kafka, network } = begin({ brokers: 1 });
    const one = await member("one", 10_000);
    await world.clock.pass(5_000);
    network.set(kafka.address(1), { isSilent: true });
    await world.clock.pass(4_000);
    expect(kafka.members("g")).toEqual(["one"]);
    await world.clock.pass(8_000);
    expect(kafka.members("g")).toEqual([]);
    expect(kafka.met.get("member expired")).toBe(1);
    network.set(kafka.address(1), { isSilent: false });
    network.reset();
    await world.until(() => kafka.generation("g") === 3);
    expect(kafka.members("g")).toEqual(["one"]);
    await world.settled(one.consumer.disconnect());
  });

  test("sees transactions as they end: those that were aborted never, an open one holds up what comes later", async () => {
    const { kafka } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, ["before"]);
    kafka.produce(topic, 0, ["lost"], { transaction: "aborted" });
    kafka.produce(topic, 0, ["kept"], { transaction: "committed" });
    const open = kafka.begin();
    open.produce(topic, 0, ["late"]);
    kafka.produce(topic, 0, ["after"]);
    expect(kafka.ends(topic, 0)).toEqual({ start: 0, stable: 5, end: 7 });
    const one = await member("one");
    await world.until(() => one.read.length === 2);
    await world.clock.pass(10_000);
    expect(one.read).toEqual(["before", "kept"]);
    expect(kafka.truth.records.map(({ value }) => value)).toEqual(one.read);
    open.end("committed");
    await world.until(() => one.read.length === 4);
    expect(one.read).toEqual(["before", "kept", "late", "after"]);
    expect(kafka.truth.records.map(({ value }) => value)).toEqual(one.read);
    await world.settled(one.consumer.disconnect());
  });

  test("sets hardly any timers while nothing comes", async () => {
    const { clock } = begin({ brokers: 3 });
    const one = await member("one");
    await clock.pass(1_000);
    const before = clock.steps;
    await clock.pass(60_000);
    // A fetch and the look at late requests each second, of each broker; a heartbeat now and then.
    expect(clock.steps - before).toBeLessThan(1_000);
    await world.settled(one.consumer.disconnect());
  });

  test("is refused what brokers do not speak here, and the request is noted", async () => {
    const { kafka } = begin();
    const producer = world.client().producer({ retry: { retries: 0 } });
    await world.settled(producer.connect());
    const sent = world.settled(producer.send({ topic, messages: [{ value: "x" }] }));
    await expect(sent).rejects.toThrow();
    // kafkajs knows from the versions that are offered that there is nothing to send.
    expect([kafka.unknown, kafka.truth.records]).toEqual([[], []]);
    const socket = world.network.connect("kafka-1", 9092);
    let isClosed = false;
    socket.on("close", () => (isClosed = true)).resume();
    socket.write(Buffer.from([0, 0, 0, 10, 0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff]));
    await world.until(() => isClosed);
    expect(kafka.unknown).toEqual(["0/9"]);
    await world.settled(producer.disconnect());
  });
});

describe("an admin of kafkajs", () => {
  test("sees ends, times, groups and what they have committed", async () => {
    const { kafka, clock } = begin({ brokers: 3 });
    const admin = world.client().admin();
    await world.settled(admin.connect());
    kafka.produce(topic, 0, some(5));
    await clock.pass(1_000);
    const later = Date.now();
    kafka.produce(topic, 0, some(5), { gap: 2 });
    expect(kafka.retain(topic, 0, 3)).toBe(3);
    const ends = await world.settled(admin.fetchTopicOffsets(topic));
    expect(ends.find(({ partition }) => partition === 0)).toMatchObject({ low: "3", high: "12" });
    const since = await world.settled(admin.fetchTopicOffsetsByTimestamp(topic, later));
    expect(since.toSorted((a, b) => a.partition - b.partition).map(({ offset }) => offset)).toEqual(["7", "0", "0"]);
    expect(await world.settled(admin.describeGroups(["g"]))).toMatchObject({
      groups: [{ state: "Empty", members: [] }],
    });
    const described = await world.settled(admin.describeCluster());
    expect(described).toMatchObject({ clusterId: "simulated", brokers: [{ nodeId: 1 }, { nodeId: 2 }, { nodeId: 3 }] });
    await world.settled(admin.disconnect());
    await clock.pass(100);
    expect(world.network.connections).toBe(0);
  });

  test("moves a group that is empty, and none with members", async () => {
    const { kafka } = begin();
    const admin = world.client().admin();
    await world.settled(admin.connect());
    await world.settled(admin.setOffsets({ groupId: "g", topic, partitions: [{ partition: 1, offset: "7" }] }));
    expect(offsetsOf("g")).toEqual({ "orders/1": 7 });
    expect(kafka.setOffsets("g", topic, { 0: 3 })).toBe(true);
    expect(offsetsOf("g")).toEqual({ "orders/0": 3, "orders/1": 7 });
    const found = await world.settled(admin.fetchOffsets({ groupId: "g", topics: [topic] }));
    expect(found[0]!.partitions.map(({ offset }) => offset).toSorted()).toEqual(["-1", "3", "7"]);
    const foreign = kafka.foreign("g", { clientId: "other", topics: [topic] });
    await world.until(() => kafka.members("g").length === 1);
    expect([kafka.setOffsets("g", topic, { 0: 1 }), kafka.expire("g")]).toEqual([false, false]);
    foreign.leave();
    await world.until(() => kafka.members("g").length === 0);
    expect(kafka.expire("g")).toBe(true);
    expect(offsetsOf("g")).toEqual({});
    await world.settled(admin.disconnect());
  });
});

describe("a source", () => {
  test.each([1, 3])("opens, joins, reads, commits and closes, with %i brokers", async (brokers) => {
    const { kafka } = begin({ brokers });
    produceAll(10);
    const of = reading();
    await world.until(() => of.read.length === 30);
    await world.settled(of.close());
    expectAllRead(of);
    expect(offsetsOf()).toEqual({ "orders/0": 10, "orders/1": 10, "orders/2": 10 });
    expect([kafka.members(group), kafka.unknown]).toEqual([[], []]);
    await world.clock.pass(1_000);
    expect(world.network.connections).toBe(0);
  });

  test("shares partitions among its members, and with another Sluice's it does not", async () => {
    const { kafka } = begin({ brokers: 2 });
    const of = reading({ replicas: 2 });
    await world.until(() => kafka.members(group).length === 2);
    produceAll(5);
    await world.until(() => of.read.length === 15);
    const foreign = kafka.foreign(group, { clientId: `sluice-consumer-${"b".repeat(16)}-22222222-1`, topics: [topic] });
    await world.until(() => of.heardOf("paused").length > 0);
    expect(of.heardOf("paused").at(-1)).toMatchObject({ pause: { class: "owner" } });
    foreign.leave();
    await world.until(() => of.heardOf("wentOn").length > 0, 300_000);
    produceAll(5, "b");
    await world.until(() => of.read.length === 30);
    expectAllRead(of);
    await world.settled(of.close());
  });

  test("counts a commit of a foreign member for nothing, and goes on where it was after the offsets expired", async () => {
    const { kafka } = begin();
    produceAll(5);
    const of = reading();
    await world.until(() => of.read.length === 15);
    await world.settled(of.close());
    expect(kafka.expire(group)).toBe(true);
    const foreign = kafka.foreign(group, { clientId: "tool", topics: [topic] });
    await world.until(() => foreign.commit(topic, 0, 2, "mine"));
    const again = reading({ journal: of.journal });
    await world.until(() => again.heardOf("strangers").length > 0);
    foreign.leave();
    produceAll(5, "b");
    await world.until(() => again.read.length === 15);
    expect(again.offsets()).toEqual({ 0: [5, 6, 7, 8, 9], 1: [5, 6, 7, 8, 9], 2: [5, 6, 7, 8, 9] });
    await world.settled(again.close());
  });

  test("goes on where a person has moved the group", async () => {
    const { kafka } = begin();
    produceAll(5);
    const of = reading();
    await world.until(() => of.read.length === 15);
    await world.settled(of.close());
    expect(kafka.setOffsets(group, topic, { 1: 2 })).toBe(true);
    const again = reading({ journal: of.journal });
    await world.until(() => again.read.length === 3);
    expect(again.offsets()).toEqual({ 1: [2, 3, 4] });
    await world.settled(again.close());
  });

  test("reads what compaction, gaps and aborted transactions leave", async () => {
    const { kafka } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, some(6));
    kafka.compact(topic, 0, [1, 2, 5]);
    kafka.produce(topic, 0, some(3, "b"), { gap: 4 });
    kafka.produce(topic, 0, some(3, "lost"), { transaction: "aborted" });
    kafka.produce(topic, 0, some(2, "c"), { transaction: "committed" });
    const of = reading();
    await world.until(() => of.read.length === 8);
    expect(of.offsets()).toEqual({ 0: [0, 3, 4, 10, 11, 12, 17, 18] });
    await world.settled(of.close());
    expect(offsetsOf()).toEqual({ "orders/0": 20 });
    expect(kafka.truth.records.filter(({ lost }) => lost?.by === "compaction").map(({ offset }) => offset)).toEqual([
      1, 2, 5,
    ]);
  });

  test("meets a log whose start has moved beyond it, and what is lost is known", async () => {
    const { kafka } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, some(5));
    const of = reading();
    await world.until(() => of.read.length === 5);
    await world.settled(of.close());
    kafka.produce(topic, 0, some(5, "b"));
    expect(kafka.retain(topic, 0, 8)).toBe(8);
    const again = reading({ journal: of.journal, options: { on_lost: "skip" } });
    await world.until(() => again.read.length === 2);
    expect(again.heardOf("positionsSkipped")).toMatchObject([{ partition: 0, from: 5, to: 8 }]);
    const due = kafka.truth.dueTo(group).map(({ offset }) => offset);
    expect(due).toEqual([0, 1, 2, 3, 4, 8, 9]);
    await world.settled(again.close());
  });

  test("meets a log whose end was cut off, and one that was made anew with another id", async () => {
    const { kafka } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, some(5));
    kafka.produce(topic, 0, some(5, "b"));
    const of = reading();
    await world.until(() => of.read.length === 10);
    await world.settled(of.close());
    // Batches go whole.
    expect(kafka.truncate(topic, 0, 7)).toBe(5);
    const again = reading({ journal: of.journal });
    await world.until(() => again.heardOf("paused").length > 0);
    expect(again.heardOf("paused")[0]).toMatchObject({ pause: { class: "lost" } });
    await world.settled(again.close());
    expect(kafka.truth.records.filter(({ lost }) => lost?.by === "truncation")).toHaveLength(5);
    const before = kafka.topicId(topic);
    kafka.recreate(topic);
    expect(kafka.topicId(topic)).not.toBe(before);
    expect([kafka.ends(topic, 0), offsetsOf()]).toEqual([{ start: 0, stable: 0, end: 0 }, {}]);
    expect(kafka.truth.dueTo(group)).toHaveLength(10);
  });

  test("reads partitions that a topic grows by", async () => {
    const { kafka } = begin({ brokers: 2 });
    produceAll(1);
    const of = reading();
    await world.until(() => of.read.length === 3);
    kafka.grow(topic, 5);
    kafka.produce(topic, 4, some(2, "new"));
    await world.until(() => of.read.length === 5, 200_000);
    expect(of.offsets()[4]).toEqual([0, 1]);
    await world.settled(of.close());
  });
});

describe("a source goes on", () => {
  const errors: [RequestName, Trouble][] = [
    ["Fetch", { kind: "error", code: "NOT_LEADER_OR_FOLLOWER" }],
    ["Fetch", { kind: "error", code: "KAFKA_STORAGE_ERROR" }],
    ["Fetch", { kind: "empty" }],
    ["ListOffsets", { kind: "error", code: "NOT_LEADER_OR_FOLLOWER" }],
    ["Metadata", { kind: "error", code: "LEADER_NOT_AVAILABLE" }],
    ["FindCoordinator", { kind: "error", code: "COORDINATOR_NOT_AVAILABLE" }],
    ["OffsetFetch", { kind: "error", code: "COORDINATOR_LOAD_IN_PROGRESS" }],
    ["DescribeGroups", { kind: "error", code: "NOT_COORDINATOR" }],
    ["JoinGroup", { kind: "error", code: "COORDINATOR_LOAD_IN_PROGRESS" }],
    ["SyncGroup", { kind: "error", code: "REBALANCE_IN_PROGRESS" }],
    ["OffsetCommit", { kind: "error", code: "ILLEGAL_GENERATION" }],
    ["Heartbeat", { kind: "error", code: "UNKNOWN_MEMBER_ID" }],
  ];
  const ways: [RequestName, Trouble][] = (["Fetch", "OffsetCommit", "JoinGroup", "Metadata"] as const).flatMap(
    (name) => [
      [name, { kind: "slow", milliseconds: 4_000 }],
      [name, { kind: "cut" }],
      [name, { kind: "silent" }],
    ],
  );

  test.each([...errors, ...ways])("after %s meets %j", async (name, trouble) => {
    const { kafka } = begin({ brokers: 2 });
    produceAll(5);
    kafka.trouble(name, trouble, { times: 2 });
    const of = reading();
    const isMet = (): boolean => kafka.met.get(troubleText(name, trouble)) === 2;
    await world.until(() => of.read.length === 15 && isMet(), 2_000_000);
    produceAll(5, "b");
    await world.until(() => of.read.length === 30, 2_000_000);
    expectAllRead(of);
    await world.until(() => Object.values(offsetsOf()).every((offset) => offset === 10), 60_000);
    await world.settled(of.close());
  });

  test.each(["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"] as const)(
    "after it was kicked, and met %s when it joined again",
    async (code) => {
      const { kafka, clock } = begin();
      produceAll(5);
      const of = reading();
      await world.until(() => of.read.length === 15);
      kafka.trouble("JoinGroup", { kind: "error", code });
      expect(kafka.rebalance(group)).toBe(true);
      await clock.pass(60_000);
      produceAll(5, "b");
      await world.until(() => of.read.length === 30);
      await world.until(() => Object.values(offsetsOf()).every((offset) => offset === 10), 300_000);
      expectAllRead(of);
      expect(kafka.members(group)).toHaveLength(1);
      await world.settled(of.close());
    },
  );

  test("after its member was refused a dozen times, of which nothing stays", async () => {
    const { kafka } = begin();
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on("warning", note);
    kafka.trouble("JoinGroup", { kind: "error", code: "GROUP_AUTHORIZATION_FAILED" }, { times: 12 });
    produceAll(5);
    const of = reading();
    await world.until(() => of.read.length === 15, 600_000);
    await world.settled(of.close());
    process.off("warning", note);
    expect(warnings).toEqual([]);
    expect(kafka.met.get("JoinGroup: GROUP_AUTHORIZATION_FAILED")).toBe(12);
  });

  test("after a node is gone, and when it comes back", async () => {
    const { kafka } = begin({ brokers: 3, metadataLag: 500 });
    produceAll(5);
    const of = reading();
    await world.until(() => of.read.length === 15);
    for (const node of [1, 2, 3]) {
      kafka.down(node);
      produceAll(5, `down${node}`);
      await world.until(() => of.read.length === 15 + 30 * node - 15, 300_000);
      expect([0, 1, 2].map((partition) => kafka.leader(topic, partition))).not.toContain(node);
      expect(kafka.coordinator(group)).not.toBe(node);
      kafka.up(node);
      produceAll(5, `up${node}`);
      await world.until(() => of.read.length === 15 + 30 * node, 300_000);
    }
    expectAllRead(of);
    await world.settled(of.close());
  });

  test("after the only node was away, which refuses or is silent meanwhile", async () => {
    const { kafka, network, clock } = begin();
    produceAll(5);
    const of = reading();
    await world.until(() => of.read.length === 15);
    kafka.down(1);
    await clock.pass(40_000);
    kafka.up(1);
    produceAll(5, "b");
    await world.until(() => of.read.length === 30, 300_000);
    network.set(kafka.address(1), { isSilent: true });
    await clock.pass(100_000);
    network.set(kafka.address(1), { isSilent: false });
    network.reset(kafka.address(1));
    produceAll(5, "c");
    await world.until(() => of.read.length === 45, 300_000);
    expectAllRead(of);
    expect(kafka.met.get("member expired")).toBe(2);
    await world.settled(of.close());
  });

  test("after leaders and the coordinator move, and after it was kicked", async () => {
    const { kafka, clock } = begin({ brokers: 3, metadataLag: 2_000 });
    produceAll(5);
    const of = reading();
    await world.until(() => of.read.length === 15);
    kafka.moveLeader(topic, 0, (kafka.leader(topic, 0) % 3) + 1);
    kafka.moveCoordinator(group, (kafka.coordinator(group) % 3) + 1, 3_000);
    produceAll(5, "b");
    await world.until(() => of.read.length === 30, 300_000);
    await clock.pass(20_000);
    expect(kafka.rebalance(group)).toBe(true);
    await clock.pass(20_000);
    produceAll(5, "c");
    await world.until(() => of.read.length === 45, 300_000);
    expectAllRead(of);
    expect(kafka.members(group)).toHaveLength(1);
    await world.settled(of.close());
  });
});

describe("a world of one seed", () => {
  async function trace(seed: number): Promise<{ trace: string[]; read: string[] }> {
    const { kafka, draw, clock } = begin({ brokers: 3, metadataLag: 1_000 }, seed);
    const of = reading({ replicas: 2 });
    for (let step = 0; step < 10; step += 1) {
      kafka.produce(topic, draw(3), some(1 + draw(5), `s${step}`));
      if (draw(3) === 0) kafka.moveLeader(topic, draw(3), 1 + draw(3));
      if (draw(4) === 0) kafka.rebalance(group);
      if (draw(4) === 0) kafka.trouble("Fetch", { kind: "cut" });
      await clock.pass(draw(3_000));
    }
    await world.until(() => of.read.length === kafka.truth.records.length, 300_000);
    expectAllRead(of);
    await world.settled(of.close());
    world.end();
    return { trace: kafka.trace, read: of.read };
  }

  test("is the same each time, and another one of another seed", async () => {
    const [first, again, other] = [await trace(7), await trace(7), await trace(8)];
    expect(again).toEqual(first);
    expect(other.trace).not.toEqual(first.trace);
  });
});
