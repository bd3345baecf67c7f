import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { SourceLag } from "../../../engine/core/counters.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { group, KafkaWorld, type Reading, some, topic } from "./kafka-world.ts";

let world: KafkaWorld;

// What is loaded from files is loaded before time is simulated.
beforeAll(async () => {
  await Codecs.load();
});
afterEach(() => {
  world.end();
});

function begin(options: Partial<SimulatedKafkaOptions> = {}): KafkaWorld {
  world = new KafkaWorld(1, { topics: { orders: 3 }, ...options });
  return world;
}

const lagOf = (reading: Reading): SourceLag => reading.heardOf("lag").at(-1) as unknown as SourceLag;

const partitions = (reading: Reading) => lagOf(reading).by_partition!.map(({ partition, lag }) => [partition, lag]);

describe("how far a pipeline is behind", () => {
  test("is told by partition, those with the largest lag first, and in time", async () => {
    const { kafka, clock } = begin();
    world.produceAll(5);
    const reading = world.reading();
    await world.until(() => reading.read.length === 15);
    await clock.pass(20_000);
    expect(lagOf(reading)).toMatchObject({ lag: 0, lag_seconds: 0 });
    expect(lagOf(reading).by_partition).toContainEqual({ topic, partition: 2, lag: 0, lag_seconds: 0 });
    reading.isHeldUp = true;
    kafka.produce(topic, 0, ["x"]);
    await clock.pass(60_000);
    kafka.produce(topic, 1, some(3, "y"));
    await clock.pass(30_000);
    expect(partitions(reading)).toEqual([
      [1, 3],
      [0, 1],
      [2, 0],
    ]);
    const { lag, lag_seconds = 0, by_partition } = lagOf(reading);
    expect(lag).toBe(4);
    const ages = by_partition!.map((one) => one.lag_seconds!);
    expect(lag_seconds).toBe(ages[1]);
    // The last report may be ten seconds old.
    for (const [index, age] of [30, 90, 0].entries()) {
      expect(ages[index]).toBeGreaterThanOrEqual(Math.max(0, age - 11));
      expect(ages[index]).toBeLessThanOrEqual(age);
    }
    reading.isHeldUp = false;
    await clock.pass(20_000);
    expect(lagOf(reading)).toMatchObject({ lag: 0, lag_seconds: 0 });
    await world.settled(reading.close());
  });

  test("in time is unknown, and not 0, before anything was read", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, some(5));
    kafka.trouble("Fetch", { kind: "empty" }, { times: 1e6 });
    const reading = world.reading();
    await clock.pass(15_000);
    expect(lagOf(reading)).toMatchObject({ lag: 5, by_partition: [{ topic, partition: 0, lag: 5 }] });
    expect(lagOf(reading)).not.toHaveProperty("lag_seconds");
    expect(lagOf(reading).by_partition![0]).not.toHaveProperty("lag_seconds");
    kafka.calm();
    await world.until(() => reading.read.length === 5);
    await world.settled(reading.close());
  });

  test("in time is no more than since it last had no lag, where the next event was not fetched yet", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, some(5));
    const reading = world.reading();
    await clock.pass(600_000);
    kafka.trouble("Fetch", { kind: "empty" }, { times: 1e6 });
    // A fetch that is under way would bring it.
    await clock.pass(10_000);
    kafka.produce(topic, 0, ["next"]);
    await clock.pass(20_000);
    const { lag, lag_seconds } = lagOf(reading);
    expect(lag).toBe(1);
    expect(lag_seconds).toBeGreaterThan(9);
    expect(lag_seconds).toBeLessThan(40);
    kafka.calm();
    await world.settled(reading.close());
  });

  test("is known while its buffer has no room, and nothing is fetched", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    const reading = world.reading();
    reading.isHeldUp = true;
    kafka.produce(topic, 0, ["x".repeat(2_000_000)]);
    await clock.pass(20_000);
    kafka.produce(topic, 0, some(5));
    await clock.pass(60_000);
    expect(lagOf(reading)).toMatchObject({ lag: 6 });
    expect(lagOf(reading).lag_seconds).toBeGreaterThan(60);
    reading.isHeldUp = false;
    await world.until(() => reading.read.length === 6);
    await world.settled(reading.close());
  });

  test("is asked for by no request of its own while fetches bring the ends", async () => {
    const { kafka, clock } = begin();
    const reading = world.reading();
    await clock.pass(30_000);
    const asked = kafka.met.get("ListOffsets");
    await clock.pass(300_000);
    expect(kafka.met.get("ListOffsets")).toBe(asked);
    await world.settled(reading.close());
  });
});

