import { consumerGroup } from "../../engine/index.ts";
import type { KafkaSourceConfig, PipelineConfig } from "../../schemas/index.ts";
import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { counted } from "./wording.ts";

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
export function keptInKafka({ pipeline_id, config, lag, unsaid = 0 }: ActualPipeline): string {
  return forTopics(config, ({ topic }) => {
    const group = `consumer group ${consumerGroup(pipeline_id)} keeps its place in topic ${topic}`;
    const before = lag === undefined || lag === 0 ? "" : `, ${counted(lag, "offset")} before its end`;
    const again = unsaid === 0 ? "" : `, which reads ${counted(unsaid, "offset")} again`;
    return `; ${group}${before}, and a pipeline with this pipeline_id goes on there${again}`;
  });
}

/** What a stop leaves in the topic. */
export function leftInTopic({ config, lag = 0 }: ActualPipeline): string {
  const stay = `${counted(lag, "offset")} ${lag === 1 ? "stays" : "stay"}`;
  return forTopics(config, ({ topic }) => (lag === 0 ? "" : `; ${stay} unread in topic ${topic}`));
}

/** What an edit of topic, brokers or options does to where a pipeline reads. */
export function rereading(from: ActualPipeline, to: DesiredPipeline): string {
  if (!readsFromKafka(from.config)) return "";
  const [old] = topicsOf(from.config);
  const topics = forTopics(to.config, (source) => (old === undefined ? "" : otherTopic(from, old, source, to)));
  return topics + otherOptions(from, to);
}

function otherTopic(
  { pipeline_id, lag = 0 }: ActualPipeline,
  old: KafkaSourceConfig,
  source: KafkaSourceConfig,
  { options }: DesiredPipeline,
): string {
  const start = startOf(source, options.start);
  if (!shareBroker(source, old)) {
    return (
      `; if the new brokers are another cluster, topic ${source.topic} is read there from ${start}, and pending ` +
      `batches of the old one are a matter of x-sluice.on_lost`
    );
  }
  if (source.topic === old.topic) return "";
  const left = lag === 0 ? "" : ` (${counted(lag, "offset")})`;
  return (
    `; topic ${source.topic} is read from ${start}, unless the consumer group ${consumerGroup(pipeline_id)} has offsets ` +
    `of it; what was not read yet of topic ${old.topic}${left} stays unread`
  );
}

function otherOptions({ config, options }: ActualPipeline, to: DesiredPipeline): string {
  const { start, take_over } = to.options;
  const begins = start !== options.start || initialOffsets(config) !== initialOffsets(to.config);
  const isTaken = take_over !== undefined && take_over !== options.take_over;
  return (
    (begins ? "; where it begins counts only for a topic of which its consumer group has no offsets" : "") +
    (isTaken
      ? `; it goes on where run ${take_over} left the consumer group: pending batches that begin below that are given ` +
        `up, and dedup does not know what that run has read`
      : "")
  );
}

function initialOffsets(config: PipelineConfig): string {
  return forTopics(config, ({ consumer_group_initial_offset }) => `${consumer_group_initial_offset} `);
}

/** Two names of one cluster that have no address in common are taken for two clusters. */
export function shareBroker(a: KafkaSourceConfig, b: KafkaSourceConfig): boolean {
  const addresses = new Set(a.connection_params.brokers.map((broker) => broker.trim().toLowerCase()));
  return b.connection_params.brokers.some((broker) => addresses.has(broker.trim().toLowerCase()));
}

function forTopics(config: PipelineConfig, say: (source: KafkaSourceConfig) => string): string {
  return topicsOf(config).map(say).join("");
}
