import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Pause } from "../../../engine/core/pause.ts";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { Group } from "../../../engine/sources/kafka/group/group.ts";
import { clientId } from "../../../engine/sources/kafka/group/identity.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import { keptLog } from "../../support/engine.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { dataDir, group, KafkaWorld, type Reading, some, type SourceOptions, topic } from "./kafka-world.ts";

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

/** The next run of a data dir, whose last one was killed. */
function nextRun(of: Reading, options: SourceOptions = {}): Reading {
  return world.reading({ journal: of.journal, run: "22222222", earlier: ["11111111"], ...options });
}

describe("a run that was killed", () => {
  test.each([1, 3])("leaves %i places that the next run takes while their sessions are open", async (replicas) => {
    const { kafka } = begin({ brokers: 2 });
    world.produceAll(5);
    const of = world.reading({ replicas });
    await world.until(() => of.read.length === 15 && kafka.members(group).length === replicas);
    of.kill();
    world.produceAll(5, "b");
    const again = nextRun(of, { replicas });
    await world.until(() => of.read.length + again.read.length === 30, 12_000);
    expect([...of.read, ...again.read].toSorted()).toEqual(world.due());
    expect([kafka.met.get("member expired"), kafka.unknown]).toEqual([undefined, []]);
    // A place keeps the client id of the run that came first.
    const numbers = Array.from({ length: replicas }, (_, at) => at + 1);
    const namesOf = (run: string): string[] => numbers.map((number) => clientId({ dataDir, run }, number));
    expect(kafka.members(group).toSorted()).toEqual(namesOf("11111111"));
    const connection = kafkaClient(kafka.connection, "test", keptLog(), kafka.socketFactory);
    const brokers = new Brokers(connection, defaultKafkaSettings);
    const { members } = await world.settled(new Group(brokers, group, [topic]).read());
    expect(members!.toSorted()).toEqual(namesOf("22222222"));
    await world.settled(brokers.close());
    await world.settled(again.close());
    expect(kafka.members(group)).toEqual([]);
  });
});

describe("the next run of a data dir", () => {
  test("reads the topics and partitions that were added while its ghost was in the group", async () => {
    const { kafka } = begin({ topics: { orders: 3, returns: 2 } });
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => of.read.length === 15);
    of.kill();
    kafka.grow(topic, 5);
    for (const partition of [3, 4]) kafka.produce(topic, partition, some(5, "grown"));
    for (const partition of [0, 1]) kafka.produce("returns", partition, some(5, "returned"));
    const again = nextRun(of, { topics: [topic, "returns"] });
    await world.until(() => again.read.length === 20, 12_000);
    expect([...of.read, ...again.read].toSorted()).toEqual(world.due());
    expect(kafka.met.get("member expired")).toBeUndefined();
    await world.settled(again.close());
  });

  test("waits for its ghost where brokers know no static members", async () => {
    const { kafka } = begin({ hasStaticMembers: false });
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => of.read.length === 15);
    of.kill();
    world.produceAll(5, "b");
    const again = nextRun(of);
    await world.clock.pass(20_000);
    expect([again.read, kafka.members(group).length]).toEqual([[], 2]);
    await world.until(() => again.read.length === 15, 30_000);
    expect([...of.read, ...again.read].toSorted()).toEqual(world.due());
    expect([kafka.met.get("member expired"), kafka.unknown]).toEqual([1, []]);
    await world.settled(again.close());
    expect(kafka.members(group)).toEqual([]);
  });

  test("is no static member in a cluster that knows none yet, though its brokers do", async () => {
    const { kafka } = begin();
    kafka.trouble("JoinGroup", { kind: "error", code: "UNSUPPORTED_VERSION" });
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => of.read.length === 15);
    expect(kafka.met.get("JoinGroup: MEMBER_ID_REQUIRED")).toBe(1);
    await world.settled(of.close());
    expect([kafka.members(group), Object.values(world.offsetsOf())]).toEqual([[], [5, 5, 5]]);
  });

  test("has fewer members: what the others had is read once their sessions are over", async () => {
    const { kafka } = begin();
    world.produceAll(5);
    const of = world.reading({ replicas: 3 });
    await world.until(() => of.read.length === 15 && kafka.members(group).length === 3);
    of.kill();
    world.produceAll(5, "b");
    const again = nextRun(of, { replicas: 1 });
    await world.until(() => of.read.length + again.read.length === 30, 90_000);
    expect([...of.read, ...again.read].toSorted()).toEqual(world.due());
    await world.settled(again.close());
  });

  test("leaves the group when it stops, also while its join waits", async () => {
    const { kafka } = begin();
    const of = world.reading();
    await world.until(() => kafka.members(group).length === 1);
    await world.settled(of.close());
    expect(kafka.setOffsets(group, topic, { 0: 0 })).toBe(true);
    const foreign = kafka.foreign(group, { clientId: "other", topics: [topic] });
    await world.until(() => kafka.members(group).length === 1);
    await world.clock.pass(1_000);
    foreign.die();
    const again = nextRun(of);
    await world.until(() => kafka.members(group).length === 2);
    await world.settled(again.close());
    expect(kafka.members(group)).toEqual(["other"]);
  });

  test("keeps its place while the coordinator of its group goes from node to node", async () => {
    const { kafka } = begin({ brokers: 3, metadataLag: 500 });
    world.produceAll(5);
    const of = world.reading({ replicas: 2 });
    await world.until(() => of.read.length === 15 && kafka.members(group).length === 2);
    of.kill();
    const again = nextRun(of, { replicas: 2 });
    for (const node of [1, 2, 3]) {
      kafka.down(node);
      world.produceAll(5, `down${node}`);
      await world.until(() => again.read.length === 15 * node, 60_000);
      kafka.up(node);
      await world.clock.pass(5_000);
    }
    expect([...of.read, ...again.read].toSorted()).toEqual(world.due());
    expect([kafka.members(group).length, kafka.met.get("member expired")]).toEqual([2, undefined]);
    await world.settled(again.close());
  });
});

