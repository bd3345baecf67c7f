import { TargetPolicy, targetNotAllowed } from "../../../engine/peers/targets.ts";
import { noLeader, noReplica } from "../../../engine/sources/kafka/brokers/leaders.ts";
import { brokerError } from "../../../engine/sources/kafka/brokers/requests.ts";
import { AnswerRoom } from "../../../engine/peers/answer-room.ts";
import { Answers, longestOfLogin, noRoom } from "../../../engine/sources/kafka/brokers/answers.ts";
import {
  mismatch,
  SourceFailures,
  TopicFailure,
  waysOutOfKafka,
} from "../../../engine/sources/kafka/brokers/failures.ts";
import { lossOf } from "../../../engine/delivery/recovery.ts";
import type { GroupMembers, KafkaClient } from "../../../engine/sources/kafka/brokers/client.ts";
import { Group } from "../../../engine/sources/kafka/group/group.ts";
import { claimText, clientId } from "../../../engine/sources/kafka/group/identity.ts";
import { LostEvents } from "../../../engine/sources/kafka/group/lost-events.ts";
import { judge } from "../../../engine/sources/kafka/group/ownership.ts";
import { partitionOf, partitionText } from "../../../engine/sources/kafka/positions/feed.ts";
import { TopicIds } from "../../../engine/sources/kafka/positions/topic-ids.ts";
import { batchHead } from "../../../engine/sources/kafka/protocol/batch-head.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import { UnreadableRecords, Unreadable } from "../../../engine/sources/kafka/protocol/unreadable.ts";
import { quietAttempts } from "../../../engine/core/pause.ts";
import type { PauseCase, PauseSection, PauseText } from "./pauses.ts";

/** A pause that a failure of the source begins once it lasts. */
function source(when: string, who: string, error: () => unknown): PauseCase {
  return {
    when,
    pause: async () => {
      let shown: PauseText | undefined;
      const telemetry = { paused: ({ pause }: { pause: PauseText }) => (shown = pause) };
      new SourceFailures("orders", telemetry as never).note(who, await error(), quietAttempts);
      if (shown === undefined) throw new Error("expected a pause");
      return shown;
    },
  };
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("expected an error");
}

const feed = "cluster/orders/0";
const connect = Object.assign(new Error("Connection error: connect ECONNREFUSED 10.0.0.7:9092"), {
  name: "KafkaJSConnectionError",
});

/** An error of the connection to a broker, as kafkajs makes it. */
const connection = (message: string, of: object = {}): Error =>
  Object.assign(new Error(message), { name: "KafkaJSConnectionError", broker: "kafka-1:9092", ...of });

const loader = { clientId: "loader", userData: "" };

/** Why a pipeline cannot go on where another group ends, by what its coordinator says of it. */
function adopting(members: GroupMembers, committed = [{ ...partitionOf(feed), offset: 7 }]): Promise<unknown> {
  const client = { members: () => members, committed: () => committed } as unknown as KafkaClient;
  return new Group(client, "orders", ["orders"]).adopted("clickhouse-loader", [feed]).catch((error: unknown) => error);
}

const unreadable = (error: unknown): unknown => new UnreadableRecords("orders", 0, 41, error as Unreadable);

