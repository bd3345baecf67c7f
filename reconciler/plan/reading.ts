import { consumerGroup } from "../../engine/index.ts";
import type { KafkaSourceConfig, PipelineConfig } from "../../schemas/index.ts";
import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { counted, listed } from "./wording.ts";

/** Whether a pipeline reads its events itself, from where they stay. Others are sent theirs. */
export function readsFromKafka(config: PipelineConfig): boolean {
  return topicsOf(config).length > 0;
}

export function topicsOf({ sources }: PipelineConfig): KafkaSourceConfig[] {
  return sources.filter((source) => source.type === "kafka");
}

/** Where a new pipeline begins to read; empty for one that reads no topic. */
export function beginning({ pipeline_id, config, options }: DesiredPipeline): string {
  return forTopics(config, (source) => {
    const group = `the consumer group ${consumerGroup(pipeline_id)} has offsets of it, where it then goes on`;
    return `; topic ${source.topic} is read from ${startOf(source, options.start)}, unless ${group}`;
  });
}

/** Where a group without offsets begins, in words. */
export function startOf(source: KafkaSourceConfig, start: string = source.consumer_group_initial_offset): string {
  if (start === "earliest") return "its beginning";
  return start === "latest" ? "its end (what it holds now is not read)" : `what came at ${start} or later`;
}

/** What the group of a pipeline that goes leaves behind. */
export function keptInKafka({ pipeline_id, config, lag = 0, unsaid = 0 }: ActualPipeline): string {
  if (!readsFromKafka(config)) return "";
  const { named, its } = topicsText(topicsOf(config));
  const before = lag === 0 ? "" : `, ${counted(lag, "offset")} before ${its}`;
  const again = unsaid === 0 ? "" : `, which reads ${counted(unsaid, "offset")} again`;
  const group = `consumer group ${consumerGroup(pipeline_id)} keeps its place in ${named}`;
  return `; ${group}${before}, and a pipeline with this pipeline_id goes on there${again}`;
}

/** What a stop leaves in the topics. */
export function leftInTopic({ config, lag = 0 }: ActualPipeline): string {
  if (lag === 0) return "";
  return `; ${counted(lag, "offset")} ${lag === 1 ? "stays" : "stay"} unread in ${topicsText(topicsOf(config)).named}`;
}

/** What an edit of topics, brokers or options does to where a pipeline reads. */
export function rereading(from: ActualPipeline, to: DesiredPipeline): string {
  if (!readsFromKafka(from.config) || !readsFromKafka(to.config)) return "";
  return otherTopics(from, to) + otherOptions(from, to);
}

/** All topics of a pipeline have one connection. */
function otherTopics(from: ActualPipeline, { config, options }: DesiredPipeline): string {
  const [before, after] = [topicsOf(from.config), topicsOf(config)];
  if (!shareBroker(after[0]!, before[0]!)) {
    const read = after.map((source) => `topic ${source.topic} is read there from ${startOf(source, options.start)}`);
    const pending = "pending batches of the old one are a matter of x-sluice.on_lost";
    return `; if the new brokers are another cluster, ${read.join(", ")}, and ${pending}`;
  }
  const group = `the consumer group ${consumerGroup(from.pipeline_id)}`;
  const added = without(after, before).map(
    (source) =>
      `; topic ${source.topic} is read from ${startOf(source, options.start)}, unless ${group} has offsets of it`,
  );
  return added.join("") + left(from, without(before, after), after);
}

/** What becomes of topics that are read no more. How far the pipeline is behind is known of all its topics together. */
function left(
  { config, lag = 0, paused, pending_batches }: ActualPipeline,
  gone: readonly KafkaSourceConfig[],
  after: readonly KafkaSourceConfig[],
): string {
  if (gone.length === 0) return "";
  const { named } = topicsText(gone);
  const count = lag === 0 || gone.length < topicsOf(config).length ? "" : ` (${counted(lag, "offset")})`;
  const ids = new Set(after.map(({ source_id }) => source_id));
  const isHeld = paused !== undefined && pending_batches > 0 && gone.some(({ source_id }) => !ids.has(source_id));
  const held = isHeld ? ", and what pending batches hold of a source that is gone becomes dead letters" : "";
  return `; what was not read yet of ${named}${count} stays unread${held}`;
}

/** The sources whose topics others do not read. */
function without(sources: readonly KafkaSourceConfig[], others: readonly KafkaSourceConfig[]): KafkaSourceConfig[] {
  return sources.filter(({ topic }) => !others.some((other) => other.topic === topic));
}

/** Such as `topics orders and returns`, and their ends. */
function topicsText(sources: readonly KafkaSourceConfig[]): { named: string; its: string } {
  const names = sources.map(({ topic }) => topic);
  return names.length === 1
    ? { named: `topic ${names[0]}`, its: "its end" }
    : { named: `topics ${listed(names)}`, its: "their ends" };
}

function otherOptions({ config, options }: ActualPipeline, to: DesiredPipeline): string {
  const { start, take_over } = to.options;
  const begins = start !== options.start || topicsOf(to.config).some((source) => beginsOtherwise(source, config));
  const isTaken = take_over !== undefined && take_over !== options.take_over;
  return (
    (begins ? "; where it begins counts only for a topic of which its consumer group has no offsets" : "") +
    (isTaken
      ? `; it goes on where run ${take_over} left the consumer group: pending batches that begin below that are given ` +
        `up, and dedup does not know what that run has read`
      : "")
  );
}

function beginsOtherwise({ topic, consumer_group_initial_offset }: KafkaSourceConfig, before: PipelineConfig): boolean {
  return topicsOf(before).some((old) => {
    return old.topic === topic && old.consumer_group_initial_offset !== consumer_group_initial_offset;
  });
}

/** Two names of one cluster that have no address in common are taken for two clusters. */
export function shareBroker(a: KafkaSourceConfig, b: KafkaSourceConfig): boolean {
  const addresses = new Set(a.connection_params.brokers.map((broker) => broker.trim().toLowerCase()));
  return b.connection_params.brokers.some((broker) => addresses.has(broker.trim().toLowerCase()));
}

function forTopics(config: PipelineConfig, say: (source: KafkaSourceConfig) => string): string {
  return topicsOf(config).map(say).join("");
}
