import type { Call } from "./broker.ts";
import type { ClusterState, CommittedOffset, CoordinatedGroup } from "./cluster.ts";
import { codes } from "./codes.ts";
import type { JoinRequest, MemberIdentity } from "./group-protocol.ts";
import type { Addresses } from "./metadata.ts";
import { codeOf } from "./troubles.ts";

const mostMetadata = 4_096;
const nothing = Buffer.alloc(0);

/** The group that a request names first, and what this node answers for it: 0 where it coordinates it. */
function coordinated(call: Call, cluster: ClusterState): { of: CoordinatedGroup; code: number } {
  const of = cluster.group(call.read.text());
  return { of, code: codeOf(call.trouble) || cluster.coordinates(call.node, of) };
}

export function answerFindCoordinator(call: Call, cluster: ClusterState, { host, port }: Addresses): void {
  const { coordinator } = cluster.group(call.read.text());
  const isThere = cluster.listed.has(coordinator);
  const code = codeOf(call.trouble) || (isThere ? codes.NONE : codes.COORDINATOR_NOT_AVAILABLE);
  const { write } = call;
  write.int32(0).code(code).text(null);
  if (code === codes.NONE) write.int32(coordinator).text(host(coordinator)).int32(port);
  else write.int32(-1).text("").int32(-1);
}

export async function answerJoin(call: Call, cluster: ClusterState): Promise<void> {
  const { read, write, clientId } = call;
  const { of, code } = coordinated(call, cluster);
  const times = { sessionTimeout: read.int32(), rebalanceTimeout: read.int32() };
  const memberId = read.text();
  const instanceId = instanceOf(call, 5);
  const protocolType = read.text();
  const protocols = read.list(() => ({ name: read.text(), metadata: read.bytes() })) ?? [];
  const request: JoinRequest = { memberId, instanceId, clientId, ...times, protocolType, protocols };
  const failed = { code, memberId, generation: -1, protocol: "", leader: "", members: [] };
  const answer = code === codes.NONE ? await of.group.join(request) : failed;
  write.int32(0).code(answer.code).int32(answer.generation);
  write.text(answer.protocol).text(answer.leader).text(answer.memberId);
  write.list(answer.members, (member) => {
    write.text(member.memberId);
    if (call.version >= 5) write.text(member.instanceId ?? null);
    write.bytes(member.metadata);
  });
}

export async function answerSync(call: Call, cluster: ClusterState): Promise<void> {
  const { read, write } = call;
  const { of, code } = coordinated(call, cluster);
  const as = readIdentity(call, 3);
  const assignments = read.list(() => [read.text(), read.bytes()] as const) ?? [];
  const failed = { code, assignment: nothing };
  const answer = code === codes.NONE ? await of.group.sync(as, new Map(assignments)) : failed;
  write.int32(0).code(answer.code).bytes(answer.assignment);
}

export function answerHeartbeat(call: Call, cluster: ClusterState): void {
  const { of, code } = coordinated(call, cluster);
  const as = readIdentity(call, 3);
  call.write.int32(0).code(code || of.group.heartbeat(as));
}

export function answerLeave(call: Call, cluster: ClusterState): void {
  const { read, write } = call;
  const { of, code } = coordinated(call, cluster);
  if (call.version < 3) {
    write.int32(0).code(code || of.group.leave(read.text()));
    return;
  }
  const members = read.list(() => ({ memberId: read.text(), instanceId: instanceOf(call, 3) })) ?? [];
  write.int32(0).code(code);
  write.list(code === codes.NONE ? members : [], ({ memberId, instanceId }) => {
    write
      .text(memberId)
      .text(instanceId ?? null)
      .code(of.group.leave(memberId, instanceId));
  });
}

export function answerOffsetCommit(call: Call, cluster: ClusterState): void {
  const { read, write } = call;
  const { of, code } = coordinated(call, cluster);
  const as = readIdentity(call, 7);
  const topics = readTopics(call, () => {
    const [number, offset, epoch] = [read.int32(), read.int64(), call.version < 6 ? -1 : read.int32()];
    return { number, offset, metadata: read.text(), ...(epoch >= 0 && { epoch }) };
  });
  const refused = code || of.group.mayCommit(as);
  write.int32(0).list(topics, ({ topic, partitions }) => {
    write.text(topic).list(partitions, ({ number, ...committed }) => {
      const own = refused || commitCode(cluster, topic, number, committed.metadata);
      if (own === codes.NONE) of.offsets.set(`${topic}/${number}`, committed);
      write.int32(number).code(own);
    });
  });
}

