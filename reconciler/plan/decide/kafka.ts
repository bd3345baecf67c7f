import { consumerGroup, hasConsumerGroup } from "../../../engine/language.ts";
import {
  canonicalBroker,
  isObject,
  type KafkaSourceConfig,
  type Path,
  type PipelineConfig,
} from "../../../schemas/index.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import type { GroupPlace, RecreatedPosition, Rereading, SharedTopic, TopicsAnew, TopicStart } from "../reason.ts";

export function topicsOf({ sources }: PipelineConfig): KafkaSourceConfig[] {
  return sources.filter((source) => source.type === "kafka");
}

/** Where a pipeline starts to read these topics; empty for one that reads none. */
export function beginning(
  { pipeline_id, config, options }: DesiredPipeline,
  sources: readonly KafkaSourceConfig[] = topicsOf(config),
): TopicStart[] {
  const group = consumerGroup(pipeline_id, options);
  return sources.map((source) => ({ topic: source.topic, group, ...beginOf(source, { options }) }));
}

/** Where a topic begins of which the group of the pipeline has no offsets. */
function beginOf(
  source: KafkaSourceConfig,
  { options }: Pick<DesiredPipeline, "options">,
): Pick<TopicStart, "adopted" | "start"> {
  const adopted = adopts(source, { options });
  const start = options.start ?? source.consumer_group_initial_offset;
  return { ...(adopted !== undefined && { adopted }), start };
}

/** The committed offsets that a deleted pipeline leaves in Kafka. */
export function keptInKafka({
  pipeline_id,
  config,
  options,
  lag = 0,
  uncommitted = 0,
}: ActualPipeline): GroupPlace | undefined {
  if (!hasConsumerGroup(config)) return undefined;
  return { group: consumerGroup(pipeline_id, options), topics: namesOf(topicsOf(config)), lag, uncommitted };
}

/** Where a recreated pipeline reads. */
export function positionAfter(desired: DesiredPipeline, present: ActualPipeline): RecreatedPosition | undefined {
  if (!hasConsumerGroup(desired.config)) {
    const place = keptInKafka(present);
    return place && { reads: "left", place };
  }
  const before = topicsOf(present.config);
  const isSame = topicsOf(desired.config).every((source) =>
    before.some((old) => old.topic === source.topic && shareBroker(old, source)),
  );
  const group = consumerGroup(present.pipeline_id, present.options);
  if (!isSame || group !== consumerGroup(desired.pipeline_id, desired.options))
    return { reads: "anew", topics: beginning(desired) };
  return { reads: "on", group };
}

/** Topics of a new pipeline that another one reads or has read, unless it only goes on where that one ended. */
export function sharedTopics(fresh: DesiredPipeline, other: ActualPipeline, goesOn: boolean): SharedTopic[] {
  const read = goesOn ? commonTopics(fresh, other) : readAnew(fresh, other);
  return read
    .map((source) => ({ topic: source.topic, ...beginOf(source, fresh), other: other.pipeline_id, goesOn }))
    .filter(({ start, adopted }) => goesOn || start !== "latest" || adopted !== undefined);
}

/** What a recreation in another group reads other than on from where the former group ends; undefined for nothing. */
export function topicsAnew(desired: DesiredPipeline, present: ActualPipeline): TopicsAnew | undefined {
  const topics = readAnew(desired, present).map((source) => {
    const { topic, source_id } = source;
    return { topic, source_id, ...beginOf(source, desired) };
  });
  if (topics.length === 0) return undefined;
  return { former: consumerGroup(present.pipeline_id, present.options), topics };
}

function readAnew(fresh: DesiredPipeline, other: ActualPipeline): KafkaSourceConfig[] {
  const former = consumerGroup(other.pipeline_id, other.options);
  if (consumerGroup(fresh.pipeline_id, fresh.options) === former) return [];
  return commonTopics(fresh, other).filter((source) => adopts(source, fresh) !== former);
}

function commonTopics({ config }: DesiredPipeline, other: ActualPipeline): KafkaSourceConfig[] {
  const theirs = topicsOf(other.config);
  return topicsOf(config).filter((source) =>
    theirs.some((one) => one.topic === source.topic && shareBroker(one, source)),
  );
}

/** How an edit changes the position from which a pipeline reads. */
export function rereading(from: ActualPipeline, to: DesiredPipeline): Rereading {
  if (!hasConsumerGroup(from.config) || !hasConsumerGroup(to.config))
    return { elsewhere: [], added: [], begins: false };
  return { ...otherTopics(from, to), ...otherOptions(from, to) };
}

