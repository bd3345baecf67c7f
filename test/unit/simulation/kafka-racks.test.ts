import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { CodeName } from "../../support/simulation/kafka/codes.ts";
import { KafkaWorld, some, topic, type Reading, type SourceOptions } from "./kafka-world.ts";

let world: KafkaWorld;

// What is loaded from files is loaded before time is simulated.
beforeAll(async () => {
  await Codecs.load();
});
afterEach(() => {
  world.end();
});

const racks = { 1: "a", 2: "b", 3: "c" };
/** The leader of the partition, the node in the rack of the reader, and the other one. */
const [leader, closest, other] = [1, 2, 3];
const minute = 60_000;

function begin(): KafkaWorld {
  world = new KafkaWorld(1, { topics: { orders: 1 }, brokers: 3, racks });
  return world;
}

/** Nodes by the fetches that each of them got since the last look. */
function fetches(): number[] {
  const nodes = world.kafka.trace.flatMap((line) => / Fetch node (\d)/.exec(line)?.[1] ?? []).map(Number);
  world.kafka.trace.length = 0;
  return nodes;
}

function produce(count: number, name: string): void {
  world.kafka.produce(topic, 0, some(count, name));
}

/** All that is there is read, once and in order. */
function expectWhole(of: Reading): void {
  expect(of.read.toSorted()).toEqual(world.due());
  const offsets = of.offsets()[0]!;
  expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
}

/** Five messages were read, and the node in the rack of the reader is read from. */
async function reading(options: SourceOptions = { rack: "b" }): Promise<Reading> {
  begin();
  produce(5, "a");
  const of = world.reading(options);
  await world.until(() => of.read.length === 5);
  await world.clock.pass(10);
  return of;
}

/** Without pause or loss, and nothing was read twice. */
async function ended(of: Reading): Promise<void> {
  expectWhole(of);
  for (const event of ["paused", "positionsSkipped", "logCut"]) expect(of.heardOf(event)).toEqual([]);
  await world.settled(of.close());
}

function lagsAt(end: number, { high = end, isInSync = true } = {}): void {
  world.kafka.lag(topic, 0, closest, { end, high, isInSync });
}

describe("a partition is read from the replica in the rack of Sluice", () => {
  test("once its leader has named it", async () => {
    const of = await reading();
    produce(5, "b");
    await world.until(() => of.read.length === 10);
    expect(fetches().filter((node, at) => node !== closest || at === 1)).toEqual([leader, closest]);
    const bytes = of.heardOf("fetched");
    expect(bytes.every(({ leader: led, follower }) => led === 0 && Number(follower) > 0)).toBe(true);
    await ended(of);
  });

  test.each([
    ["none is said", {}],
    ["its leader is there", { rack: "a" }],
    ["none is there", { rack: "d" }],
  ])("but from its leader where %s", async (_, options) => {
    const of = await reading(options);
    expect(new Set(fetches())).toEqual(new Set([leader]));
    expect(of.heardOf("fetched").every(({ leader: led, follower }) => Number(led) > 0 && follower === 0)).toBe(true);
    await ended(of);
  });

  test("until five minutes have passed, when the leader is asked once", async () => {
    const of = await reading();
    fetches();
    await world.clock.pass(4.9 * minute);
    expect(fetches().filter((node) => node !== closest)).toEqual([]);
    await world.clock.pass(0.2 * minute);
    expect(fetches().filter((node) => node !== closest)).toEqual([leader]);
    await ended(of);
  });
});

