import { durationMs } from "../schemas/duration.ts";
import { quantityBytes } from "../schemas/quantity.ts";
import { nextPosition, type Journal } from "./core/journal.ts";
import { streamFeed } from "./core/positions.ts";
import type { Source } from "./core/source.ts";
import { KafkaSource } from "./sources/kafka/kafka-source.ts";
import { WebhookSource } from "./sources/webhook/webhook-source.ts";
import { EmbeddedReader } from "./streams/embedded/embedded-reader.ts";
import type { Log } from "./telemetry/log.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { PipelineSpec } from "./thread/protocol.ts";

interface SourceTools {
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
  const source = new WebhookSource(new EmbeddedReader(stream.folder, stream.end), stream.end, next);
  const maxAge = durationMs(config.resources.nats.stream.max_age);
  return { source, arrived: (end) => source.arrived(end), maxAge };
}

function createKafka({ pipeline_id, config, kafka, options }: PipelineSpec, tools: SourceTools): KafkaSource {
  const source = config.sources[0];
  if (source?.type !== "kafka") throw new Error(`pipeline ${pipeline_id}: expected a source of type kafka`);
  const resources = config.resources.sources.find(({ source_id }) => source_id === source.source_id);
  const memory = resources?.limits.memory;
  const { dataDir, run, earlier, settings } = kafka;
  return new KafkaSource({
    ...tools,
    pipeline_id,
    source,
    options,
    settings,
    replicas: Math.max(1, resources?.replicas ?? 1),
    identity: { dataDir, run, earlier: new Set(earlier) },
    hasDedup: config.transforms.some(({ type }) => type === "dedup"),
    bufferBytes: memory === undefined ? mostBuffered : Math.min(mostBuffered, quantityBytes(memory) / 4),
  });
}
