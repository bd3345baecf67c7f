import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Pause } from "../../../engine/core/pause.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { group, KafkaWorld, some, topic, type Reading } from "./kafka-world.ts";

let world: KafkaWorld;

// What is loaded from files is loaded before time is simulated.
beforeAll(async () => {
  await Codecs.load();
});
afterEach(() => {
  world.end();
});

function begin(options: Partial<SimulatedKafkaOptions> = {}): KafkaWorld {
  world = new KafkaWorld(1, { topics: { orders: 3 }, brokers: 3, ...options });
  return world;
}

function pausesOf(of: Reading): string[] {
  return of.heardOf("paused").map(({ pause }) => (pause as Pause).text);
}

/** How many events were read of each partition. */
function counts(of: Reading): Record<number, number> {
  return Object.fromEntries(Object.entries(of.offsets()).map(([partition, offsets]) => [partition, offsets.length]));
}

/** The node that leads the second partition is gone. */
async function oneAway(): Promise<number> {
  const { kafka, clock } = begin({ isReplicated: false });
  world.produceAll(5);
  const node = kafka.leader(topic, 1);
  if (kafka.coordinator(group) === node) kafka.moveCoordinator(group, (node % 3) + 1);
  kafka.down(node);
  await clock.pass(2_000);
  return node;
}

describe("a partition whose only node is away", () => {
  test("keeps no other from being read by a new pipeline, and begins where that says when it is back", async () => {
    const node = await oneAway();
    const of = world.reading();
    await world.until(() => of.read.length === 10);
    expect(counts(of)).toEqual({ 0: 5, 2: 5 });
    await world.until(() => pausesOf(of).length > 0);
    expect(pausesOf(of)).toEqual(["partition 1 of topic orders: expected a leader, found none"]);
    world.kafka.up(node);
    await world.until(() => of.read.length === 15, 5_000);
    expect(of.heardOf("pauseEnded")).toHaveLength(1);
    await world.settled(of.close());
  });

  test("nor by one that begins with the latest: what comes later is read, and nothing from before", async () => {
    const node = await oneAway();
    const of = world.reading({ start: "latest" });
    await world.until(() => pausesOf(of).length > 0);
    world.kafka.up(node);
    world.produceAll(2, "b");
    await world.until(() => of.read.length === 6, 10_000);
    expect(of.offsets()).toEqual({ 0: [5, 6], 1: [5, 6], 2: [5, 6] });
    await world.settled(of.close());
  });

  test("nor after a restart, nor while it runs", async () => {
    const { kafka } = begin({ isReplicated: false });
    world.produceAll(5);
    const before = world.reading();
    await world.until(() => before.read.length === 15);
    const node = kafka.leader(topic, 1);
    if (kafka.coordinator(group) === node) kafka.moveCoordinator(group, (node % 3) + 1);
    kafka.down(node);
    for (const partition of [0, 2]) kafka.produce(topic, partition, some(3, "b"));
    await world.until(() => before.read.length === 21);
    await world.settled(before.close());
    for (const partition of [0, 2]) kafka.produce(topic, partition, some(3, "c"));
    const of = world.reading({ journal: before.journal });
    await world.until(() => of.read.length === 6);
    kafka.up(node);
    kafka.produce(topic, 1, some(3, "d"));
    await world.until(() => of.read.length === 9, 10_000);
    expect(of.offsets()).toEqual({ 0: [8, 9, 10], 1: [5, 6, 7], 2: [8, 9, 10] });
    await world.settled(of.close());
  });
});

/** Ten events were read of a partition; a node that has six of them leads, and writes ten others. */
function replaced(): void {
  const { kafka } = world;
  kafka.truncate(topic, 0, 6, (kafka.leader(topic, 0) % 3) + 1);
  kafka.produce(topic, 0, some(10, "other"));
}

async function readTen(options: Parameters<KafkaWorld["reading"]>[0] = {}): Promise<Reading> {
  begin({ metadataLag: 500 });
  // Batches of two: an election cuts between batches.
  for (let at = 0; at < 5; at += 1) world.kafka.produce(topic, 0, some(2, `a${at}`));
  const of = world.reading(options);
  await world.until(() => of.read.length === 10);
  return of;
}

