import type { KafkaSourceConfig } from "../../../schemas/pipeline.ts";
import { EngineError } from "../../core/errors.ts";
import type { Progress } from "../../core/journal.ts";
import type { RewindTo, RewoundPartition } from "../../core/positions.ts";
import { Brokers } from "./brokers/brokers.ts";
import { kafkaClient } from "./brokers/connection.ts";
import { failureText, hidingFrom } from "./brokers/failures.ts";
import { byConnection, type Connected } from "./connections.ts";
import { Group } from "./group/group.ts";
import { partitionOf, partitionText } from "./positions/feed.ts";
import type { PartitionState } from "./positions/group-state.ts";
import { KafkaPositions } from "./positions/positions.ts";
import type { SampleTools } from "./sample.ts";

/** What a rewind is told of. */
export interface RewindRequest {
  pipeline_id: string;
  to: RewindTo;
  progress: Progress;
}

/**
 * The partitions of topics that are read again, and from where. Joins nothing, and commits nothing. Throws EngineError
 * REWIND_REFUSED where that cannot be told, an error whose text has no secret, and the reason of `signal`.
 */
export async function rewindTopics(
  sources: readonly KafkaSourceConfig[],
  tools: SampleTools,
  request: RewindRequest,
  signal: AbortSignal,
): Promise<RewoundPartition[]> {
  const rewound: RewoundPartition[] = [];
  for (const connected of byConnection(sources))
    rewound.push(...(await rewindCluster(connected, tools, request, signal)));
  if (request.to.kind === "offsets") checkAllNamed(request.to.offsets, rewound);
  if (rewound.length === 0)
    throw refused(request.pipeline_id, "nothing before its next offsets is left to be read again");
  return rewound;
}

async function rewindCluster(
  sources: Connected,
  { settings, log, socketFactory }: SampleTools,
  request: RewindRequest,
  signal: AbortSignal,
): Promise<RewoundPartition[]> {
  const { connection_params } = sources[0];
  const brokers = new Brokers(kafkaClient(connection_params, "sluice-rewind", log, socketFactory), settings);
  // What is under way fails at once: no answer is waited for.
  signal.addEventListener("abort", () => void brokers.close().catch(() => undefined), { once: true });
  try {
    await brokers.connect();
    const topics = [...new Set(sources.map(({ topic }) => topic))];
    return await rewoundIn(new Group(brokers, "sluice-rewind", topics), topics, request);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof EngineError) throw error;
    throw new Error(`Kafka: ${failureText(error, hidingFrom(connection_params))}`, { cause: error });
  } finally {
    await brokers.close().catch(() => undefined);
  }
}

async function rewoundIn(
  group: Pick<Group, "ends" | "offsetsSince">,
  topics: readonly string[],
  { pipeline_id, to, progress }: RewindRequest,
): Promise<RewoundPartition[]> {
  const positions = new KafkaPositions(topics, pipeline_id, { progress: () => progress, pending: () => [] });
  const state = positions.there(await group.ends());
  positions.learn(state.cluster);
  const [again] = positions.recreated();
  if (again !== undefined) throw refused(pipeline_id, `topic ${again.topic} was created again, and is not read yet`);
  const found: RewoundPartition[] = [];
  for (const of of state.partitions) {
    const from = positions.final(of.feed);
    if (from === undefined) continue;
    const next = await nextOf(group, pipeline_id, to, of);
    if (next === undefined) continue;
    if (positions.cut(of.feed) !== undefined)
      throw refused(pipeline_id, `${partitionText(of.feed)} has lost messages, and it is undecided where it goes on`);
    if (next < from) found.push({ feed: of.feed, ...partitionOf(of.feed), from, to: next, first: of.ends!.low });
    else if (to.kind === "offsets")
      throw refused(pipeline_id, `${partitionText(of.feed)} goes on at offset ${from}, and ${next} is not before that`);
  }
  return found;
}

/** The offset at which a partition goes on; undefined where it is left as it is. */
async function nextOf(
  group: Pick<Group, "offsetsSince">,
  pipeline_id: string,
  to: RewindTo,
  { feed, ends, missing }: PartitionState,
): Promise<number | undefined> {
  const { topic, partition } = partitionOf(feed);
  const named =
    to.kind === "offsets" ? to.offsets.find((one) => one.topic === topic && one.partition === partition) : undefined;
  if (to.kind === "offsets" && named === undefined) return undefined;
  if (ends === undefined)
    throw refused(pipeline_id, `nobody says what ${partitionText(feed)} has: ${missing?.message}`);
  if (to.kind === "earliest") return ends.low;
  if (named === undefined) return (await group.offsetsSince([{ topic, partition }], (to as { time: number }).time))[0]!;
  if (named.offset >= ends.low) return named.offset;
  throw refused(pipeline_id, `${partitionText(feed)} begins at offset ${ends.low}, and ${named.offset} is gone`);
}

function checkAllNamed(
  offsets: readonly { topic: string; partition: number }[],
  rewound: readonly RewoundPartition[],
): void {
  const missing = offsets.find(
    (one) => !rewound.some((of) => of.topic === one.topic && of.partition === one.partition),
  );
  if (missing === undefined) return;
  throw new EngineError(
    "REWIND_REFUSED",
    `partition ${missing.partition} of topic ${missing.topic}: expected one that the pipeline has read, found none`,
  );
}

function refused(pipeline_id: string, why: string): EngineError {
  return new EngineError("REWIND_REFUSED", `pipeline ${pipeline_id} is not rewound: ${why}`);
}
