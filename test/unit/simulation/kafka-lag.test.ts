import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { SourceLag } from "../../../engine/core/counters.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { KafkaWorld, type Reading, some, topic } from "./kafka-world.ts";

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
    expect(lagOf(reading)).toEqual({ pipeline_id: "orders", partitions: 1, uncommitted: 0, lag: 0 });
  });
});