describe("a transaction of another producer", () => {
  test("that does not end is told after a minute, with its place and its time, until it ends", async () => {
    const { kafka, clock } = begin();
    world.produceAll(5);
    const reading = world.reading();
    await world.until(() => reading.read.length === 15);
    await clock.pass(20_000);
    expect(lagOf(reading)).toMatchObject({ lag: 0, held_back: 0 });
    const open = kafka.begin();
    const began = Date.now();
    open.produce(topic, 1, some(2, "late"));
    kafka.produce(topic, 1, some(3, "after"));
    await clock.pass(45_000);
    expect(lagOf(reading)).toMatchObject({ lag: 0, held_back: 5 });
    expect(lagOf(reading).open_transactions).toBeUndefined();
    await clock.pass(40_000);
    const [told, ...others] = lagOf(reading).open_transactions!;
    expect(told).toEqual({ topic, partition: 1, offset: 5, since: told!.since });
    expect(Math.abs(Date.parse(told!.since) - began)).toBeLessThan(10_000);
    expect([others, reading.read.length]).toEqual([[], 15]);
    open.end("committed");
    await world.until(() => reading.read.length === 20);
    await clock.pass(20_000);
    expect(lagOf(reading)).toMatchObject({ lag: 0, held_back: 0 });
    expect(lagOf(reading).open_transactions).toBeUndefined();
    await world.settled(reading.close());
  });

  test("is not told where one short transaction comes after the other", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    const reading = world.reading();
    let before = kafka.begin();
    before.produce(topic, 0, ["0"]);
    for (let turn = 1; turn <= 20; turn += 1) {
      const next = kafka.begin();
      next.produce(topic, 0, [String(turn)]);
      before.end("committed");
      before = next;
      await clock.pass(10_000);
      expect(lagOf(reading).open_transactions).toBeUndefined();
    }
    expect(lagOf(reading).held_back).toBeGreaterThan(0);
    before.end("aborted");
    await world.settled(reading.close());
  });

  test("is not told any more when the pipeline has stopped", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    const reading = world.reading();
    kafka.begin().produce(topic, 0, ["late"]);
    await clock.pass(90_000);
    expect(lagOf(reading).open_transactions).toHaveLength(1);
    await world.settled(reading.close());
    expect(lagOf(reading)).toEqual({ pipeline_id: "orders", partitions: 0, uncommitted: 0 });
  });
});

