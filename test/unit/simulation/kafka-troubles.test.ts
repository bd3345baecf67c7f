import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Pause } from "../../../engine/core/pause.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import { requests, type RequestName } from "../../support/simulation/kafka/codes.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { drawTrouble, troubleText, type Trouble } from "../../support/simulation/kafka/troubles.ts";
import { group, KafkaWorld, some, topic } from "./kafka-world.ts";

const names = Object.keys(requests) as RequestName[];

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

function ways(...of: RequestName[]): [RequestName, Trouble][] {
  return of.flatMap((name) => [
    [name, { kind: "slow", milliseconds: 4_000 }],
    [name, { kind: "cut" }],
    [name, { kind: "silent" }],
  ]);
}

async function goesOnAfter(name: RequestName, trouble: Trouble): Promise<void> {
  const { kafka } = begin({ brokers: 2 });
  world.produceAll(5);
  // A static member joins by one request.
  const times = name === "JoinGroup" ? 1 : 2;
  kafka.trouble(name, trouble, { times });
  const of = world.reading();
  const isMet = (): boolean => kafka.met.get(troubleText(name, trouble)) === times;
  await world.until(() => of.read.length === 15 && isMet(), 2_000_000);
  world.produceAll(5, "b");
  await world.until(() => of.read.length === 30, 2_000_000);
  expect(of.read.toSorted()).toEqual(world.due());
  await world.until(() => Object.values(world.offsetsOf()).every((offset) => offset === 10), 60_000);
  await world.settled(of.close());
}

