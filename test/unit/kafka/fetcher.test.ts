import { afterEach, beforeEach, expect, test } from "vitest";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { FetchBuffer } from "../../../engine/sources/kafka/reading/fetch-buffer.ts";
import { kafkaFeed } from "../../../engine/sources/kafka/positions/feed.ts";
import { noReplica } from "../../../engine/sources/kafka/brokers/leaders.ts";
import { Fetcher } from "../../../engine/sources/kafka/reading/fetcher.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { keptLog } from "../../support/engine.ts";
import { codecs } from "./read.ts";
import { StandInCluster } from "./stand-in-cluster.ts";
import { batchBytes, fetched, numbered } from "./written.ts";

const storageError = 56;
const feedOf = (topic: string, partition: number): string => kafkaFeed({ cluster: "c", topic, partition });

let cluster: StandInCluster;
let brokers: Brokers;
let buffer: FetchBuffer;
let fetcher: Fetcher;
let troubles: unknown[];

beforeEach(async () => {
  cluster = await StandInCluster.start();
  cluster.others = ["returns"];
  brokers = new Brokers(kafkaClient(cluster.connection, "test", keptLog()), {
    ...defaultKafkaSettings,
    metadataMaxAge: 3_600_000,
  });
  buffer = new FetchBuffer(codecs, 1);
  troubles = [];
  fetcher = fetcherWith(defaultKafkaSettings);
});
afterEach(async () => {
  await fetcher.stop();
  await brokers.close();
  cluster.close();
});

function fetcherWith(settings: typeof defaultKafkaSettings): Fetcher {
  return new Fetcher({
    client: brokers,
    topics: [cluster.topic, "returns"],
    feedOf,
    settings,
    linger: 20,
    buffer,
    onFailure: (_who, error) => void (error === undefined || troubles.push(error)),
    topicIdOf: () => undefined,
    onLeaders: () => Promise.resolve(),
    onGone: () => undefined,
    onCut: () => Promise.resolve(),
    onEnd: () => undefined,
    onFetched: () => undefined,
    onBytes: () => undefined,
  });
}

async function somethingArrives(): Promise<void> {
  if (buffer.isEmpty) await new Promise<void>((resolve) => (buffer.onChange = resolve));
}

/** What was fetched, when something was: its partition and its offsets. Makes room for more. */
async function arrived(): Promise<[string, number[]][]> {
  await somethingArrives();
  const chunks = buffer.take(100, 1e6);
  fetcher.look();
  return chunks.map(({ feed, events }) => [feed, events.map(({ position }) => position)]);
}

const batch = (from: number): Buffer => batchBytes({ baseOffset: from, records: numbered(2, from) });

test("a partition that fails holds up no other of its broker", async () => {
  cluster.hasSecond = true;
  const first = cluster.partition;
  const failed = fetched(Buffer.alloc(0), { partition: first, errorCode: storageError });
  cluster.answers = [0, 2].map((from) => [failed, fetched(batch(from), { partition: first + 1 })]);
  fetcher.set(feedOf(cluster.topic, first), 0);
  fetcher.set(feedOf(cluster.topic, first + 1), 0);
  expect(await arrived()).toEqual([[feedOf(cluster.topic, first + 1), [0, 1]]]);
  expect(await arrived()).toEqual([[feedOf(cluster.topic, first + 1), [2, 3]]]);
  await expect.poll(() => troubles).toContainEqual(expect.objectContaining({ type: "KAFKA_STORAGE_ERROR" }));
});

test("a partition whose records are unreadable holds up no other of its broker", async () => {
  cluster.hasSecond = true;
  const first = cluster.partition;
  const damaged = batch(0);
  damaged.writeInt32BE(-5, 57);
  cluster.answers = [0, 2].map((from) => [
    fetched(damaged, { partition: first }),
    fetched(batch(from), { partition: first + 1 }),
  ]);
  fetcher.set(feedOf(cluster.topic, first), 0);
  fetcher.set(feedOf(cluster.topic, first + 1), 0);
  await expect(arrived()).rejects.toThrow(`partition ${first}, offset 0: expected the numbers of a batch`);
  expect(await arrived()).toEqual([[feedOf(cluster.topic, first + 1), [0, 1]]]);
  expect(await arrived()).toEqual([[feedOf(cluster.topic, first + 1), [2, 3]]]);
  expect(troubles).toEqual([]);
});

test("a partition that has another leader is fetched from that one", async () => {
  cluster.answers = [cluster.holds(batch(0))];
  await brokers.leaders(cluster.topic);
  cluster.leader = 2;
  fetcher.set(feedOf(cluster.topic, cluster.partition), 0);
  expect(await arrived()).toEqual([[feedOf(cluster.topic, cluster.partition), [0, 1]]]);
});

