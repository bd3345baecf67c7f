/** The requests that are spoken, by Kafka's names, with their numbers and the versions that are understood of each. */
export const requests = {
  Fetch: { key: 1, first: 11, last: 13 },
  ListOffsets: { key: 2, first: 2, last: 3 },
  Metadata: { key: 3, first: 5, last: 12 },
  OffsetCommit: { key: 8, first: 5, last: 7 },
  OffsetFetch: { key: 9, first: 3, last: 5 },
  FindCoordinator: { key: 10, first: 1, last: 2 },
  JoinGroup: { key: 11, first: 4, last: 5 },
  Heartbeat: { key: 12, first: 2, last: 3 },
  LeaveGroup: { key: 13, first: 2, last: 3 },
  SyncGroup: { key: 14, first: 2, last: 3 },
  DescribeGroups: { key: 15, first: 1, last: 2 },
  ApiVersions: { key: 18, first: 0, last: 2 },
  OffsetForLeaderEpoch: { key: 23, first: 4, last: 4 },
  ConsumerGroupDescribe: { key: 69, first: 0, last: 0 },
} as const;

export type RequestName = keyof typeof requests;

/** What brokers before Kafka 2.3 speak, which know no static members. */
export const beforeStaticMembers: Partial<Record<RequestName, number>> = {
  OffsetCommit: 6,
  JoinGroup: 4,
  Heartbeat: 2,
  LeaveGroup: 2,
  SyncGroup: 2,
};

/** The first versions whose lengths are varints, and whose structures end with tagged fields. */
const flexible: Partial<Record<RequestName, number>> = {
  Fetch: 12,
  Metadata: 9,
  OffsetForLeaderEpoch: 4,
  ConsumerGroupDescribe: 0,
};

export function isFlexible(name: RequestName, version: number): boolean {
  return version >= (flexible[name] ?? Infinity);
}

const namesByKey = new Map(Object.entries(requests).map(([name, { key }]) => [key as number, name as RequestName]));

/** The name of a request that is understood; undefined where its number or its version is not. */
export function nameOf(key: number, version: number): RequestName | undefined {
  const name = namesByKey.get(key);
  return name === undefined || version < requests[name].first || version > requests[name].last ? undefined : name;
}

/** What brokers answer, by Kafka's names. */
export const codes = {
  NONE: 0,
  OFFSET_OUT_OF_RANGE: 1,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  LEADER_NOT_AVAILABLE: 5,
  NOT_LEADER_OR_FOLLOWER: 6,
  REQUEST_TIMED_OUT: 7,
  OFFSET_METADATA_TOO_LARGE: 12,
  NETWORK_EXCEPTION: 13,
  COORDINATOR_LOAD_IN_PROGRESS: 14,
  COORDINATOR_NOT_AVAILABLE: 15,
  NOT_COORDINATOR: 16,
  ILLEGAL_GENERATION: 22,
  INCONSISTENT_GROUP_PROTOCOL: 23,
  UNKNOWN_MEMBER_ID: 25,
  REBALANCE_IN_PROGRESS: 27,
  TOPIC_AUTHORIZATION_FAILED: 29,
  GROUP_AUTHORIZATION_FAILED: 30,
  UNSUPPORTED_VERSION: 35,
  KAFKA_STORAGE_ERROR: 56,
  GROUP_ID_NOT_FOUND: 69,
  FENCED_LEADER_EPOCH: 74,
  UNKNOWN_LEADER_EPOCH: 75,
  OFFSET_NOT_AVAILABLE: 78,
  MEMBER_ID_REQUIRED: 79,
  FENCED_INSTANCE_ID: 82,
  UNKNOWN_TOPIC_ID: 100,
} as const;

export type CodeName = keyof typeof codes;

const namesByCode = new Map(Object.entries(codes).map(([name, code]) => [code as number, name as CodeName]));

/** The name of what a broker answers. */
export function codeName(code: number): CodeName {
  return namesByCode.get(code)!;
}
