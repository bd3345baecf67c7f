import type { Consumer } from "kafkajs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { group, KafkaWorld, some, topic } from "./kafka-world.ts";

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
    world.produceAll(5);
    const one = await member("one");
    await world.until(() => one.read.length === 15);
    const other = await member("other");
    await world.until(() => one.partitions.length + other.partitions.length === 3 && one.partitions.length < 3);
    expect([...one.partitions, ...other.partitions].toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
    expect(kafka.members("g")).toEqual(["one", "other"]);
    world.produceAll(5, "b");
    await world.until(() => one.read.length + other.read.length === 30);
    await world.settled(other.consumer.disconnect());
    await world.until(() => one.partitions.length === 3);
    await world.settled(one.consumer.disconnect());
    expect(world.offsetsOf("g")).toEqual({ "orders/0": 10, "orders/1": 10, "orders/2": 10 });
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
  // Within the length, behind it, within and behind the number of the request, and within what it says.
  test.each([1, 4, 7, 8, 20])("understands the next answer after one that broke off behind byte %i", async (after) => {
    const { kafka } = begin();
    const admin = world.client().admin();
    await world.settled(admin.connect());
    kafka.produce(topic, 0, some(5));
    kafka.trouble("ListOffsets", { kind: "cut", after });
    await expect(world.settled(admin.fetchTopicOffsets(topic))).rejects.toThrow("ECONNRESET");
    const ends = await world.settled(admin.fetchTopicOffsets(topic));
    expect(ends.find(({ partition }) => partition === 0)).toMatchObject({ low: "0", high: "5" });
    await world.settled(admin.disconnect());
  });

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
      groups: [{ state: "Dead", members: [] }],
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
    expect(world.offsetsOf("g")).toEqual({ "orders/1": 7 });
    expect(kafka.setOffsets("g", topic, { 0: 3 })).toBe(true);
    expect(world.offsetsOf("g")).toEqual({ "orders/0": 3, "orders/1": 7 });
    const found = await world.settled(admin.fetchOffsets({ groupId: "g", topics: [topic] }));
    expect(found[0]!.partitions.map(({ offset }) => offset).toSorted()).toEqual(["-1", "3", "7"]);
    const foreign = kafka.foreign("g", { clientId: "other", topics: [topic] });
    await world.until(() => kafka.members("g").length === 1);
    expect([kafka.setOffsets("g", topic, { 0: 1 }), kafka.expire("g")]).toEqual([false, false]);
    foreign.leave();
    await world.until(() => kafka.members("g").length === 0);
    expect(kafka.expire("g")).toBe(true);
    expect(world.offsetsOf("g")).toEqual({});
    await world.settled(admin.disconnect());
  });
});

