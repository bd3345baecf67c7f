import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { streamFeed } from "../../engine/core/positions.ts";
import type { Signal } from "../../engine/core/push.ts";
import { kafkaFeed } from "../../engine/sources/kafka/positions/feed.ts";
import { Codecs } from "../../engine/sources/kafka/protocol/codecs.ts";
import { originOfFeed, sourceKinds } from "../../engine/sources/registry.ts";
import { StreamSource } from "../../engine/sources/stream/stream-source.ts";
import { EmbeddedReader } from "../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../engine/streams/embedded/embedded-stream.ts";
import { systemDisk } from "../../engine/system/disk.ts";
import type { Telemetry } from "../../engine/telemetry/telemetry.ts";
import { RetryPause } from "../../engine/flow/retry-pause.ts";
import { KafkaWorld, Reading, topic } from "../unit/simulation/kafka-world.ts";
import { sourceTypes } from "../../schemas/index.ts";
import { sourceSuite, type SourceDifferences, type SourceUnderTest } from "./source.ts";
import { pushOf, unlimited } from "./stream-scene.ts";

interface Declared {
  make: () => Promise<SourceUnderTest>;
  differences?: SourceDifferences;
}

const pushed: SourceDifferences = {
  keepsReading: "its stream is the only place that holds them",
  neverCompacts: "what is pushed is never compacted",
};

/** One line for each kind of source. */
const sources: Readonly<Record<keyof typeof sourceKinds, Declared>> = {
  kafka: { make: kafka },
  otlp: { make: () => stream("logs"), differences: pushed },
  webhook: { make: () => stream(), differences: pushed },
};

// What is loaded from files is loaded before time is simulated.
beforeAll(async () => {
  await Codecs.load();
});

for (const [name, { make, differences }] of Object.entries(sources)) sourceSuite(name, make, differences);

test("each type of source that the format knows belongs to one kind", () => {
  const types = Object.values(sourceKinds).flatMap((kind) => [...kind.types]);
  expect(types.toSorted()).toEqual(sourceTypes.toSorted());
});

test.each(Object.entries(sources))("no other kind takes a feed of kind %s for its own", async (_name, { make }) => {
  const under = await make();
  expect([undefined, under.origin]).toContain(originOfFeed(under.feed));
  await under.clean();
});

/** A topic of one partition, on a simulated cluster. */
function kafka(): Promise<SourceUnderTest> {
  const [cluster, partition] = ["a-cluster", 0];
  const world = new KafkaWorld(1, { clusterId: cluster, topics: { [topic]: 1 } });
  let reading: Reading | undefined;
  const feed = kafkaFeed({ cluster, topic, partition });
  return Promise.resolve({
    feed,
    origin: topic,
    start: () => {
      reading = new Reading(world, reading === undefined ? {} : { journal: reading.journal });
      return reading.source;
    },
    add: (_source, ...texts) => {
      world.kafka.produce(topic, partition, texts);
      return Promise.resolve();
    },
    commit: (last) => reading!.journal.commit(feed, last),
    settled: (promise) => world.settled(promise),
    clean: () => {
      world.end();
      return Promise.resolve();
    },
  });
}

/** A stream in a folder, as the events that are pushed are read from. */
async function stream(signal?: Signal): Promise<SourceUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-source-"));
  const options = { limits: unlimited, trimmed: 0, onAppended: () => undefined };
  const opened = await EmbeddedStream.open(systemDisk, folder, options);
  const pause = new RetryPause("orders", {} as Telemetry);
  let final = 0;
  return {
    feed: streamFeed,
    origin: signal,
    start: () => {
      const end = opened.state.last;
      return new StreamSource(new EmbeddedReader(systemDisk, folder, end), end, final + 1, pause);
    },
    add: async (source, ...texts) => {
      const last = await opened.append(pushOf(texts, 1_000, signal));
      (source as StreamSource | undefined)?.arrived(last);
    },
    commit: (last) => (final = last),
    settled: (promise) => promise,
    clean: async () => {
      await opened.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
