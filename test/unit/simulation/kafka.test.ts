import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { consumerGroup } from "../../../engine/core/names.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { KafkaWorld, Reading, type SourceOptions } from "./kafka-world.ts";

const group = consumerGroup("orders");

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

describe("a source", () => {
  test("timers", async () => {
    const { kafka, clock } = begin({ brokers: 3 });
    const counts = new Map<string, number>();
    const own = globalThis.setTimeout;
    globalThis.setTimeout = ((...a: Parameters<typeof setTimeout>) => {
      const where = new Error().stack!.split("\n").slice(2, 4).join(" < ").replaceAll(/\/work\/wt\/simkafka\//g, "");
      counts.set(where, (counts.get(where) ?? 0) + 1);
      return own(...a);
    }) as typeof setTimeout;
    for (const partition of [0, 1, 2]) kafka.produce("orders", partition, some(10, `p${partition}`));
    const of = reading();
    await world.until(() => of.read.length === 30);
    await world.settled(of.close());
    console.log(clock.steps, [...counts].toSorted((a, b) => b[1] - a[1]).slice(0, 12));
  });
  test("opens, joins, reads, commits and closes", async () => {
    const { kafka, clock } = begin({ brokers: 3 });
    for (const partition of [0, 1, 2]) kafka.produce("orders", partition, some(10, `p${partition}`));
    const of = reading();
    await world.until(() => of.read.length === 30);
    expect(of.offsets()).toEqual({ 0: [...Array(10).keys()], 1: [...Array(10).keys()], 2: [...Array(10).keys()] });
    await world.settled(of.close());
    console.log(clock.monotonic, clock.steps, kafka.met, world.network.connections);
    expect([...kafka.committed(group).values()].map(({ offset }) => offset)).toEqual([10, 10, 10]);
    expect(kafka.members(group)).toEqual([]);
    expect(kafka.unknown).toEqual([]);
  });
});