describe("a source", () => {
  test.each([1, 3])("opens, joins, reads, commits and closes, with %i brokers", async (brokers) => {
    const { kafka } = begin({ brokers });
    world.produceAll(10);
    const of = world.reading();
    await world.until(() => of.read.length === 30);
    await world.settled(of.close());
    expect(of.read.toSorted()).toEqual(world.due());
    expect(world.offsetsOf()).toEqual({ "orders/0": 10, "orders/1": 10, "orders/2": 10 });
    expect([kafka.members(group), kafka.unknown]).toEqual([[], []]);
    await world.clock.pass(1_000);
    expect(world.network.connections).toBe(0);
  });

  test("shares partitions among its members, and with another Sluice's it does not", async () => {
    const { kafka } = begin({ brokers: 2 });
    const of = world.reading({ replicas: 2 });
    await world.until(() => kafka.members(group).length === 2);
    world.produceAll(5);
    await world.until(() => of.read.length === 15);
    const foreign = kafka.foreign(group, { clientId: `sluice-consumer-${"b".repeat(16)}-22222222-1`, topics: [topic] });
    await world.until(() => of.heardOf("paused").length > 0);
    expect(of.heardOf("paused").at(-1)).toMatchObject({ pause: { class: "owner" } });
    foreign.leave();
    await world.until(() => of.heardOf("pauseEnded").length > 0, 300_000);
    world.produceAll(5, "b");
    await world.until(() => of.read.length === 30);
    expect(of.read.toSorted()).toEqual(world.due());
    await world.settled(of.close());
  });

  test(
    "counts a commit of a foreign member for nothing, and goes on where it was after the offsets expired",
    { tags: ["rest"] },
    async () => {
      const { kafka } = begin();
      world.produceAll(5);
      const of = world.reading();
      await world.until(() => of.read.length === 15);
      await world.settled(of.close());
      expect(kafka.expire(group)).toBe(true);
      const foreign = kafka.foreign(group, { clientId: "tool", topics: [topic] });
      await world.until(() => foreign.commit(topic, 0, 2, { metadata: "mine" }));
      const again = world.reading({ journal: of.journal });
      await world.until(() => again.heardOf("foreignMembers").length > 0);
      foreign.leave();
      world.produceAll(5, "b");
      await world.until(() => again.read.length === 15);
      expect(again.offsets()).toEqual({ 0: [5, 6, 7, 8, 9], 1: [5, 6, 7, 8, 9], 2: [5, 6, 7, 8, 9] });
      await world.settled(again.close());
    },
  );

  test("goes on where a person has moved the group", async () => {
    const { kafka } = begin();
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => of.read.length === 15);
    await world.settled(of.close());
    expect(kafka.setOffsets(group, topic, { 1: 2 })).toBe(true);
    const again = world.reading({ journal: of.journal });
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
    const of = world.reading();
    await world.until(() => of.read.length === 8);
    expect(of.offsets()).toEqual({ 0: [0, 3, 4, 10, 11, 12, 17, 18] });
    await world.settled(of.close());
    expect(world.offsetsOf()).toEqual({ "orders/0": 20 });
    expect(kafka.truth.records.filter(({ lost }) => lost?.by === "compaction").map(({ offset }) => offset)).toEqual([
      1, 2, 5,
    ]);
  });

  test("meets a log whose start has moved beyond it, and what is lost is known", async () => {
    const { kafka } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, some(5));
    const of = world.reading();
    await world.until(() => of.read.length === 5);
    await world.settled(of.close());
    kafka.produce(topic, 0, some(5, "b"));
    expect(kafka.retain(topic, 0, 8)).toBe(8);
    const again = world.reading({ journal: of.journal, options: { on_lost: "skip" } });
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
    const of = world.reading();
    await world.until(() => of.read.length === 10);
    await world.settled(of.close());
    // Batches go whole.
    expect(kafka.truncate(topic, 0, 7)).toBe(5);
    const again = world.reading({ journal: of.journal });
    await world.until(() => again.heardOf("paused").length > 0);
    expect(again.heardOf("paused")[0]).toMatchObject({ pause: { class: "lost" } });
    await world.settled(again.close());
    expect(kafka.truth.records.filter(({ lost }) => lost?.by === "truncation")).toHaveLength(5);
    const before = kafka.topicId(topic);
    kafka.recreate(topic);
    expect(kafka.topicId(topic)).not.toBe(before);
    expect([kafka.ends(topic, 0), world.offsetsOf()]).toEqual([{ start: 0, stable: 0, end: 0 }, {}]);
    expect(kafka.truth.dueTo(group)).toHaveLength(10);
    kafka.produce(topic, 0, some(3, "new"));
    const anew = world.reading({ journal: of.journal, options: { on_lost: "skip" } });
    await world.until(() => anew.read.length === 3);
    expect(anew.offsets()).toEqual({ 0: [0, 1, 2] });
    await world.settled(anew.close());
  });

  test(
    "does not skip what a log lost that has grown again, when the group is shared out anew",
    { tags: ["rest"] },
    async () => {
      const { kafka } = begin({ topics: { orders: 1 } });
      kafka.produce(topic, 0, some(5));
      kafka.produce(topic, 0, some(5, "b"));
      const of = world.reading();
      await world.until(() => of.read.length === 10);
      expect(kafka.truncate(topic, 0, 7)).toBe(5);
      await world.until(() => Object.keys(of.journal.progress().notes?.cutLogs ?? {}).length > 0);
      kafka.produce(topic, 0, some(10, "new"));
      for (const partitions of [2, 3]) {
        kafka.grow(topic, partitions);
        kafka.produce(topic, partitions - 1, some(1, "grown"));
        await world.until(() => of.offsets()[partitions - 1] !== undefined, 200_000);
        await world.clock.pass(60_000);
        expect(of.offsets()[0]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      }
      expect(of.heardOf("paused").at(-1)).toMatchObject({ pause: { class: "lost" } });
      await world.settled(of.close());
      const again = world.reading({ journal: of.journal, options: { on_lost: "skip" } });
      await world.until(() => again.read.length === 10);
      expect(again.offsets()).toEqual({ 0: [5, 6, 7, 8, 9, 10, 11, 12, 13, 14] });
      await world.settled(again.close());
    },
  );

  test("reads a topic that was created again, also where it committed offsets of the former one afterwards", async () => {
    const { kafka } = begin();
    const of = world.reading();
    world.produceAll(5);
    await world.until(() => of.read.length === 15 && Object.keys(world.offsetsOf()).length === 3);
    await world.settled(of.close());
    const { metadata } = [...kafka.committed(group).values()][0]!;
    kafka.recreate(topic);
    // The commit of a batch that was written while the topic was made.
    expect(kafka.setOffsets(group, topic, { 0: 5, 1: 5, 2: 5 }, metadata)).toBe(true);
    world.produceAll(2, "new");
    const { journal } = of;
    for (let turn = 0; turn < 2; turn += 1) {
      const anew = world.reading({ journal, options: { on_lost: "skip" } });
      await world.until(() => Object.values(world.offsetsOf()).join() === "2,2,2", 120_000);
      expect(anew.heardOf("paused").filter(({ pause }) => (pause as { class: string }).class === "owner")).toEqual([]);
      await world.settled(anew.close());
    }
  });

  test("reads partitions that a topic grows by", async () => {
    const { kafka } = begin({ brokers: 2 });
    world.produceAll(1);
    const of = world.reading();
    await world.until(() => of.read.length === 3);
    kafka.grow(topic, 5);
    kafka.produce(topic, 4, some(2, "new"));
    await world.until(() => of.read.length === 5, 200_000);
    expect(of.offsets()[4]).toEqual([0, 1]);
    await world.settled(of.close());
  });
});
