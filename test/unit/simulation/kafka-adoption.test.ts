import { afterEach, beforeAll, expect, test } from "vitest";
import type { Pause } from "../../../engine/core/pause.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { group, KafkaWorld, topic, type Reading, type SourceOptions } from "./kafka-world.ts";

let world: KafkaWorld;

beforeAll(async () => {
  await Codecs.load();
});
afterEach(() => {
  world.end();
});

function begin(options: Partial<SimulatedKafkaOptions> = {}): KafkaWorld {
  world = new KafkaWorld(1, { topics: { [topic]: 3 }, ...options });
  world.produceAll(5);
  return world;
}

const adopting = (of: SourceOptions = {}): Reading => world.reading({ adopted: "loader", ...of });

async function reads(of: Reading, offsets: Record<number, number[]>): Promise<void> {
  const count = Object.values(offsets).flat().length;
  await world.until(() => of.read.length >= count);
  await world.clock.pass(10_000);
  expect(of.offsets()).toEqual(offsets);
}

/** The text of its last pause and what to do. */
const lastPause = (of: Reading): string[] => {
  const { text, way_out } = of.heardOf("paused").at(-1)!["pause"] as Pause;
  return [text, way_out];
};

test("begins where the group that it adopts ends, and where its start says without an offset of it", async () => {
  const { kafka } = begin();
  kafka.setOffsets("loader", topic, { 0: 2, 1: 5 });
  const of = adopting();
  await reads(of, { 0: [2, 3, 4], 2: [0, 1, 2, 3, 4] });
  await world.until(() => Object.values(world.offsetsOf()).every((offset) => offset === 5));
  expect(world.offsetsOf("loader")).toEqual({ "orders/0": 2, "orders/1": 5 });
  await world.settled(of.close());
});

test("goes on where it was itself, whatever the adopted group does later", async () => {
  const { kafka } = begin();
  kafka.setOffsets("loader", topic, { 0: 2, 1: 2, 2: 2 });
  const before = adopting();
  await reads(before, { 0: [2, 3, 4], 1: [2, 3, 4], 2: [2, 3, 4] });
  await world.settled(before.close());
  kafka.setOffsets("loader", topic, { 0: 0, 1: 0, 2: 0 });
  const again = adopting({ journal: before.journal });
  world.produceAll(1, "b");
  await reads(again, { 0: [5], 1: [5], 2: [5] });
  await world.settled(again.close());
});

test("goes on at the offsets of its own group, which has some", async () => {
  const { kafka } = begin();
  kafka.setOffsets("loader", topic, { 0: 1, 1: 1, 2: 1 });
  kafka.setOffsets(group, topic, { 0: 4, 1: 4, 2: 4 });
  const of = adopting();
  await reads(of, { 0: [4], 1: [4], 2: [4] });
  await world.settled(of.close());
});

test("reads nothing while the adopted group has members, and says so; then from where they left it", async () => {
  const { kafka, clock } = begin();
  kafka.setOffsets("loader", topic, { 0: 1, 1: 1, 2: 1 });
  const loader = kafka.foreign("loader", { clientId: "loader-1", topics: [topic] });
  await world.until(() => kafka.members("loader").length === 1);
  const of = adopting();
  await clock.pass(60_000);
  expect(lastPause(of)).toEqual([
    "adopt_group: consumer group loader has a member",
    "end what reads there; it goes on by itself then, from where that ended",
  ]);
  expect(of.read).toEqual([]);
  for (const partition of [0, 1, 2]) await world.until(() => loader.commit(topic, partition, 3));
  loader.leave();
  await reads(of, { 0: [3, 4], 1: [3, 4], 2: [3, 4] });
  await world.settled(of.close());
});

test("reads nothing while the adopted group has no offsets, as one that is misspelt, and says so", async () => {
  const { clock, kafka } = begin();
  const of = adopting();
  await clock.pass(60_000);
  expect(lastPause(of)).toEqual([
    "adopt_group: consumer group loader has no offsets of topic orders",
    "name another group under adopt_group, or none; it goes on by itself where that group gets offsets",
  ]);
  expect(of.read).toEqual([]);
  kafka.setOffsets("loader", topic, { 0: 5, 1: 5, 2: 5 });
  world.produceAll(1, "b");
  await reads(of, { 0: [5], 1: [5], 2: [5] });
  await world.settled(of.close());
});

test("begins in a partition that nobody leads where the adopted group ends, once it is led", async () => {
  const { kafka, clock } = begin({ brokers: 3, metadataLag: 1_000, isReplicated: false });
  kafka.setOffsets("loader", topic, { 0: 2, 1: 2, 2: 2 });
  const node = kafka.leader(topic, 0);
  for (const of of [group, "loader"]) if (kafka.coordinator(of) === node) kafka.moveCoordinator(of, (node % 3) + 1);
  kafka.down(node);
  await clock.pass(2_000);
  const of = adopting();
  await world.until(() => of.read.length === 6);
  kafka.setOffsets("loader", topic, { 0: 0, 1: 0, 2: 0 });
  kafka.up(node);
  await reads(of, { 0: [2, 3, 4], 1: [2, 3, 4], 2: [2, 3, 4] });
  await world.settled(of.close());
});

test("pauses for messages that retention took before the adopted group had read them", async () => {
  const { kafka } = begin();
  kafka.setOffsets("loader", topic, { 0: 1, 1: 1, 2: 1 });
  kafka.retain(topic, 0, 3);
  const of = adopting();
  await world.until(() => of.heardOf("paused").some(({ pause }) => (pause as Pause).class === "lost"));
  expect(of.read).toEqual([]);
  await world.settled(of.close());
});

test("reads with the group that its file names, at its offsets", async () => {
  const { kafka } = begin();
  const own = "data-team.orders";
  kafka.setOffsets(own, topic, { 0: 3, 1: 3, 2: 3 });
  const of = world.reading({ options: { on_lost: "pause", consumer_group: own } });
  await reads(of, { 0: [3, 4], 1: [3, 4], 2: [3, 4] });
  await world.until(() => Object.values(world.offsetsOf(own)).every((offset) => offset === 5));
  expect(kafka.members(own)).toHaveLength(1);
  expect(world.offsetsOf()).toEqual({});
  await world.settled(of.close());
});