describe("the leader is read at once", () => {
  const codes: CodeName[] = [
    "OFFSET_OUT_OF_RANGE",
    "NOT_LEADER_OR_FOLLOWER",
    "OFFSET_NOT_AVAILABLE",
    "UNKNOWN_LEADER_EPOCH",
    "UNKNOWN_TOPIC_ID",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "KAFKA_STORAGE_ERROR",
  ];

  test.each(codes)("where the replica answers %s, and the replica again later", async (code) => {
    const of = await reading();
    fetches();
    world.kafka.trouble("Fetch", { kind: "error", code }, { node: closest });
    // The fetch that waits there ends with it; the next one meets the trouble.
    produce(1, "b");
    await world.until(() => world.kafka.met.get(`Fetch: ${code}`) === 1, 10_000);
    const met = performance.now();
    produce(1, "c");
    await world.until(() => of.read.length === 7, 100);
    expect(performance.now() - met).toBeLessThan(100);
    expect(fetches().at(-1)).toBe(leader);
    await world.clock.pass(30_000);
    expect(fetches().at(-1)).toBe(closest);
    await ended(of);
  });

  test("where the replica dies", async () => {
    const of = await reading();
    fetches();
    world.kafka.down(closest);
    produce(5, "b");
    await world.until(() => of.read.length === 10, 100);
    expect(fetches().at(-1)).toBe(leader);
    world.kafka.up(closest);
    await world.clock.pass(30_000);
    expect(fetches().at(-1)).toBe(closest);
    await ended(of);
  });

  test("where the replica does not answer", async () => {
    const of = await reading();
    world.kafka.trouble("Fetch", { kind: "silent" }, { node: closest, times: 1_000 });
    await world.clock.pass(6_000);
    produce(5, "b");
    await world.until(() => of.read.length === 10, 10);
    // Its leader goes on to name it.
    for (let at = 0; at < 60; at += 1) {
      produce(1, `c${at}`);
      await world.until(() => of.read.length === 11 + at, 7_000);
      await world.clock.pass(1_000);
    }
    expect(world.kafka.met.get("trouble of Fetch: silent")).toBeGreaterThan(1);
    await ended(of);
  });

  test("where the replica answers late, and what it answers then is read where the leader has not answered", async () => {
    const of = await reading();
    produce(5, "b");
    for (const [node, seconds] of [
      [closest, 8],
      [leader, 10],
    ] as const) {
      world.kafka.trouble("Fetch", { kind: "slow", milliseconds: seconds * 1_000 }, { node });
    }
    await world.until(() => of.read.length === 10);
    produce(5, "c");
    await world.clock.pass(5_000);
    expect(fetches().at(-1)).toBe(leader);
    expect(of.read).toHaveLength(10);
    await world.until(() => of.read.length === 15, 4_000);
    await world.clock.pass(minute);
    await ended(of);
  });

  test("where another one is elected, which then names the replica", async () => {
    const of = await reading();
    fetches();
    world.kafka.moveLeader(topic, 0, other);
    produce(5, "b");
    await world.until(() => of.read.length === 10, 5_000);
    expect(world.kafka.met.get("Fetch: FENCED_LEADER_EPOCH")).toBe(1);
    expect(fetches()).toContain(other);
    produce(5, "c");
    await world.until(() => of.read.length === 15, 5_000);
    expect(fetches().at(-1)).toBe(closest);
    await ended(of);
  });

  test("where the cluster counts the replica among its nodes no more, once it is asked who leads", async () => {
    world = new KafkaWorld(1, { topics: { orders: 2 }, brokers: 3, racks });
    for (const partition of [0, 1]) world.kafka.produce(topic, partition, some(5, "a"));
    const of = world.reading({ rack: "b" });
    await world.until(() => of.read.length === 10);
    world.kafka.fence(closest);
    // What it led has another leader.
    world.kafka.moveLeader(topic, 1, other);
    await world.clock.pass(1_000);
    fetches();
    await world.clock.pass(20_000);
    expect(new Set(fetches())).toEqual(new Set([leader, other]));
    expect(of.read.toSorted()).toEqual(world.due());
    await world.settled(of.close());
  });

  test("where the replica itself is elected", async () => {
    const of = await reading();
    world.kafka.moveLeader(topic, 0, closest);
    produce(5, "b");
    await world.until(() => of.read.length === 10, 5_000);
    expect(fetches().at(-1)).toBe(closest);
    await ended(of);
  });
});