export const sources: PauseSection = {
  class: "source",
  cases: [
    source("no broker answers", "fetch", () => connect),
    source("a broker is gone", "fetch from broker 2", () => connect),
    source("the topic does not exist", "the consumer group", () => new TopicFailure("orders", brokerError(3))),
    source("the user may not read the topic", partitionText(feed), () => brokerError(29)),
    source("the user may not use the consumer group", "member 1 of the consumer group", () =>
      Object.assign(brokerError(30), { group: "sluice-consumer-group-48f6d6b1" }),
    ),
    source("other consumers are in the group", "member 1 of the consumer group", () =>
      Object.assign(brokerError(23), { group: "sluice-consumer-group-48f6d6b1" }),
    ),
    source("the user may not find the consumer group", "the consumer group", () => brokerError(30)),
    source("the listener speaks TLS, and protocol has none", "fetch", () =>
      mismatch(connection("Connection error: the listener speaks TLS"), "LISTENER_WITH_TLS"),
    ),
    source("the listener has no TLS, and protocol does", "fetch", () =>
      mismatch(
        connection("Connection error: Client network socket disconnected before secure TLS connection was established"),
        "LISTENER_WITHOUT_TLS",
      ),
    ),
    source("the listener asks for a login, and there is no mechanism", "fetch", () =>
      mismatch(connection("Closed connection"), "LISTENER_WITH_LOGIN"),
    ),
    source("the listener takes no login, and there is a mechanism", "fetch", () => brokerError(34)),
    source("the listener takes another mechanism", "fetch", () =>
      Object.assign(brokerError(33), { mechanisms: ["SCRAM-SHA-512"] }),
    ),
    source("the listener names no mechanism that it takes", "fetch", () => brokerError(33)),
    source("the listener asks for the certificate of a client", "fetch", () =>
      connection("Connection error: sslv3 alert bad certificate", { code: "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE" }),
    ),
    source("the CA of the brokers is not known", "fetch", () =>
      connection("Connection error: unable to verify the first certificate", {
        code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      }),
    ),
    source("the operator does not allow the broker", "fetch", () => {
      const refused = thrownBy(() => new TargetPolicy({ allowed: ["kafka:9092"] }).check("10.0.0.7", 9092)) as Error;
      return Object.assign(new Error(refused.message), { code: targetNotAllowed });
    }),
    source("a partition has no leader", partitionText(feed), () => noLeader(partitionOf(feed))),
    source("the leader of a partition names a replica that fails", partitionText(feed), () =>
      noReplica(partitionOf(feed), 2),
    ),
    source("something else than a broker answers at the port", "fetch", () =>
      thrownBy(() =>
        new Answers(new AnswerRoom()).read(
          Buffer.from("HTTP/1.1 400 Bad Request"),
          { shortest: 4, longest: longestOfLogin },
          () => undefined,
        ),
      ),
    ),
    source("long answers of the brokers of other pipelines take the memory for such", "fetch", () => noRoom(2 ** 26)),
    source("the group to adopt has members", "offsets", () => adopting({ members: [loader, loader] })),
    source("the group to adopt has a member that cannot be read", "offsets", () =>
      adopting({ unreadable: "the broker does not describe the group" }),
    ),
    source("the group to adopt has no offsets", "offsets", () => adopting({ members: [] }, [])),
    source("a broker lags after a topic was created again", "offsets", () => {
      const ids = new TopicIds({ "cluster/orders": ["a1", "b2"] });
      return thrownBy(() => ids.saw("cluster", new Map([["orders", "a1"]])));
    }),
    source("a partition holds bytes that are not records", "fetch", () =>
      unreadable(thrownBy(() => batchHead(Buffer.alloc(61), { start: 0, end: 20, offset: 41 } as never))),
    ),
    source("records are compressed with what Kafka does not know", "fetch", async () => {
      const codecs = await Codecs.load();
      return unreadable(thrownBy(() => codecs.decompress(7, Buffer.alloc(8))));
    }),
  ],
};

const own = { dataDir: "0123456789abcdef", run: "0a1b2c3d" };
const other = { dataDir: "fedcba9876543210", run: "4e5f6a7b" };
const earlier = { dataDir: own.dataDir, run: "00000001" };

/** A group of which Sluice has read partition 0 up to offset 50. */
function owned(members: string[], committed?: { offset: number; metadata: string }): PauseText {
  const stands = committed === undefined ? {} : { committed: { ...committed, isByConsumer: false } };
  const partitions = [{ feed, ends: { low: 0, high: 100 }, ...stands }];
  const known = {
    groupId: "orders",
    identity: { ...own, earlier: new Set([earlier.run]) },
    next: () => 50,
    takeOver: undefined,
    readBeforeCut: () => undefined,
    isCut: () => false,
    recreated: new Set<string>(),
  };
  const judged = judge({ cluster: "cluster", partitions, members, topicIds: new Map() }, known, true);
  if (judged.kind !== "owner") throw new Error("expected another owner");
  return { class: "owner", text: judged.text };
}

export const owners: PauseSection = {
  class: "owner",
  cases: [
    { when: "another Sluice reads with this group", pause: () => owned([clientId(other, 1)]) },
    {
      when: "another Sluice has read with this group",
      pause: () => owned([], { offset: 80, metadata: claimText(other, 80) }),
    },
    {
      when: "the data dir is an older copy",
      pause: () => owned([], { offset: 80, metadata: claimText(earlier, 80) }),
    },
  ],
};

/** What is waited for where the next offset, 50, is not in the topic. */
async function lost(low: number, high: number, recreated: object[] = []): Promise<PauseText> {
  let text = "";
  const positions = {
    feeds: [feed],
    next: () => 50,
    cut: () => undefined,
    recreated: () => recreated,
    noteCut: () => Promise.resolve(),
  };
  const state = {
    cluster: "cluster",
    partitions: [{ feed, ends: { low, high } }],
    members: ["member"],
    topicIds: new Map(),
  };
  const brokers = {
    read: () => Promise.resolve(state),
    divergences: () => Promise.resolve(new Map()),
    wait: (found: string) => {
      text = found;
      return Promise.reject(new Error("waited"));
    },
  };
  const events = new LostEvents({ options: { on_lost: "pause" } } as never, positions as never, brokers);
  await events.find({} as never).catch(() => undefined);
  return { class: "lost", text, way_out: waysOutOfKafka.lost };
}

const pending = { madeOf: { kind: "positions", ranges: [{ feed, first: 41, last: 90, count: 50, base: 0 }] } };

export const lostCases: readonly PauseCase[] = [
  { when: "retention removed unread messages", pause: () => lost(70, 90) },
  { when: "the log of a partition ends before the next offset", pause: () => lost(0, 30) },
  {
    when: "the topic was deleted and created again",
    pause: () => lost(0, 100, [{ topic: "orders", from: "a1", to: "b2" }]),
  },
  {
    when: "messages of a pending batch are gone",
    pause: () => lossOf(pending as never, 50, { wayOutOfLoss: waysOutOfKafka.lost, feedText: partitionText }),
  },
];