describe("a source goes on", () => {
  const errors: [RequestName, Trouble][] = [
    ["Fetch", { kind: "error", code: "NOT_LEADER_OR_FOLLOWER" }],
    ["JoinGroup", { kind: "error", code: "COORDINATOR_LOAD_IN_PROGRESS" }],
    ["OffsetCommit", { kind: "error", code: "ILLEGAL_GENERATION" }],
    ["Heartbeat", { kind: "error", code: "UNKNOWN_MEMBER_ID" }],
  ];
  const others: [RequestName, Trouble][] = [
    ["Fetch", { kind: "empty" }],
    ["ListOffsets", { kind: "error", code: "NOT_LEADER_OR_FOLLOWER" }],
    ["Metadata", { kind: "error", code: "LEADER_NOT_AVAILABLE" }],
    ["SyncGroup", { kind: "error", code: "REBALANCE_IN_PROGRESS" }],
    ["Fetch", { kind: "error", code: "KAFKA_STORAGE_ERROR" }],
    ["FindCoordinator", { kind: "error", code: "COORDINATOR_NOT_AVAILABLE" }],
    ["OffsetFetch", { kind: "error", code: "COORDINATOR_LOAD_IN_PROGRESS" }],
    ["DescribeGroups", { kind: "error", code: "NOT_COORDINATOR" }],
  ];
  test.each([...errors, ...ways("Fetch")])("after %s meets %j", goesOnAfter);

  test.each([...others, ...ways("OffsetCommit", "JoinGroup", "Metadata")])(
    "after %s meets %j",
    { tags: ["rest"] },
    goesOnAfter,
  );

  test.each(["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"] as const)(
    "after it was kicked, and met %s when it joined again",
    async (code) => {
      const { kafka, clock } = begin();
      world.produceAll(5);
      const of = world.reading();
      await world.until(() => of.read.length === 15);
      kafka.trouble("JoinGroup", { kind: "error", code });
      expect(kafka.rebalance(group)).toBe(true);
      await clock.pass(60_000);
      world.produceAll(5, "b");
      await world.until(() => of.read.length === 30);
      await world.until(() => Object.values(world.offsetsOf()).every((offset) => offset === 10), 300_000);
      expect(of.read.toSorted()).toEqual(world.due());
      expect(kafka.members(group)).toHaveLength(1);
      await world.settled(of.close());
    },
  );

  test("after it was kicked and could not join again at once, also while nothing comes", async () => {
    const { kafka, clock } = begin();
    const of = world.reading();
    await world.until(() => kafka.members(group).length === 1);
    await clock.pass(5_000);
    kafka.trouble("JoinGroup", { kind: "error", code: "COORDINATOR_LOAD_IN_PROGRESS" });
    expect(kafka.rebalance(group)).toBe(true);
    expect(kafka.members(group)).toEqual([]);
    await world.until(() => kafka.members(group).length === 1, 5_000);
    await world.settled(of.close());
  });

  test("after its member was refused a dozen times, of which nothing stays", async () => {
    const { kafka } = begin();
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on("warning", note);
    kafka.trouble("JoinGroup", { kind: "error", code: "GROUP_AUTHORIZATION_FAILED" }, { times: 12 });
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => of.read.length === 15, 600_000);
    await world.settled(of.close());
    process.off("warning", note);
    expect(warnings).toEqual([]);
    expect(kafka.met.get("JoinGroup: GROUP_AUTHORIZATION_FAILED")).toBe(12);
  });

  test.each(["ListOffsets", "Metadata"] as const)(
    "after its topic was away, which %s refused, and was created again: only the loss is a pause then",
    async (name) => {
      const { kafka, clock } = begin();
      world.produceAll(5);
      const of = world.reading();
      await world.until(() => of.read.length === 15);
      kafka.recreate(topic);
      kafka.trouble(name, { kind: "error", code: "UNKNOWN_TOPIC_OR_PARTITION" }, { times: 4 });
      await world.until(() => of.heardOf("paused").some(({ pause }) => (pause as Pause).class === "lost"), 300_000);
      await clock.pass(60_000);
      const open = new Set<unknown>();
      for (const [event, fields] of of.heard) {
        if (event === "paused") open.add((fields["pause"] as Pause).class);
        if (event === "pauseEnded") open.delete(fields["class"]);
      }
      expect([...open]).toEqual(["lost"]);
      await world.settled(of.close());
    },
  );

  test("after a node is gone, and when it comes back", async () => {
    const { kafka } = begin({ brokers: 3, metadataLag: 500 });
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => of.read.length === 15);
    for (const node of [1, 2, 3]) {
      kafka.down(node);
      world.produceAll(5, `down${node}`);
      await world.until(() => of.read.length === 15 + 30 * node - 15, 300_000);
      expect([0, 1, 2].map((partition) => kafka.leader(topic, partition))).not.toContain(node);
      expect(kafka.coordinator(group)).not.toBe(node);
      kafka.up(node);
      world.produceAll(5, `up${node}`);
      await world.until(() => of.read.length === 15 + 30 * node, 300_000);
    }
    expect(of.read.toSorted()).toEqual(world.due());
    await world.settled(of.close());
  });

  test("after the only node was away, which refuses or is silent meanwhile", { tags: ["rest"] }, async () => {
    const { kafka, network, clock } = begin();
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => of.read.length === 15);
    kafka.down(1);
    await clock.pass(40_000);
    kafka.up(1);
    world.produceAll(5, "b");
    await world.until(() => of.read.length === 30, 300_000);
    network.set(kafka.address(1), { isSilent: true });
    await clock.pass(100_000);
    network.set(kafka.address(1), { isSilent: false });
    network.reset(kafka.address(1));
    world.produceAll(5, "c");
    await world.until(() => of.read.length === 45, 300_000);
    expect(of.read.toSorted()).toEqual(world.due());
    expect(kafka.met.get("member expired")).toBeGreaterThan(0);
    await world.settled(of.close());
  });

  test("after a heartbeat was answered when its session was over: then it joins again at once", async () => {
    const { kafka, clock } = begin();
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => Object.values(world.offsetsOf()).filter((offset) => offset === 5).length === 3);
    kafka.trouble("Heartbeat", { kind: "slow", milliseconds: 29_000 });
    await world.until(() => kafka.met.get("trouble of Heartbeat: slow") === 1);
    await clock.pass(29_000);
    world.produceAll(5, "b");
    await world.until(() => of.read.length === 30, 2_000);
    expect(of.read.toSorted()).toEqual(world.due());
    await world.settled(of.close());
  });

  test("after a heartbeat was never answered: the next one comes within the session", async () => {
    const { kafka, clock } = begin();
    const of = world.reading();
    await world.until(() => kafka.members(group).length === 1);
    const silent: Trouble = { kind: "silent" };
    kafka.trouble("Heartbeat", silent);
    await world.until(() => kafka.met.get(troubleText("Heartbeat", silent)) === 1);
    await clock.pass(45_000);
    expect(kafka.met.get("member expired")).toBeUndefined();
    expect(of.heardOf("assigned")).toHaveLength(1);
    await world.settled(of.close());
  });

  test("after leaders and the coordinator move, and after it was kicked", async () => {
    const { kafka, clock } = begin({ brokers: 3, metadataLag: 2_000 });
    world.produceAll(5);
    const of = world.reading();
    await world.until(() => of.read.length === 15);
    kafka.moveLeader(topic, 0, (kafka.leader(topic, 0) % 3) + 1);
    kafka.moveCoordinator(group, (kafka.coordinator(group) % 3) + 1, 3_000);
    world.produceAll(5, "b");
    await world.until(() => of.read.length === 30, 300_000);
    await clock.pass(20_000);
    expect(kafka.rebalance(group)).toBe(true);
    await clock.pass(20_000);
    world.produceAll(5, "c");
    await world.until(() => of.read.length === 45, 300_000);
    expect(of.read.toSorted()).toEqual(world.due());
    expect(kafka.members(group)).toHaveLength(1);
    await world.settled(of.close());
  });
});