export function answerOffsetFetch(call: Call, cluster: ClusterState): void {
  const { read, write } = call;
  const { of, code } = coordinated(call, cluster);
  const topics = code === codes.NONE ? (readNullableTopics(call, () => read.int32()) ?? committedOf(of)) : [];
  write.int32(0).list(topics, ({ topic, partitions }) => {
    write.text(topic).list(partitions, (number) => {
      const { offset, epoch, metadata } = of.offsets.get(`${topic}/${number}`) ?? nothingCommitted;
      write.int32(number).int64(offset);
      if (call.version >= 5) write.int32(epoch ?? -1);
      write.text(metadata).code(codes.NONE);
    });
  });
  write.code(code);
}

export function answerDescribeGroups(call: Call, cluster: ClusterState): void {
  const { read, write } = call;
  const ids = read.list(() => read.text()) ?? [];
  write.int32(0).list(ids, (id) => {
    const of = cluster.group(id);
    const code = codeOf(call.trouble) || cluster.coordinates(call.node, of);
    const { protocol, isConsumer } = of.group;
    // A broker knows it as a group of another kind.
    const members = code === codes.NONE && !isConsumer ? of.group.members : [];
    const state = isConsumer || isUnknown(of) ? "Dead" : of.group.state;
    write
      .int16(code)
      .text(id)
      .text(code === codes.NONE ? state : "");
    write.text(members[0]?.protocolType ?? "").text(state === "Stable" ? protocol : "");
    write.list(members, ({ memberId, clientId, protocols, assignment }) => {
      const chosen = state === "Stable" ? protocols.find(({ name }) => name === protocol) : undefined;
      write.text(memberId).text(clientId).text("/10.0.0.1");
      write.bytes(chosen?.metadata ?? nothing).bytes(assignment);
    });
  });
}

const nothingCommitted: CommittedOffset = { offset: -1, metadata: "" };

function commitCode(cluster: ClusterState, topic: string, number: number, metadata: string): number {
  if (cluster.partition(topic, number) === undefined) return codes.UNKNOWN_TOPIC_OR_PARTITION;
  return metadata.length > mostMetadata ? codes.OFFSET_METADATA_TOO_LARGE : codes.NONE;
}

/** Whether nobody has ever joined it, or committed for it. */
function isUnknown({ group, offsets }: CoordinatedGroup): boolean {
  return group.generation === 0 && group.members.length === 0 && offsets.size === 0;
}

/** Version 0: what it says of subscriptions and assignments is left out. */
export function answerConsumerGroupDescribe(call: Call, cluster: ClusterState): void {
  const { read, write } = call;
  const ids = read.list(() => read.text()) ?? [];
  write.int32(0).list(ids, (id) => {
    const of = cluster.group(id);
    const refused = codeOf(call.trouble) || cluster.coordinates(call.node, of);
    const code = refused || (of.group.isConsumer ? codes.NONE : codes.GROUP_ID_NOT_FOUND);
    write
      .code(code)
      .text(null)
      .text(id)
      .text(code === codes.NONE ? of.group.state : "");
    write.int32(of.group.generation).int32(of.group.generation).text("uniform");
    write.list(code === codes.NONE ? of.group.members : [], ({ memberId, clientId }) => {
      write.text(memberId).text(null).text(null).int32(of.group.generation).text(clientId).text("/10.0.0.1");
      write.list([], () => undefined).text(null);
      for (const _ of ["assignment", "target assignment"]) write.list([], () => undefined).tags();
      write.tags();
    });
    write.int32(-(2 ** 31)).tags();
  });
  write.tags();
}

/** The instance id, which requests have from a version on. */
function instanceOf({ read, version }: Call, from: number): string | undefined {
  return version < from ? undefined : (read.nullableText() ?? undefined);
}

/** Who asks. `from`: the first version with an instance id. */
function readIdentity(call: Call, from: number): MemberIdentity {
  const [generation, memberId] = [call.read.int32(), call.read.text()];
  return { generation, memberId, instanceId: instanceOf(call, from) };
}

interface OfTopic<Item> {
  topic: string;
  partitions: Item[];
}

function readTopics<Item>(call: Call, item: () => Item): OfTopic<Item>[] {
  return readNullableTopics(call, item) ?? [];
}

/** Undefined where it is null: all topics. */
function readNullableTopics<Item>({ read }: Call, item: () => Item): OfTopic<Item>[] | undefined {
  return read.list(() => ({ topic: read.text(), partitions: read.list(item) ?? [] }));
}

function committedOf({ offsets }: CoordinatedGroup): OfTopic<number>[] {
  const topics = new Map<string, number[]>();
  for (const place of offsets.keys()) {
    const [topic, number] = place.split("/");
    topics.set(topic!, [...(topics.get(topic!) ?? []), Number(number)]);
  }
  return Array.from(topics, ([topic, partitions]) => ({ topic, partitions }));
}
