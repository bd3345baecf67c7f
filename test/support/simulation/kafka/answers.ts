import type { Call } from "./broker.ts";
import type { ClusterState } from "./cluster.ts";
import { requests, type RequestName } from "./codes.ts";
import {
  answerConsumerGroupDescribe,
  answerDescribeGroups,
  answerFindCoordinator,
  answerHeartbeat,
  answerJoin,
  answerLeave,
  answerOffsetCommit,
  answerOffsetFetch,
  answerSync,
} from "./group-requests.ts";
import { answerMetadata, type Addresses } from "./metadata.ts";
import { answerEpochEnds, answerFetch, answerListOffsets } from "./reads.ts";
import { codeOf } from "./troubles.ts";

type Answer = (call: Call, cluster: ClusterState, addresses: Addresses) => Promise<void> | void;

/** Who answers a request, by its name. */
export const answers: Readonly<Record<RequestName, Answer>> = {
  Fetch: answerFetch,
  ListOffsets: answerListOffsets,
  Metadata: answerMetadata,
  OffsetCommit: answerOffsetCommit,
  OffsetFetch: answerOffsetFetch,
  FindCoordinator: answerFindCoordinator,
  JoinGroup: answerJoin,
  Heartbeat: answerHeartbeat,
  LeaveGroup: answerLeave,
  SyncGroup: answerSync,
  DescribeGroups: answerDescribeGroups,
  ApiVersions: answerApiVersions,
  OffsetForLeaderEpoch: answerEpochEnds,
  ConsumerGroupDescribe: answerConsumerGroupDescribe,
};

function answerApiVersions({ write, version, trouble }: Call, { newest }: ClusterState): void {
  write.code(codeOf(trouble));
  write.list(Object.entries(requests), ([name, { key, first, last }]) => {
    write
      .int16(key)
      .int16(first)
      .int16(newest[name as RequestName] ?? last);
  });
  if (version >= 1) write.int32(0);
}