/** A topic is where its brokers are: new brokers may be another cluster, and then nothing of it was read there. */
function otherTopics(from: ActualPipeline, to: DesiredPipeline): Pick<Rereading, "elsewhere" | "added" | "removed"> {
  const [before, after] = [topicsOf(from.config), topicsOf(to.config)];
  const { elsewhere, there, left } = movesOf(from.config, to.config);
  const removed = removedTopics(from, left, after);
  return {
    elsewhere: beginning(to, elsewhere),
    added: beginning(to, without(there, before)),
    ...(removed !== undefined && { removed }),
  };
}

/** Topics that are read at other brokers from now on, those that are read where others are, and those that are left. */
interface Moves {
  elsewhere: KafkaSourceConfig[];
  there: KafkaSourceConfig[];
  left: KafkaSourceConfig[];
}

export function movesOf(from: PipelineConfig, to: PipelineConfig): Moves {
  const [before, after] = [topicsOf(from), topicsOf(to)];
  const [elsewhere, there] = partition(after, (now) => before.every((old) => !shareBroker(now, old)));
  const left = without(before, there).filter((old) => elsewhere.every(({ topic }) => topic !== old.topic));
  return { elsewhere, there, left };
}

/**
 * Whether what was not read yet of a topic stays unread by this difference: the pipeline leaves the topic, or reads it at
 * brokers that may be another cluster. Whatever the lag: more may come until it stops.
 */
export function leavesUnread({ at, from }: DifferenceOfSources, { elsewhere, left }: Moves): boolean {
  if (at[0] !== "sources" || from === undefined) return false;
  if (at.includes("brokers")) return elsewhere.length > 0;
  const named = [from].flat().map((one) => (isObject(one) ? one["topic"] : at.at(-1) === "topic" ? one : undefined));
  return left.some(({ topic }) => named.includes(topic));
}

/** The part of a difference that tells which sources it is about. */
interface DifferenceOfSources {
  at: Path;
  from?: unknown;
}

function partition<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}

/** What happens to removed topics. The lag is known only for all topics of a pipeline together. */
function removedTopics(
  { config, lag = 0, paused, pending_batches }: ActualPipeline,
  gone: readonly KafkaSourceConfig[],
  after: readonly KafkaSourceConfig[],
): Rereading["removed"] {
  if (gone.length === 0) return undefined;
  const ids = new Set(after.map(({ source_id }) => source_id));
  const isSourceGone = gone.some(({ source_id }) => !ids.has(source_id));
  return {
    topics: namesOf(gone),
    lag: gone.length < topicsOf(config).length ? 0 : lag,
    becomesLetters: paused !== undefined && pending_batches > 0 && isSourceGone,
  };
}

/** The sources whose topics others do not read in the same cluster. */
function without(sources: readonly KafkaSourceConfig[], others: readonly KafkaSourceConfig[]): KafkaSourceConfig[] {
  return sources.filter((one) => !others.some((other) => other.topic === one.topic && shareBroker(one, other)));
}

function otherOptions(
  { config, options }: ActualPipeline,
  to: DesiredPipeline,
): Pick<Rereading, "begins" | "take_over"> {
  const { start, take_over } = to.options;
  const begins =
    start !== options.start ||
    topicsOf(to.config).some(
      (source) => beginsOtherwise(source, config) || adopts(source, to) !== adopts(source, { options }),
    );
  const isTaken = take_over !== undefined && take_over !== options.take_over;
  return { begins, ...(isTaken && { take_over }) };
}

/** The group at whose offsets a source begins. */
function adopts(
  { source_id }: Pick<KafkaSourceConfig, "source_id">,
  { options }: Pick<DesiredPipeline, "options">,
): string | undefined {
  return options.sources?.[source_id]?.adopt_group;
}

function beginsOtherwise({ topic, consumer_group_initial_offset }: KafkaSourceConfig, before: PipelineConfig): boolean {
  return topicsOf(before).some((old) => {
    return old.topic === topic && old.consumer_group_initial_offset !== consumer_group_initial_offset;
  });
}

/** Two names of one cluster that have no address in common are taken for two clusters. */
export function shareBroker(a: KafkaSourceConfig, b: KafkaSourceConfig): boolean {
  const addresses = new Set(a.connection_params.brokers.map(canonicalBroker));
  return b.connection_params.brokers.some((broker) => addresses.has(canonicalBroker(broker)));
}

export function namesOf(sources: readonly KafkaSourceConfig[]): string[] {
  return sources.map(({ topic }) => topic);
}
