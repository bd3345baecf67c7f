import { durationMs } from "../../schemas/duration.ts";
import type { PipelineConfig, SourceConfig } from "../../schemas/pipeline.ts";
import { nextPosition } from "../core/journal.ts";
import { type RewoundPartition, streamFeed } from "../core/positions.ts";
import type { Source } from "../core/source.ts";
import type { SourceSample } from "../event/newest-events.ts";
import { EmbeddedReader } from "../streams/embedded/embedded-reader.ts";
import { sampleStream, type StreamPart } from "../streams/sample.ts";
import type { Readiness } from "../core/readiness.ts";
import { TargetPolicy, type TargetRules } from "../peers/targets.ts";
import { socketsWithin } from "./kafka/brokers/sockets.ts";
import { checkKafka } from "./kafka/check.ts";
import { openKafka, type KafkaSpec, type KafkaTools } from "./kafka/open.ts";
import { type RewindRequest, rewindTopics } from "./kafka/rewind.ts";
import { sampleTopics } from "./kafka/sample.ts";
import { kindOf, sourceKinds } from "./registry.ts";
import { StreamSource } from "./stream/stream-source.ts";

type Kinds = typeof sourceKinds;
/** The kinds that are read from their own log. Pushed events of any kind are read from a stream of the data dir. */
type ReadKind = { [K in keyof Kinds]: Kinds[K]["isPushed"] extends true ? never : K }[keyof Kinds];

/** The part of a pipeline that its source needs, of any kind. */
interface AnySpec extends KafkaSpec {
  /** The stream of pushed events; absent where the source is not pushed. */
  stream?: { folder: string; end: number };
  /** Which brokers may be connected to; without it, the defaults. */
  targets?: TargetRules;
}

/** The dependencies of all kinds of sources together. */
export type AnyTools = KafkaTools;

/** A source, and the maximum age of its events, in milliseconds. */
export interface OpenedSource {
  source: Source;
  /** Call it when the stream's events up to a sequence are durable. */
  arrived: (end: number) => void;
  maxAge: number;
}

/** What is done with the log of a kind. */
interface Log<Config extends SourceConfig> {
  open(spec: AnySpec, tools: AnyTools): Source;
  /** Whether it can be read, as far as that shows without reading. Joins nothing, and commits nothing. */
  check(sources: readonly Config[], tools: LogTools, signal: AbortSignal): Promise<Readiness>;
  /** The newest events, at most `count`. Takes none out, and commits nothing. Throws the reason of `signal`. */
  sample(sources: readonly Config[], tools: LogTools, count: number, signal: AbortSignal): Promise<SourceSample>;
  /** What is read again, and from where. Throws as `rewindTopics`. */
  rewind(
    sources: readonly Config[],
    tools: LogTools,
    request: RewindRequest,
    signal: AbortSignal,
  ): Promise<RewoundPartition[]>;
}

/** What all kinds together need to look at a log. */
type LogTools = Pick<AnyTools, "log" | "socketFactory"> & Pick<AnySpec["kafka"], "settings">;

/** One line for each. */
const logs: { readonly [K in ReadKind]: Log<Extract<SourceConfig, { type: Kinds[K]["types"][number] }>> } = {
  kafka: { open: openKafka, check: checkKafka, sample: sampleTopics, rewind: rewindTopics },
};

/** The log of the sources of a config, which are of one kind; undefined where events are pushed. */
function logOf({ sources: [first] }: Pick<PipelineConfig, "sources">): Log<SourceConfig> | undefined {
  const kind = first && kindOf(first);
  const [name] = Object.keys(logs).filter((one) => sourceKinds[one as ReadKind] === kind);
  return name === undefined ? undefined : logs[name as ReadKind];
}

/** Opens the source of a pipeline: a stream where events are pushed, else the source of its kind. */
export function openSource(spec: AnySpec, tools: AnyTools): OpenedSource {
  const { pipeline_id, config, stream } = spec;
  if (stream !== undefined) return openStream(stream, spec, tools);
  const log = logOf(config);
  if (log === undefined) throw new Error(`pipeline ${pipeline_id}: expected a source whose log is read`);
  return { source: log.open(spec, withSockets(spec, tools)), arrived: () => undefined, maxAge: Infinity };
}

/** Whether the source of a config can be read, as far as that shows without reading. Pushed events always can. */
export async function checkSource(
  { config, kafka, targets }: Pick<AnySpec, "config" | "kafka" | "targets">,
  tools: Pick<AnyTools, "log" | "socketFactory">,
  signal: AbortSignal,
): Promise<Readiness> {
  const asked = { ...withSockets({ targets }, tools), settings: kafka.settings };
  return (await logOf(config)?.check(config.sources, asked, signal)) ?? { kind: "ready" };
}

/** What is sampled: a part of the stream where events are pushed, else the topics of the config. */
export interface SourcePart extends Pick<AnySpec, "config" | "kafka" | "targets"> {
  stream?: StreamPart;
  /** The most events. */
  count: number;
}

/** The newest events of a source. Takes none out, and commits nothing. Throws the reason of `signal`. */
export async function sampleSource(
  { config, kafka, targets, stream, count }: SourcePart,
  tools: Pick<AnyTools, "disk" | "log" | "socketFactory">,
  signal: AbortSignal,
): Promise<SourceSample> {
  if (stream !== undefined) return sampleStream(tools.disk, stream, count, signal);
  const log = logOf(config);
  if (log === undefined) throw new Error(`pipeline ${config.pipeline_id}: expected a source whose log is read`);
  return log.sample(config.sources, { ...withSockets({ targets }, tools), settings: kafka.settings }, count, signal);
}

/** What a rewind of a pipeline reads again. Throws as `rewindTopics`. */
export async function rewindSource(
  { config, kafka, targets, request }: Pick<AnySpec, "config" | "kafka" | "targets"> & { request: RewindRequest },
  tools: Pick<AnyTools, "log" | "socketFactory">,
  signal: AbortSignal,
): Promise<RewoundPartition[]> {
  const log = logOf(config);
  if (log === undefined) throw new Error(`pipeline ${config.pipeline_id}: expected a source whose log is read`);
  return log.rewind(config.sources, { ...withSockets({ targets }, tools), settings: kafka.settings }, request, signal);
}

/** Connections are made only to brokers that the operator allows. */
function withSockets<Tools extends Pick<AnyTools, "socketFactory">>(
  { targets }: { targets?: TargetRules | undefined },
  tools: Tools,
): Tools {
  return { ...tools, socketFactory: tools.socketFactory ?? socketsWithin(new TargetPolicy(targets)) };
}

function openStream(
  { folder, end }: NonNullable<AnySpec["stream"]>,
  { config, progress, pending }: AnySpec,
  { disk, pause }: AnyTools,
): OpenedSource {
  const next = nextPosition(streamFeed, progress, pending) ?? 1;
  const source = new StreamSource(new EmbeddedReader(disk, folder, end), end, next, pause);
  const maxAge = durationMs(config.resources.nats.stream.max_age);
  return { source, arrived: (newEnd) => source.arrived(newEnd), maxAge };
}
