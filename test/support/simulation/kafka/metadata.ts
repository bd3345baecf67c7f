import type { Call } from "./broker.ts";
import type { ClusterState } from "./cluster.ts";
import { codes } from "./codes.ts";
import { noId, type Partition, type Topic } from "./topics.ts";
import { codeOf } from "./troubles.ts";

/** A topic that is asked for, by its name or, in the newest versions, by its id. */
interface Asked {
  name: string | null;
  id: string;
}

/** How the nodes of a cluster are reached. */
export interface Addresses {
  clusterId: string;
  host: (node: number) => string;
  port: number;
}

/** Metadata of the versions 5 to 12: nodes, topics, and who leads their partitions by what this node knows. */
export function answerMetadata(call: Call, cluster: ClusterState, { clusterId, host, port }: Addresses): void {
  const { version, write, node } = call;
  const asked = readAsked(call);
  const topics: (Topic | Asked)[] = asked?.map((one) => find(cluster, one)) ?? [...cluster.topics.values()];
  const listed = [...cluster.listed];
  write.int32(0).list(listed, (one) =>
    write
      .int32(one)
      .text(host(one))
      .int32(port)
      .text(cluster.rackOf(one) ?? null)
      .tags(),
  );
  write.text(clusterId).int32(listed[0] ?? -1);
  write.list(topics, (topic) => {
    const partitions = "partitions" in topic && codeOf(call.trouble) === 0 ? topic.partitions : [];
    write.code(topicCode(topic, codeOf(call.trouble))).text(topic.name);
    if (version >= 10) write.uuid(topic.id);
    write.int8(0).list(partitions, (partition) => writePartition(call, cluster, partition.seenBy(node), partition));
    if (version >= 8) write.int32(-(2 ** 31));
    write.tags();
  });
  if (version >= 8 && version <= 10) write.int32(-(2 ** 31));
  write.tags();
}

/** Undefined: all topics. */
function readAsked({ read, version }: Call): Asked[] | undefined {
  return read.list(() => {
    const id = version >= 10 ? read.uuid() : noId;
    const name = read.nullableText();
    read.tags();
    return { id, name };
  });
}

function find(cluster: ClusterState, asked: Asked): Topic | Asked {
  if (asked.name !== null) return cluster.topics.get(asked.name) ?? { name: asked.name, id: noId };
  return cluster.byId(asked.id) ?? asked;
}

function topicCode(topic: Topic | Asked, trouble: number): number {
  if (trouble !== 0) return trouble;
  if ("partitions" in topic) return codes.NONE;
  return topic.name === null ? codes.UNKNOWN_TOPIC_ID : codes.UNKNOWN_TOPIC_OR_PARTITION;
}

function writePartition(
  { version, write }: Call,
  { listed, nodes }: ClusterState,
  seen: { leader: number; epoch: number },
  { number }: Partition,
): void {
  const isLed = listed.has(seen.leader);
  write.code(isLed ? codes.NONE : codes.LEADER_NOT_AVAILABLE).int32(number);
  write.int32(isLed ? seen.leader : -1);
  if (version >= 7) write.int32(seen.epoch);
  const writeNode = (node: number): void => void write.int32(node);
  write.list(nodes, writeNode).list([...listed], writeNode);
  write.list(
    nodes.filter((node) => !listed.has(node)),
    writeNode,
  );
  write.tags();
}
