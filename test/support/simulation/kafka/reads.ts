import type { FetchedPartition } from "../../../../engine/sources/kafka/protocol/fetch.ts";
import type { Call } from "./broker.ts";
import type { ClusterState } from "./cluster.ts";
import { codes } from "./codes.ts";
import type { Partition } from "./topics.ts";
import { codeOf } from "./troubles.ts";
import type { AnswerWriter } from "./wire.ts";

const readCommitted = 1;
const [latest, earliest] = [-1, -2];

/** ListOffsets of the versions 2 and 3: the first offset, that behind the last, or the first since a time. */
export function answerListOffsets(call: Call, cluster: ClusterState): void {
  const { read, write } = call;
  read.int32();
  const isReadCommitted = read.int8() === readCommitted;
  const topics = listOf(call, () => ({
    topic: read.text(),
    partitions: listOf(call, () => ({ number: read.int32(), time: read.int64() })),
  }));
  write.int32(0).list(topics, ({ topic, partitions }) => {
    write.text(topic).list(partitions, ({ number, time }) => {
      const partition = cluster.partition(topic, number);
      const code = codeOf(call.trouble) || leads(call.node, partition);
      const found = code === codes.NONE ? offsetAt(partition!, time, isReadCommitted) : { time: -1, offset: -1 };
      write.int32(number).code(code).int64(found.time).int64(found.offset);
    });
  });
}

/** OffsetForLeaderEpoch of version 4: how far the log of an election goes. */
export function answerEpochEnds(call: Call, cluster: ClusterState): void {
  const { read, write } = call;
  read.int32();
  const topics = listOf(call, () => {
    const topic = read.text();
    const partitions = listOf(call, () => {
      const asked = { number: read.int32(), leaderEpoch: read.int32(), epoch: read.int32() };
      read.tags();
      return asked;
    });
    read.tags();
    return { topic, partitions };
  });
  write.int32(0).list(topics, ({ topic, partitions }) => {
    write.text(topic).list(partitions, ({ number, leaderEpoch, epoch }) => {
      const partition = cluster.partition(topic, number);
      const code = codeOf(call.trouble) || leads(call.node, partition) || epochCode(partition!, leaderEpoch);
      const { epoch: found, end } = (code === codes.NONE && partition!.log.endOf(epoch)) || { epoch: -1, end: -1 };
      write.code(code).int32(number).int32(found).int64(end).tags();
    });
    write.tags();
  });
  write.tags();
}

/** Fetch of the versions 11 to 13, the last one by the ids of topics. It waits as brokers do: for so many bytes, an error, or the end of its time. */
export async function answerFetch(call: Call, cluster: ClusterState): Promise<void> {
  const wanted = readFetch(call);
  if (call.trouble?.kind === "throttled") return writeFetched(call, [], call.trouble.milliseconds);
  const ends = performance.now() + wanted.wait;
  let found = fetchAll(call, cluster, wanted);
  while (!isEnough(found, wanted.minBytes) && call.trouble?.kind !== "empty" && performance.now() < ends) {
    await somethingChanged(call, cluster, wanted, ends - performance.now());
    if (call.isGone()) return;
    found = fetchAll(call, cluster, wanted);
  }
  writeFetched(call, found);
}

interface WantedPartition {
  /** Its name, or from version 13 on its id. */
  topic: string;
  number: number;
  epoch: number;
  from: number;
  maxBytes: number;
}

interface Fetch {
  /** Milliseconds. */
  wait: number;
  minBytes: number;
  maxBytes: number;
  isReadCommitted: boolean;
  wanted: WantedPartition[];
  /** Where the client is; empty where it does not say. */
  rack: string;
}

function readFetch(call: Call): Fetch {
  const { read } = call;
  read.int32();
  const head = { wait: read.int32(), minBytes: read.int32(), maxBytes: read.int32() };
  const isReadCommitted = read.int8() === readCommitted;
  // The id and the epoch of a session, which is never offered here.
  read.int32();
  read.int32();
  const topics = listOf(call, () => {
    const topic = call.version >= 13 ? read.uuid() : read.text();
    const partitions = listOf(call, () => {
      const [number, epoch, from] = [read.int32(), read.int32(), read.int64()];
      // The election in which the last record was written that the client has.
      if (call.version >= 12) read.int32();
      // Where the log of a replica starts.
      read.int64();
      const maxBytes = read.int32();
      read.tags();
      return { topic, number, epoch, from, maxBytes };
    });
    read.tags();
    return partitions;
  });
  // Those that a session is to forget.
  listOf(call, () => {
    if (call.version >= 13) read.uuid();
    else read.text();
    listOf(call, () => read.int32());
    read.tags();
  });
  return { ...head, isReadCommitted, wanted: topics.flat(), rack: read.text() };
}

/** Partitions in the order in which they are asked for; those for which there is no room bring nothing. */
function fetchAll(call: Call, cluster: ClusterState, fetch: Fetch): FetchedPartition[] {
  let room = fetch.maxBytes;
  return fetch.wanted.map((wanted) => {
    const found = fetchOne(call, cluster, wanted, fetch, room);
    room -= found.records.length;
    return found;
  });
}