describe("a lag of which nobody knows the end any more is unknown, and not 0", () => {
  test("where no broker answers for long", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    world.kafka.produce(topic, 0, some(5));
    const reading = world.reading();
    await world.until(() => reading.heardOf("lag").length > 0 && lagOf(reading).lag === 0);
    kafka.down(1);
    await clock.pass(60_000);
    expect(lagOf(reading)).not.toHaveProperty("lag");
    expect(lagOf(reading)).not.toHaveProperty("lag_seconds");
    expect(lagOf(reading)).toMatchObject({ by_partition: [{ topic, partition: 0 }] });
    kafka.up(1);
    await world.until(() => reading.heardOf("lag").length > 0 && lagOf(reading).lag === 0, 120_000);
    await world.settled(reading.close());
  });

  test("where its topic was deleted and created again, and it is undecided where reading goes on", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, some(15));
    const reading = world.reading();
    await world.until(() => reading.read.length === 15);
    await clock.pass(20_000);
    expect(lagOf(reading)).toMatchObject({ lag: 0 });
    kafka.recreate(topic);
    kafka.produce(topic, 0, some(5));
    await world.until(() => reading.heardOf("paused").length > 0);
    const told = reading.heardOf("lag").length - 1;
    await clock.pass(120_000);
    expect(reading.heardOf("lag").slice(told).length).toBeGreaterThan(9);
    for (const one of reading.heardOf("lag").slice(told)) expect(one).not.toHaveProperty("lag");
    await world.settled(reading.close());
  });

  test("where its log was cut before what was read, and it is undecided where reading goes on", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    kafka.produce(topic, 0, some(15));
    const reading = world.reading();
    await world.until(() => reading.read.length === 15);
    await clock.pass(20_000);
    kafka.truncate(topic, 0, 5);
    await world.until(() => reading.heardOf("paused").length > 0);
    const told = reading.heardOf("lag").length;
    await clock.pass(60_000);
    expect(reading.heardOf("lag").slice(told).length).toBeGreaterThan(4);
    for (const one of reading.heardOf("lag").slice(told)) expect(one).not.toHaveProperty("lag");
    await world.settled(reading.close());
  });

  test("and is counted within one report of what came while the target keeps it from reading", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    const reading = world.reading({ isOnlyOpen: true });
    await world.until(() => reading.heardOf("lag").length > 0 && lagOf(reading).lag === 0);
    kafka.produce(topic, 0, some(6_000));
    await clock.pass(11_000);
    expect(lagOf(reading)).toMatchObject({ lag: 6_000 });
    await world.settled(reading.close());
  });

  test("and what another consumer of the group holds counts", async () => {
    const { kafka } = begin({ topics: { orders: 4 } });
    for (const partition of [0, 1, 2, 3]) kafka.produce(topic, partition, some(5));
    const reading = world.reading();
    await world.until(() => reading.read.length === 20);
    const other = kafka.foreign(group, { clientId: "other", topics: [topic] });
    await world.until(() => lagOf(reading).partitions === 2);
    for (const partition of [0, 1, 2, 3]) kafka.produce(topic, partition, some(5, "b"));
    await world.until(() => reading.heardOf("lag").length > 0 && lagOf(reading).lag === 10, 120_000);
    other.leave();
    await world.until(() => reading.heardOf("lag").length > 0 && lagOf(reading).lag === 0, 120_000);
    await world.settled(reading.close());
  });
});

const throttledSeconds = (reading: Reading): number =>
  reading.heardOf("throttled").reduce((sum, { seconds }) => sum + (seconds as number), 0);

describe("a client quota", () => {
  test("below one batch is told, with its broker, and so is the lag; both end with it", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    const reading = world.reading();
    await clock.pass(20_000);
    kafka.trouble("Fetch", { kind: "throttled", milliseconds: 10_000 }, { times: 1e6 });
    await clock.pass(10_000);
    kafka.produce(topic, 0, some(5));
    await clock.pass(73_000);
    expect(reading.read).toEqual([]);
    expect(lagOf(reading)).toMatchObject({ lag: 5, throttled_by: [{ broker: 1 }] });
    expect(lagOf(reading).throttled_by![0]!.seconds).toBeGreaterThan(50);
    expect(throttledSeconds(reading)).toBeGreaterThan(60);
    kafka.calm();
    await world.until(() => reading.read.length === 5);
    await clock.pass(80_000);
    expect(lagOf(reading)).toMatchObject({ lag: 0 });
    expect(lagOf(reading)).not.toHaveProperty("throttled_by");
    await world.settled(reading.close());
  });

  test("that throttles for a moment is counted, and not told", async () => {
    const { kafka, clock } = begin({ topics: { orders: 1 } });
    const reading = world.reading();
    kafka.trouble("Fetch", { kind: "throttled", milliseconds: 2_000 }, { times: 3 });
    for (let turn = 0; turn < 9; turn += 1) {
      await clock.pass(10_000);
      expect(lagOf(reading)).not.toHaveProperty("throttled_by");
    }
    expect(throttledSeconds(reading)).toBe(6);
    await world.settled(reading.close());
  });
});