test("a broker that takes connections and never answers is a pause at once", async () => {
  const { kafka } = begin();
  kafka.trouble("ApiVersions", { kind: "silent" }, { times: 100 });
  const of = world.reading();
  await world.until(() => of.heardOf("paused").length > 0, 10_000);
  await world.settled(of.close());
});

/** One thing that a seed draws: what is written, moved, kicked, taken away, or goes wrong. */
async function something(step: number, nodes: number): Promise<void> {
  const { kafka, draw, network, clock } = world;
  const node = 1 + draw(nodes);
  const things: (() => unknown)[] = [
    () => kafka.produce(topic, draw(3), some(1 + draw(5), `s${step}`), { gap: draw(3) }),
    () => kafka.produce(topic, draw(3), [`t${step}`], { transaction: draw(2) === 0 ? "committed" : "aborted" }),
    () => kafka.moveLeader(topic, draw(3), node),
    () => kafka.moveCoordinator(group, node, draw(3_000)),
    () => kafka.rebalance(group),
    () => kafka.down(node),
    () => [1, 2, 3].slice(0, nodes).forEach((one) => kafka.up(one)),
    () => {
      const name = names[draw(names.length)]!;
      kafka.trouble(name, drawTrouble(name, draw), { times: 1 + draw(3) });
    },
    async () => {
      network.set(kafka.address(node), { isSilent: true });
      await clock.pass(draw(20_000));
      network.set(kafka.address(node), { isSilent: false });
      network.reset(kafka.address(node));
    },
  ];
  await things[draw(things.length)]!();
  await clock.pass(draw(10_000));
}

/** What happened in a world of a seed, which brought its source all that was due, once. */
async function drawn(seed: number): Promise<string[]> {
  const nodes = 1 + (seed % 3);
  const { kafka, draw } = begin({ brokers: nodes, metadataLag: 1_000 }, seed);
  const of = world.reading({ replicas: 1 + draw(2) });
  for (let step = 0; step < 20; step += 1) await something(step, nodes);
  for (let node = 1; node <= nodes; node += 1) kafka.up(node);
  kafka.calm();
  await world.until(() => of.read.length >= world.due().length, 4_000_000);
  await world.settled(of.close(), 600_000);
  expect(of.read.toSorted()).toEqual(world.due());
  expect(kafka.unknown).toEqual([]);
  world.end();
  return kafka.trace;
}

describe("a world of one seed", () => {
  test("brings a source all that is due, once, the same each time, and is another one of another seed", async () => {
    const [first, again, other] = [await drawn(7), await drawn(7), await drawn(8)];
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
  });

  test.each([0, 1, 2])("brings a source all that is due, once: seed %i", { tags: ["rest"] }, async (seed) => {
    expect(await drawn(seed)).not.toEqual([]);
  });
});