function fetchOne(
  call: Call,
  cluster: ClusterState,
  { topic, number, epoch, from, maxBytes }: WantedPartition,
  { isReadCommitted, rack }: Fetch,
  room: number,
): FetchedPartition {
  const partition = partitionOf(call, cluster, { topic, number });
  const isUnknown = call.version >= 13 && cluster.byId(topic) === undefined;
  const unknownCode = isUnknown ? codes.UNKNOWN_TOPIC_ID : codes.NONE;
  const follows = partition !== undefined && isFollower(call.node, partition, cluster);
  const refusal = follows ? codes.NONE : leads(call.node, partition);
  const known = follows ? partition.seenBy(call.node) : partition;
  const errorCode = codeOf(call.trouble) || unknownCode || refusal || epochCode(known!, epoch);
  const unknown = { highWatermark: -1, lastStableOffset: -1, logStartOffset: -1 };
  const records = Buffer.alloc(0);
  const none = { topic, partition: number, abortedTransactions: [], preferredReplica: -1, records };
  if (errorCode !== codes.NONE) return { ...none, ...unknown, errorCode };
  const { log, lags } = partition!;
  const { end, high } = (follows ? lags.get(call.node) : undefined) ?? { end: log.end, high: log.end };
  if (from < log.start || from > end) return { ...none, ...unknown, errorCode: codes.OFFSET_OUT_OF_RANGE };
  const lastStableOffset = Math.min(high, log.stable);
  const ends = { errorCode, highWatermark: high, lastStableOffset, logStartOffset: log.start };
  const preferredReplica = follows ? -1 : closest(partition!, cluster, rack);
  // A leader that names another replica reads nothing.
  if (room <= 0 || call.trouble?.kind === "empty" || preferredReplica >= 0)
    return { ...none, ...ends, preferredReplica };
  const slice = log.slice({ from, maxBytes: Math.min(room, maxBytes), isReadCommitted, upTo: high });
  return { ...none, ...ends, records: slice.records, abortedTransactions: slice.aborted };
}

/** In the order in which they were asked for; those of a topic come together. */
function writeFetched({ write, version }: Call, found: readonly FetchedPartition[], throttleTime = 0): void {
  const byTopic = new Map<string, FetchedPartition[]>();
  for (const one of found) byTopic.set(one.topic, [...(byTopic.get(one.topic) ?? []), one]);
  write.int32(throttleTime).code(codes.NONE).int32(0);
  write.list([...byTopic], ([topic, partitions]) => {
    if (version >= 13) write.uuid(topic);
    else write.text(topic);
    write.list(partitions, (one) => writePartition(write, one)).tags();
  });
  write.tags();
}

function writePartition(write: AnswerWriter, one: FetchedPartition): void {
  write.int32(one.partition).code(one.errorCode);
  write.int64(one.highWatermark).int64(one.lastStableOffset).int64(one.logStartOffset);
  write.list(one.abortedTransactions, ({ producerId, firstOffset }) => {
    write.int64(Number(producerId)).int64(firstOffset).tags();
  });
  write.int32(one.preferredReplica).bytes(one.records).tags();
}

function isEnough(found: readonly FetchedPartition[], minBytes: number): boolean {
  if (found.some((one) => one.errorCode !== codes.NONE || one.preferredReplica >= 0)) return true;
  return found.reduce((sum, { records }) => sum + records.length, 0) >= Math.max(1, minBytes);
}

function somethingChanged(call: Call, cluster: ClusterState, { wanted }: Fetch, most: number): Promise<void> {
  return new Promise((resolve) => {
    const forget: (() => void)[] = [];
    const wake = (): void => {
      clearTimeout(timer);
      for (const give of forget) give();
      resolve();
    };
    const timer = setTimeout(wake, most);
    forget.push(call.onGone(wake));
    for (const one of wanted) forget.push(partitionOf(call, cluster, one)!.onChange(wake));
  });
}

function partitionOf(
  { version }: Call,
  cluster: ClusterState,
  { topic, number }: Pick<WantedPartition, "topic" | "number">,
): Partition | undefined {
  const of = version >= 13 ? cluster.byId(topic) : cluster.topics.get(topic);
  return of?.partitions[number];
}

/** What a node answers that is asked to read a partition: 0 where it leads it. */
function leads(node: number, partition: Partition | undefined): number {
  if (partition === undefined) return codes.UNKNOWN_TOPIC_OR_PARTITION;
  return partition.leader === node ? codes.NONE : codes.NOT_LEADER_OR_FOLLOWER;
}

/** Whether a node is read that does not lead, which only those with a rack are. */
function isFollower(node: number, { leader }: Partition, cluster: ClusterState): boolean {
  return leader !== node && leader !== -1 && cluster.rackOf(node) !== undefined;
}

/** The follower that a leader names to a client of a rack, of those that it takes for in sync; -1: it is read itself. */
function closest({ leader, lags }: Partition, cluster: ClusterState, rack: string): number {
  if (cluster.rackOf(leader) === rack) return -1;
  const isThere = (node: number): boolean => {
    const lag = lags.get(node);
    return cluster.rackOf(node) === rack && cluster.listed.has(node) && (lag === undefined || lag.isInSync);
  };
  return cluster.nodes.find((node) => node !== leader && isThere(node)) ?? -1;
}

/** Whether a client knows the same election. -1: it does not say which. */
function epochCode({ epoch: own }: Pick<Partition, "epoch">, epoch: number): number {
  if (epoch < 0 || epoch === own) return codes.NONE;
  return epoch < own ? codes.FENCED_LEADER_EPOCH : codes.UNKNOWN_LEADER_EPOCH;
}

function offsetAt({ log }: Partition, time: number, isReadCommitted: boolean): { time: number; offset: number } {
  if (time === latest) return { time: -1, offset: isReadCommitted ? log.stable : log.end };
  if (time === earliest) return { time: -1, offset: log.start };
  return log.since(time) ?? { time: -1, offset: -1 };
}

function listOf<Item>({ read }: Call, item: () => Item): Item[] {
  return read.list(item) ?? [];
}