test("a partition whose broker is gone is fetched from the one that leads it then", async () => {
  cluster.answers = [cluster.holds(batch(0))];
  fetcher.set(feedOf(cluster.topic, cluster.partition), 0);
  // There is no room for more until it is taken.
  await somethingArrives();
  cluster.end(1);
  cluster.leader = 2;
  cluster.answers = [cluster.holds(batch(2))];
  expect(await arrived()).toEqual([[feedOf(cluster.topic, cluster.partition), [0, 1]]]);
  expect(await arrived()).toEqual([[feedOf(cluster.topic, cluster.partition), [2, 3]]]);
});

test("a leader that names no replica but one that refuses is told, and is read once it delivers itself", async () => {
  cluster.answers = [[fetched(Buffer.alloc(0), { partition: cluster.partition, preferredReplica: 2 })]];
  fetcher.set(feedOf(cluster.topic, cluster.partition), 0);
  const { message } = noReplica(cluster, 2);
  await expect.poll(() => troubles).toContainEqual(expect.objectContaining({ message }));
  expect(cluster.fetches.get(2)).toBe(1);
  cluster.answers = [cluster.holds(batch(0))];
  expect(await arrived()).toEqual([[feedOf(cluster.topic, cluster.partition), [0, 1]]]);
});

test("topics are fetched together, and what brought nothing is asked for first", async () => {
  const { topic, partition } = cluster;
  const other = (from: number) => fetched(batch(from), { topic: "returns", partition });
  cluster.answers = [cluster.holds(batch(0)), [...cluster.holds(batch(2)), other(7)]];
  fetcher.set(feedOf(topic, partition), 0);
  fetcher.set(feedOf("returns", partition), 7);
  await somethingArrives();
  const chunks = buffer.take(100, 1e6);
  expect(chunks.map(({ feed, events }) => [feed, events[0]?.origin])).toEqual([[feedOf(topic, partition), topic]]);
  fetcher.look();
  const found = [...(await arrived()), ...(await arrived())];
  expect(found.slice(0, 2)).toEqual([
    [feedOf(topic, partition), [2, 3]],
    [feedOf("returns", partition), [7, 8]],
  ]);
  expect(cluster.asked.slice(0, 2)).toEqual([
    [topic, "returns"],
    ["returns", topic],
  ]);
});

test("while nothing comes, a broker waits for one byte; while events come, it gathers more for a moment", async () => {
  const nothing = cluster.holds(Buffer.alloc(0));
  const { fetchWait, fetchMinBytes } = defaultKafkaSettings;
  cluster.answers = [
    nothing,
    cluster.holds(batch(0)),
    cluster.holds(batch(2)),
    nothing,
    cluster.holds(batch(4)),
    nothing,
  ];
  fetcher.set(feedOf(cluster.topic, cluster.partition), 0);
  for (let batches = 0; batches < 3; batches += 1) await arrived();
  await expect.poll(() => cluster.patience.length).toBeGreaterThanOrEqual(6);
  const [forOne, forMore] = [
    { wait: fetchWait, minBytes: 1 },
    { wait: 20, minBytes: fetchMinBytes },
  ];
  expect(cluster.patience.slice(0, 6)).toEqual([forOne, forOne, forMore, forMore, forOne, forMore]);
});

test("the longer nothing comes, the longer a broker waits, until something comes or a partition is added", async () => {
  const nothing = cluster.holds(Buffer.alloc(0));
  const { fetchWait, fetchMinBytes } = defaultKafkaSettings;
  cluster.answers = [...Array.from({ length: 7 }, () => nothing), cluster.holds(batch(0)), nothing];
  fetcher.set(feedOf(cluster.topic, cluster.partition), 0);
  await arrived();
  await expect.poll(() => cluster.patience.length).toBeGreaterThanOrEqual(14);
  const times = cluster.patience.map(({ wait, minBytes }) => (minBytes === fetchMinBytes ? "more" : wait / fetchWait));
  expect(times.slice(0, 14)).toEqual([1, 1, 2, 4, 8, 8, 8, 8, "more", 1, 2, 4, 8, 8]);
  const before = cluster.patience.length;
  fetcher.set(feedOf("returns", cluster.partition), 7);
  await expect.poll(() => cluster.patience.slice(before).some(({ wait }) => wait === fetchWait)).toBe(true);
});

test("it stops, and its connections are closed, while a broker waits with its answer", async () => {
  cluster.answersFetches = false;
  // The broker never answers: a request that is not ended would take longer than a test may.
  fetcher = fetcherWith({ ...defaultKafkaSettings, fetchWait: 600_000 });
  fetcher.set(feedOf(cluster.topic, cluster.partition), 0);
  await expect.poll(() => cluster.patience.length).toBe(1);
  await fetcher.stop();
  await brokers.close();
});