/** Pauses because another Sluice owns the group. */
function ownersOf(of: Reading): Pause[] {
  return of.heardOf("paused").flatMap(({ pause }) => ((pause as Pause).class === "owner" ? [pause as Pause] : []));
}

function isPaused(of: Reading): boolean {
  return ownersOf(of).length > 0;
}

describe("a copy of a data dir that takes the places of the original", () => {
  test.each([1, 2])("gets the group, where that has written nothing meanwhile, with %i members", async (replicas) => {
    const { kafka } = begin({ brokers: 2 });
    world.produceAll(5);
    const of = world.reading({ replicas });
    await world.until(() => of.read.length === 15 && Object.keys(world.offsetsOf()).length === 3);
    await world.clock.pass(5_000);
    const copy = nextRun(of, { replicas, journal: of.journal.copy() });
    await world.until(() => isPaused(of));
    expect(ownersOf(of)[0]!.text).toContain("run 22222222");
    world.produceAll(5, "b");
    await world.until(() => copy.read.length === 15, 60_000);
    await world.clock.pass(120_000);
    expect([...of.read, ...copy.read].toSorted()).toEqual(world.due());
    expect(kafka.met.get("member replaced")).toBeLessThanOrEqual(replicas);
    expect([isPaused(copy), kafka.members(group).length]).toEqual([false, replicas]);
    await world.settled(Promise.all([of.close(), copy.close()]));
  });

  /** Over a slow network the heartbeats of both may pass each other, and a start takes longer. */
  const networks = { fast: { latency: [0, 2], start: 0 }, slow: { latency: [20, 120], start: 1_000 } } as const;
  const cases = (Object.keys(networks) as (keyof typeof networks)[]).flatMap((network) =>
    Array.from({ length: 16 }, (_, at) => [network, (at % 4) * 500 + 100, at * 190] as const),
  );

  test.each(cases)(
    "doubles nothing where that goes on to write (%s): events come %i ms after its start, %i ms after a heartbeat",
    async (way, after, phase) => {
      const { kafka, network } = begin({ brokers: 2 });
      const { latency, start } = networks[way];
      for (const node of [1, 2]) network.set(kafka.address(node), { latency });
      world.produceAll(5);
      const of = world.reading();
      await world.until(() => of.read.length === 15 && Object.keys(world.offsetsOf()).length === 3);
      const beats = (): number => kafka.met.get("Heartbeat") ?? 0;
      const before = beats();
      await world.until(() => beats() === before + 2);
      await world.clock.pass(phase);
      const copy = nextRun(of, { journal: of.journal.copy() });
      await world.clock.pass(start + after);
      for (let turn = 0; turn < 10; turn += 1) {
        world.produceAll(5, `b${turn}`);
        await world.clock.pass(500);
      }
      await world.until(() => of.read.length + copy.read.length >= 165, 120_000);
      await world.clock.pass(60_000);
      expect([...of.read, ...copy.read].toSorted()).toEqual(world.due());
      // Who is fenced comes back without an instance id: neither takes the place from the other again and again.
      expect(kafka.met.get("member replaced") ?? 0).toBeLessThanOrEqual(1);
      expect([isPaused(of), isPaused(copy)]).toContain(true);
      await world.settled(Promise.all([of.close(), copy.close()]));
    },
  );
});
