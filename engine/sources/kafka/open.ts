import type { ISocketFactory } from "kafkajs";
import { durationMs } from "../../../schemas/duration.ts";
import { quantityBytes } from "../../../schemas/quantity.ts";
import type { Source, SourceSpec, SourceTools } from "../../core/source.ts";
import { RetryPause } from "../../flow/retry-pause.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { KafkaSettings } from "./brokers/settings.ts";
import { Clusters } from "./clusters/clusters.ts";
import { SharedJournal } from "./clusters/shared-journal.ts";
import { SharedTelemetry } from "./clusters/shared-telemetry.ts";
import { byConnection, clusterName, type Connected } from "./connections.ts";
import { KafkaSource } from "./kafka-source.ts";

/** The pipeline that reads from Kafka, and its identity. */
export interface KafkaSpec extends SourceSpec {
  kafka: { dataDir: string; run: string; earlier: readonly string[]; settings: KafkaSettings };
}

/** The dependencies of a Kafka source. */
export interface KafkaTools extends SourceTools {
  telemetry: Telemetry;
  log: Log;
  /** Opens the connections to the brokers; those of this machine by default. */
  socketFactory?: ISocketFactory;
}

/** The most bytes of fetched events that are not read yet. */
const mostBuffered = 32 * 1024 * 1024;

/** The source of a pipeline whose sources are all of type `kafka`. */
export function openKafka(spec: KafkaSpec, tools: KafkaTools): Source {
  const { pipeline_id, config } = spec;
  const connected = byConnection(config.sources.filter((source) => source.type === "kafka"));
  const [only] = connected;
  if (only === undefined) throw new Error(`pipeline ${pipeline_id}: expected a source of type kafka`);
  if (connected.length === 1) return openCluster(only, mostBuffered, spec, tools);
  const journal = new SharedJournal(tools.journal, pipeline_id);
  const shared = new SharedTelemetry(tools.telemetry, connected.length);
  const sources = connected.map((own, number) => {
    const telemetry = shared.reader(number, clusterName(own[0].connection_params));
    const pause = new RetryPause(pipeline_id, telemetry);
    const most = mostBuffered / connected.length;
    return openCluster(own, most, spec, { ...tools, journal: journal.reader(), telemetry, pause });
  });
  return new Clusters({ pipeline_id, journal: journal.reader(), sources });
}

/** Reads the topics of one connection. */
function openCluster(
  sources: Connected,
  most: number,
  { pipeline_id, config, kafka, options }: KafkaSpec,
  tools: KafkaTools,
): KafkaSource {
  const keyed = new Set(config.transforms.flatMap(({ type, source_id }) => (type === "dedup" ? [source_id] : [])));
  const topics = sources.map(({ topic, source_id, consumer_group_initial_offset: start }) => {
    const adopted = options.sources?.[source_id]?.adopt_group;
    return [topic, { start, adopted, hasDedup: keyed.has(source_id) }] as const;
  });
  // The resources of a member are for all topics together.
  const resources = sources.map(({ source_id }) => config.resources.sources.find((of) => of.source_id === source_id));
  const memory = resources.map((of) => of?.limits.memory);
  const bytes = memory.reduce((sum, limit) => sum + (limit === undefined ? Infinity : quantityBytes(limit) / 4), 0);
  const { dataDir, run, earlier, settings } = kafka;
  return new KafkaSource({
    ...tools,
    pipeline_id,
    connection: sources[0].connection_params,
    topics: new Map(topics),
    options,
    settings,
    replicas: Math.max(1, ...resources.map((of) => of?.replicas ?? 1)),
    identity: { dataDir, run, earlier: new Set(earlier) },
    bufferBytes: Math.min(most, bytes),
    maxDelay: durationMs(config.sink.max_delay_time),
  });
}
