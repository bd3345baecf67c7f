import type { KafkaSourceConfig, RewindTo } from "../../../schemas/pipeline.ts";
import { EngineError } from "../../core/errors.ts";
import type { Progress } from "../../core/journal.ts";
import type { RewoundPartition } from "../../core/positions.ts";
import { Brokers } from "./brokers/brokers.ts";
import { kafkaClient } from "./brokers/connection.ts";
import { failureText, hidingFrom } from "./brokers/failures.ts";
import { byConnection, type Connected } from "./connections.ts";
import { Group } from "./group/group.ts";
import { isMeant, rewindOffsets } from "./group/rewind-offsets.ts";
import { partitionOf, partitionText } from "./positions/feed.ts";
import type { PartitionState } from "./positions/group-state.ts";
import { KafkaPositions } from "./positions/positions.ts";
import type { SampleTools } from "./sample.ts";

/** What a rewind is told of. */
export interface RewindRequest {
  pipeline_id: string;
  to: RewindTo;
  progress: Progress;
  /** With dedup: its longest window, in milliseconds. */
  window?: number;
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

/** What a rewind reads again is only told here: the engine stores it. */
const place = (): Promise<void> => Promise.reject(new Error("expected a rewind that is told to place nothing"));

async function rewoundIn(
  group: Pick<Group, "ends" | "offsetsSince">,
  topics: readonly string[],
  { pipeline_id, to, progress, window }: RewindRequest,
): Promise<RewoundPartition[]> {
  const positions = new KafkaPositions(topics, pipeline_id, { progress: () => progress, pending: () => [], place });
  const state = positions.there(await group.ends());
  positions.learn(state.cluster);
  const [again] = positions.recreated();
  if (again !== undefined) throw refused(pipeline_id, `topic ${again.topic} was created again, and is not read yet`);
  const read = state.partitions.filter(({ feed }) => positions.final(feed) !== undefined);
  const found: RewoundPartition[] = [];
  for (const { feed, next, first } of await nextOffsets(group, pipeline_id, to, read)) {
    const from = positions.final(feed)!;
    if (positions.cut(feed) !== undefined)
      throw refused(pipeline_id, `${partitionText(feed)} has lost messages, and it is undecided where it goes on`);
    if (next < from) found.push({ feed, ...partitionOf(feed), from, to: next, first });
    else if (to.kind === "offsets")
      throw refused(pipeline_id, `${partitionText(feed)} goes on at offset ${from}, and ${next} is not before that`);
  }
  return window === undefined ? found : withRecent(group, found, Date.now() - window);
}

async function withRecent(
  group: Pick<Group, "offsetsSince">,
  rewound: readonly RewoundPartition[],
  time: number,
): Promise<RewoundPartition[]> {
  const since = await group.offsetsSince(
    rewound.map(({ feed }) => partitionOf(feed)),
    Math.max(0, time),
  );
  return rewound.map((one, index) => ({ ...one, recent: Math.max(0, one.from - Math.max(one.to, since[index]!)) }));
}

/** The offsets of partitions; of one that is left as it is there is none. */
async function nextOffsets(
  group: Pick<Group, "offsetsSince">,
  pipeline_id: string,
  to: RewindTo,
  read: readonly PartitionState[],
): ReturnType<typeof rewindOffsets> {
  const meant = read.filter(({ feed }) => isMeant(to, feed));
  const known = meant.map(({ feed, ends, missing }) => {
    if (ends !== undefined) return { feed, first: ends.low };
    throw refused(pipeline_id, `nobody says what ${partitionText(feed)} has: ${missing?.message}`);
  });
  const found = await rewindOffsets(group, to, known);
  const gone = to.kind === "offsets" ? found.find(({ first, next }) => next < first) : undefined;
  if (gone === undefined) return found;
  throw refused(pipeline_id, `${partitionText(gone.feed)} begins at offset ${gone.first}, and ${gone.next} is gone`);
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