describe("a log whose end another one has replaced", () => {
  const others = Array.from({ length: 10 }, (_, at) => `orders/0/${6 + at} other-${at}`);

  test("is read from where they part, though it has grown past what was read", async () => {
    const of = await readTen({ options: { on_lost: "skip" } });
    replaced();
    await world.until(() => of.read.length === 20, 30_000);
    expect(of.read.slice(10)).toEqual(others);
    expect(of.heardOf("logCut")).toEqual([{ pipeline_id: "orders", topic, partition: 0, from: 10, to: 6 }]);
    await world.settled(of.close());
  });

  test("is a pause where nobody has said to go on", async () => {
    const of = await readTen();
    replaced();
    await world.until(() => pausesOf(of).length > 0, 30_000);
    expect(pausesOf(of)).toEqual([
      "partition 0 of topic orders goes on at offset 10, and its log ended at 6: events were lost there, or the topic is another one",
    ]);
    await world.clock.pass(120_000);
    expect(of.read).toHaveLength(10);
    await world.settled(of.close());
  });

  test("also while nothing was running", async () => {
    const before = await readTen();
    await world.settled(before.close());
    replaced();
    const of = world.reading({ journal: before.journal, options: { on_lost: "skip" } });
    await world.until(() => of.read.length === 10, 30_000);
    expect(of.read).toEqual(others);
    await world.settled(of.close());
  });

  test("and an election that keeps what was read is none", async () => {
    const of = await readTen();
    const { kafka } = world;
    kafka.truncate(topic, 0, 10, (kafka.leader(topic, 0) % 3) + 1);
    kafka.produce(topic, 0, some(3, "b"));
    await world.until(() => of.read.length === 13, 30_000);
    kafka.retain(topic, 0, 13);
    kafka.truncate(topic, 0, 13, (kafka.leader(topic, 0) % 3) + 1);
    kafka.produce(topic, 0, some(3, "c"));
    await world.until(() => of.read.length === 16, 30_000);
    expect(pausesOf(of)).toEqual([]);
    await world.settled(of.close());
  });
});

async function stopped(): Promise<Reading> {
  begin();
  world.produceAll(5);
  const of = world.reading();
  await world.until(() => of.read.length === 15);
  await world.settled(of.close());
  await world.clock.pass(60_000);
  return of;
}

/** What a start reads, of which the group was committed at the end. */
async function readAfter(before: Reading): Promise<Reading> {
  const of = world.reading({ journal: before.journal });
  await world.clock.pass(30_000);
  await world.settled(of.close());
  return of;
}

describe("offsets in the group that are no claims, while the pipeline is stopped", () => {
  const member = { clientId: "another", topics: [topic] };

  test.each([false, true])("by a consumer that is there, by the new protocol: %s, move nothing", async (isConsumer) => {
    const before = await stopped();
    const other = world.kafka.foreign(group, { ...member, isConsumer });
    await world.clock.pass(10_000);
    world.produceAll(3, "b");
    for (const partition of [0, 1, 2]) expect(other.commit(topic, partition, 8)).toBe(true);
    const of = await readAfter(before);
    expect(of.heardOf("positionMoved")).toEqual([]);
    const ignored = of.heardOf("foreignCommit").map(({ partition }) => partition);
    expect(new Set(ignored)).toEqual(new Set([0, 1, 2]));
    expect(of.heardOf("foreignMembers").at(-1)).toMatchObject({ members: ["another"] });
    other.leave();
  });

  test("nor by one that brokers do not name", async () => {
    const before = await stopped();
    const { kafka } = world;
    const other = kafka.foreign(group, { ...member, isConsumer: true });
    await world.clock.pass(10_000);
    world.produceAll(3, "b");
    for (const partition of [0, 1, 2]) other.commit(topic, partition, 8, { isOld: true });
    kafka.trouble("ConsumerGroupDescribe", { kind: "error", code: "TOPIC_AUTHORIZATION_FAILED" }, { times: 1_000 });
    const of = await readAfter(before);
    expect(of.heardOf("positionMoved")).toEqual([]);
    expect(of.heardOf("foreignMembers").at(-1)).toMatchObject({ members: ["members that cannot be read"] });
    other.leave();
  });

  test("nor by one that has gone since", async () => {
    const before = await stopped();
    const other = world.kafka.foreign(group, member);
    await world.clock.pass(10_000);
    world.produceAll(3, "b");
    for (const partition of [0, 1, 2]) other.commit(topic, partition, 8);
    other.leave();
    const of = await readAfter(before);
    expect(of.heardOf("positionMoved")).toEqual([]);
    expect(of.read).toHaveLength(9);
  });

  test("by a person move the pipeline", async () => {
    const before = await stopped();
    world.produceAll(3, "b");
    expect(world.kafka.setOffsets(group, topic, { 0: 7, 1: 7, 2: 7 })).toBe(true);
    const of = await readAfter(before);
    expect(of.heardOf("positionMoved")).toHaveLength(3);
    expect(of.read).toHaveLength(3);
  });
});