describe("a replica that lags", () => {
  test("and does not have the next offset is no loss: the leader has it", async () => {
    const of = await reading({ rack: "b", options: { on_lost: "skip" } });
    lagsAt(3);
    produce(5, "b");
    await world.until(() => of.read.length === 10, 10_000);
    expect(world.kafka.met.get("Fetch: OFFSET_OUT_OF_RANGE")).toBe(1);
    // Its leader goes on to name it for an hour: it is tried ever less often, and the partition is read.
    await world.clock.pass(60 * minute);
    const tried = world.kafka.met.get("Fetch: OFFSET_OUT_OF_RANGE")!;
    expect(tried).toBeGreaterThan(10);
    expect(tried).toBeLessThan(25);
    produce(5, "c");
    await world.until(() => of.read.length === 15, 10_000);
    await ended(of);
  });

  test("is asked at most five times a second, where it answers at once with nothing", async () => {
    const of = await reading();
    world.kafka.trouble("Fetch", { kind: "empty" }, { node: closest, times: 1_000 });
    fetches();
    await world.clock.pass(5_000);
    expect(fetches().length).toBeLessThanOrEqual(26);
    world.kafka.calm();
    produce(5, "b");
    await world.until(() => of.read.length === 10, 10_000);
    await ended(of);
  });

  test("for long is left, and the lag is that by the leader", async () => {
    const of = await reading();
    lagsAt(5, { isInSync: false });
    produce(5, "b");
    // The leader is asked every ten seconds for the end, which the report of the next turn has.
    await world.clock.pass(12_000);
    expect(of.read).toHaveLength(5);
    await world.until(() => of.read.length === 10, 10_000);
    expect(fetches().at(-1)).toBe(leader);
    expect(of.heardOf("lag").at(-1)).toMatchObject({ lag: 5 });
    await world.until(() => of.heardOf("lag").at(-1)?.["lag"] === 0, 15_000);
    await ended(of);
  });

  test("for a moment is not left", async () => {
    const of = await reading();
    lagsAt(10, { high: 5 });
    produce(5, "b");
    await world.clock.pass(2_000);
    fetches();
    world.kafka.lag(topic, 0, closest, undefined);
    await world.until(() => of.read.length === 10, 2_000);
    await world.clock.pass(30_000);
    expect(new Set(fetches())).toEqual(new Set([closest]));
    await ended(of);
  });
});

describe("what is lost is judged by the leader", () => {
  test("what retention removed", async () => {
    begin();
    produce(5, "a");
    world.kafka.trouble("Fetch", { kind: "empty" }, { node: closest, times: 2 });
    const of = world.reading({ rack: "b", options: { on_lost: "skip" } });
    await world.until(() => fetches().includes(closest));
    produce(5, "b");
    world.kafka.retain(topic, 0, 7);
    await world.until(() => of.heardOf("positionsSkipped").length > 0, 30_000);
    await world.until(() => of.offsets()[0]?.includes(9) === true, 30_000);
    expect(of.heardOf("positionsSkipped")).toMatchObject([{ from: 0, to: 7 }]);
    // By the replica, and then by the leader.
    expect(world.kafka.met.get("Fetch: OFFSET_OUT_OF_RANGE")).toBe(2);
    await world.settled(of.close());
  });

  test("a log that another leader has cut, though the replica answers", async () => {
    begin();
    for (const name of ["a", "b", "c"]) produce(2, name);
    const of = world.reading({ rack: "b", options: { on_lost: "skip" } });
    await world.until(() => of.read.length === 6);
    world.kafka.truncate(topic, 0, 4, other);
    produce(10, "other");
    await world.until(() => of.read.length === 16, 30_000);
    expect(of.heardOf("logCut")).toMatchObject([{ from: 6, to: 4 }]);
    expect(of.read.slice(6)).toEqual(some(10, "other").map((value, at) => `orders/0/${4 + at} ${value}`));
    await world.settled(of.close());
  });
});
