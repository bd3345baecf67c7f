import type { ISocketFactory } from "kafkajs";
import { durationMs } from "../../schemas/duration.ts";
import { quantityBytes } from "../../schemas/quantity.ts";
import type { Disk } from "../core/disk.ts";
import { nextPosition, type Journal } from "../core/journal.ts";
import { streamFeed } from "../core/positions.ts";
import type { Source } from "../core/source.ts";
import { KafkaSource } from "../sources/kafka/kafka-source.ts";
import { WebhookSource } from "../sources/webhook/webhook-source.ts";
import { EmbeddedReader } from "../streams/embedded/embedded-reader.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { RetryPause } from "../flow/retry-pause.ts";
import type { PipelineSpec } from "./protocol.ts";

interface SourceTools {
  disk: Disk;
  /** Opens the connections to Kafka's brokers; those of this machine by default. */
  socketFactory?: ISocketFactory;
  journal: Journal;
  telemetry: Telemetry;
  log: Log;
}

/** A source, and how old its events may grow, in milliseconds. */
export interface CreatedSource {
  source: Source;
  /** Tells that the stream's events up to a sequence are durable. */
  arrived: (end: number) => void;
  maxAge: number;
}

/** The most bytes that are held of what was fetched and not read yet. */
const mostBuffered = 32 * 1024 * 1024;

/** The source of a config, with its secrets resolved. */
export function createSource(spec: PipelineSpec, tools: SourceTools): CreatedSource {
  const { config, stream } = spec;
  if (stream === undefined) {
    return { source: createKafka(spec, tools), arrived: () => undefined, maxAge: Infinity };
  }
  const next = nextPosition(streamFeed, spec.progress, spec.pending) ?? 1;
  const room = new RetryPause(spec.pipeline_id, tools.telemetry);
  const source = new WebhookSource(new EmbeddedReader(tools.disk, stream.folder, stream.end), stream.end, next, room);
  const maxAge = durationMs(config.resources.nats.stream.max_age);
  return { source, arrived: (end) => source.arrived(end), maxAge };
}

function createKafka({ pipeline_id, config, kafka, options }: PipelineSpec, tools: SourceTools): KafkaSource {
  const sources = config.sources.filter((source) => source.type === "kafka");
  const [first] = sources;
  if (first === undefined) throw new Error(`pipeline ${pipeline_id}: expected a source of type kafka`);
  const keyed = new Set(config.transforms.flatMap(({ type, source_id }) => (type === "dedup" ? [source_id] : [])));
  const topics = sources.map(({ topic, source_id, consumer_group_initial_offset: start }) => {
    return [topic, { start, hasDedup: keyed.has(source_id) }] as const;
  });
  // What a member may do and hold it does for all topics.
  const resources = sources.map(({ source_id }) => config.resources.sources.find((of) => of.source_id === source_id));
  const memory = resources.map((of) => of?.limits.memory);
  const bytes = memory.reduce((sum, limit) => sum + (limit === undefined ? Infinity : quantityBytes(limit) / 4), 0);
  const { dataDir, run, earlier, settings } = kafka;
  return new KafkaSource({
    ...tools,
    pipeline_id,
    connection: first.connection_params,
    topics: new Map(topics),
    options,
    settings,
    replicas: Math.max(1, ...resources.map((of) => of?.replicas ?? 1)),
    identity: { dataDir, run, earlier: new Set(earlier) },
    bufferBytes: Math.min(mostBuffered, bytes),
  });
}
