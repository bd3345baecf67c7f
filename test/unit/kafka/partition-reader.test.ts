import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { kafkaFeed } from "../../../engine/sources/kafka/positions/feed.ts";
import { PartitionReader } from "../../../engine/sources/kafka/reading/partition-reader.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { keptLog } from "../../support/engine.ts";
import { codecs } from "./read.ts";
import { StandInCluster } from "./stand-in-cluster.ts";
import { batchBytes, numbered } from "./written.ts";

let cluster: StandInCluster;
let brokers: Brokers;
let reader: PartitionReader;

beforeEach(async () => {
  cluster = await StandInCluster.start();
  // Nobody asks by himself who leads what.
  const settings = { ...defaultKafkaSettings, metadataMaxAge: 3_600_000 };
  brokers = new Brokers(kafkaClient(cluster.connection, "test", keptLog()), settings);
  await brokers.connect();
  reader = new PartitionReader(brokers, codecs);
});
afterEach(async () => {
  await brokers.close();
  cluster.close();
});

const batch = (first: number, count: number): Buffer =>
  batchBytes({ baseOffset: first, records: numbered(count, first) });

/** The offsets that are read of the range `first` to `last`. */
async function offsets(first: number, last: number): Promise<number[]> {
  const { topic, partition } = cluster;
  const range = { feed: kafkaFeed({ cluster: "c", topic, partition }), base: first, first, last, count: 0 };
  const found: number[] = [];
  for await (const { events } of reader.read(range, first)) found.push(...events.map(({ position }) => position));
  return found;
}

test("a range is read again in parts, and nothing behind it", async () => {
  cluster.high = 6;
  cluster.answers = [cluster.holds(batch(0, 3)), cluster.holds(batch(3, 3))];
  expect(await offsets(1, 4)).toEqual([1, 2, 3, 4]);
});

test("after a change of leader the next attempt asks the new one", async () => {
  cluster.high = 3;
  cluster.answers = [cluster.holds(batch(0, 3))];
  expect(await offsets(0, 2)).toEqual([0, 1, 2]);
  cluster.leader = 2;
  await expect(offsets(0, 2)).rejects.toMatchObject({ type: "NOT_LEADER_FOR_PARTITION" });
  expect(await offsets(0, 2)).toEqual([0, 1, 2]);
  expect(Object.fromEntries(cluster.fetches)).toEqual({ 1: 2, 2: 1 });
});

describe("an answer without events", () => {
  test("and without the partition, of a broker that holds the client back, is no loss: it is asked again", async () => {
    cluster.high = 4;
    cluster.answers = [cluster.holds(batch(0, 2)), [], [], cluster.holds(batch(2, 2))];
    expect(await offsets(0, 3)).toEqual([0, 1, 2, 3]);
  });

  test("of a broker that takes its time to read, or has just begun to lead, is none either", async () => {
    cluster.high = 4;
    const nothing = cluster.holds(Buffer.alloc(0));
    const behind = [{ ...nothing[0]!, highWatermark: 2, lastStableOffset: 2 }];
    cluster.answers = [cluster.holds(batch(0, 2)), nothing, behind, cluster.holds(batch(2, 2))];
    expect(await offsets(0, 3)).toEqual([0, 1, 2, 3]);
  });

  test("is the end where the partition ends before the range does", async () => {
    cluster.high = 2;
    cluster.answers = [cluster.holds(batch(0, 2)), cluster.holds(Buffer.alloc(0))];
    expect(await offsets(0, 3)).toEqual([0, 1]);
  });

  const missing = "topic orders, partition 3: expected events between the offsets 0 and 4, found none";

  test("that comes again and again is an error where the log holds an event at its end", async () => {
    cluster.high = 4;
    const nothing = cluster.holds(Buffer.alloc(0));
    cluster.answers = [...Array.from({ length: 20 }, () => nothing), cluster.holds(batch(3, 1))];
    await expect(offsets(0, 3)).rejects.toThrow(missing);
  });

  test("and without the partition, or with an earlier end, is an error when it comes again and again", async () => {
    cluster.high = 4;
    cluster.answers = [[]];
    await expect(offsets(0, 3)).rejects.toThrow(missing);
    const nothing = cluster.holds(Buffer.alloc(0));
    cluster.answers = [[{ ...nothing[0]!, highWatermark: 0, lastStableOffset: 0 }], nothing];
    await expect(offsets(0, 3)).rejects.toThrow(missing);
  });

  test("is the end where the log holds nothing up to its end: it was cut within a batch", async () => {
    cluster.high = 4;
    cluster.answers = [cluster.holds(batch(0, 2)), cluster.holds(Buffer.alloc(0))];
    expect(await offsets(0, 3)).toEqual([0, 1]);
  });
});
