import type { ISocketFactory } from "kafkajs";
import type { KafkaSourceConfig } from "../../../schemas/pipeline.ts";
import { NewestEvents, type SourceSample } from "../../event/newest-events.ts";
import type { Log } from "../../telemetry/log.ts";
import { Brokers } from "./brokers/brokers.ts";
import type { KafkaClient } from "./brokers/client.ts";
import { kafkaClient } from "./brokers/connection.ts";
import { failureText, hidingFrom, TopicFailure } from "./brokers/failures.ts";
import type { KafkaSettings } from "./brokers/settings.ts";
import { byConnection, type Connected } from "./connections.ts";
import { kafkaFeed } from "./positions/feed.ts";
import { Codecs } from "./protocol/codecs.ts";
import { PartitionReader } from "./reading/partition-reader.ts";

export interface SampleTools {
  settings: KafkaSettings;
  log: Log;
  socketFactory?: ISocketFactory;
}

/** A partition that has events, and how many of its newest ones are wanted. */
interface Part {
  topic: string;
  partition: number;
  earliest: number;
  end: number;
  share: number;
}

/** Offsets may have no event: then so many times as many offsets are read, so many times. */
const [wider, mostWiden] = [8, 3];

/**
 * The newest events of topics, at most `count`: of each partition as many, where it has them. Reads outside of the
 * consumer group, and commits nothing. Throws an error whose text has no secret, and the reason of `signal`.
 */
export async function sampleTopics(
  sources: readonly KafkaSourceConfig[],
  tools: SampleTools,
  count: number,
  signal: AbortSignal,
): Promise<SourceSample> {
  const newest = new NewestEvents(count);
  for (const connected of byConnection(sources)) {
    const share = Math.ceil((count * connected.length) / sources.length);
    newest.addAll(await sampleCluster(connected, tools, share, signal));
  }
  return newest.sample;
}

async function sampleCluster(
  sources: Connected,
  { settings, log, socketFactory }: SampleTools,
  count: number,
  signal: AbortSignal,
): Promise<NewestEvents> {
  const { connection_params } = sources[0];
  const brokers = new Brokers(kafkaClient(connection_params, "sluice-sample", log, socketFactory), settings);
  // What is under way fails at once: no answer is waited for.
  signal.addEventListener("abort", () => void brokers.close().catch(() => undefined), { once: true });
  try {
    await brokers.connect();
    const parts = shared(await partsOf(brokers, sources, signal), count);
    const reader = new PartitionReader(brokers, await Codecs.load());
    const newest = new NewestEvents(count);
    for (const part of parts) newest.addAll(await newestOf(part, reader, signal));
    return newest;
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`Kafka: ${failureText(error, hidingFrom(connection_params))}`, { cause: error });
  } finally {
    await brokers.close().catch(() => undefined);
  }
}

/** Of the partitions that are led. */
async function partsOf(
  brokers: KafkaClient,
  sources: readonly KafkaSourceConfig[],
  signal: AbortSignal,
): Promise<Part[]> {
  const parts: Part[] = [];
  for (const { topic } of sources) {
    try {
      const places = [...(await brokers.leaders(topic)).keys()].map((partition) => ({ topic, partition }));
      const firsts = await brokers.offsets(places, "first");
      signal.throwIfAborted();
      const ends = await brokers.offsets(places, "end");
      for (const [index, place] of places.entries()) {
        const [earliest, end] = [firsts[index]!, ends[index]!];
        const failure = [earliest, end].find((one) => one instanceof Error);
        if (failure !== undefined && places.length === 1) throw failure;
        if (typeof earliest !== "number" || typeof end !== "number") continue;
        if (end > earliest) parts.push({ ...place, earliest, end, share: 0 });
      }
    } catch (error) {
      throw new TopicFailure(topic, error);
    }
  }
  return parts;
}

/** Gives each partition the same share of `count`, as far as it has so many offsets. Those without a share are left out. */
function shared(parts: readonly Part[], count: number): Part[] {
  const byOffsets = parts.toSorted((a, b) => a.end - a.earliest - (b.end - b.earliest));
  let left = count;
  for (const [index, part] of byOffsets.entries()) {
    part.share = Math.min(part.end - part.earliest, Math.ceil(left / (byOffsets.length - index)));
    left -= part.share;
  }
  return parts.filter(({ share }) => share > 0);
}

async function newestOf(part: Part, reader: PartitionReader, signal: AbortSignal): Promise<NewestEvents> {
  const { topic, partition, earliest, end, share } = part;
  const feed = kafkaFeed({ cluster: "", topic, partition });
  for (let [offsets, attempt] = [share, 0]; ; offsets *= wider, attempt += 1) {
    const from = Math.max(earliest, end - offsets);
    const newest = new NewestEvents(share);
    for await (const { events } of reader.read({ feed, base: from, first: from, last: end - 1, count: share }, from)) {
      signal.throwIfAborted();
      newest.add(events);
    }
    if (newest.length === share || from === earliest || attempt === mostWiden) return newest;
  }
}
