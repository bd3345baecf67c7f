import { expect, test } from "vitest";
import type { KafkaClient, MemberId } from "../../../engine/sources/kafka/brokers/client.ts";
import { RecordBatches } from "../../../engine/sources/kafka/protocol/record-batches.ts";
import { RecordRun } from "../../../engine/sources/kafka/protocol/record-run.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import { subscriptionBytes } from "../../../engine/sources/kafka/protocol/assignment.ts";

/** A cluster that a client is tried with, and what has to be done to it. */
export interface TriedCluster {
  client: KafkaClient;
  /** Of two partitions, which no other test has. */
  topic: string;
  /** Writes values to a partition, as one batch. */
  produce: (partition: number, values: string[]) => Promise<void>;
  /** Lets time pass until a promise is settled. */
  settled: <Value>(promise: Promise<Value>) => Promise<Value>;
}

const protocol = "RoundRobinAssigner";
/** Milliseconds. */
const times = { sessionTimeout: 10_000, rebalanceTimeout: 20_000 };
/** An assignment of nothing. */
const share = Buffer.alloc(10);

/** What each client of Kafka has to answer, whatever stands behind it. `use`: gives a cluster to a test, and ends it. */
export function describesClient(use: (tried: (cluster: TriedCluster) => Promise<void>) => Promise<void>): void {
  test("names who leads, the ids of topics, and the offsets that partitions have", () =>
    use(async ({ client, topic, produce, settled }) => {
      await produce(0, ["a", "b", "c"]);
      expect(await settled(client.cluster([topic]))).toMatch(/./);
      const leaders = await settled(client.leaders(topic));
      expect(new Set(leaders.keys())).toEqual(new Set([0, 1]));
      for (const leader of leaders.values()) expect(leader!.epoch).toBeGreaterThanOrEqual(0);
      expect((await settled(client.topicIds([topic]))).get(topic)).toMatch(/^[\w-]{22}$/);
      const places = [0, 1].map((partition) => ({ topic, partition }));
      expect(await settled(client.offsets(places, "first"))).toEqual([0, 0]);
      expect(await settled(client.offsets(places, "end"))).toEqual([3, 0]);
      expect(await settled(client.offsets(places, Date.now() + 3_600_000))).toEqual([-1, -1]);
      expect(await settled(client.offsets([{ topic, partition: 7 }], "end"))).toEqual([expect.any(Error)]);
    }));

  test("throws for a topic that is not there", () =>
    use(async ({ client, topic, settled }) => {
      const type = "UNKNOWN_TOPIC_OR_PARTITION";
      await expect(settled(client.leaders(`${topic}-none`))).rejects.toMatchObject({ type });
      await expect(settled(client.topicIds([`${topic}-none`]))).rejects.toMatchObject({ type });
    }));

  test("fetches from an offset on, with the election that wrote it, whose end it knows", () =>
    use(async ({ client, topic, produce, settled }) => {
      await produce(1, ["a", "b", "c"]);
      const id = (await settled(client.topicIds([topic]))).get(topic)!;
      const leader = (await settled(client.leaders(topic))).get(1)!;
      const fetch = (offset: number) =>
        settled(
          client.fetch(leader.node, {
            places: [{ topic, id, partition: 1, offset, leaderEpoch: leader.epoch }],
            partitionMaxBytes: 1e6,
            wait: 100,
            minBytes: 1,
          }),
        );
      const [fetched] = await fetch(1);
      const run = new RecordRun();
      const batches = new RecordBatches(fetched!, 1, await Codecs.load(), run);
      expect(batches.next()).toBe(true);
      const values = Array.from({ length: run.count }, (_, at) =>
        run.bytes.toString("utf8", run.starts[at], run.ends[at]),
      );
      expect([values, batches.nextOffset, batches.epoch]).toEqual([["b", "c"], 3, leader.epoch]);
      const outOfRange = 1;
      expect((await fetch(9))[0]).toMatchObject({ errorCode: outOfRange });
      const asked = { topic, partition: 1, leaderEpoch: leader.epoch, epoch: leader.epoch };
      const [end] = await settled(client.epochEnds(leader.node, [asked]));
      expect(end).toMatchObject({ errorCode: 0, epoch: leader.epoch, end: 3 });
    }));

  test("is a member of a group, which tells its members and what they have committed", () =>
    use(async ({ client, topic, settled }) => {
      const groupId = `${topic}-group`;
      const places = [0, 1].map((partition) => ({ topic, partition }));
      expect(await settled(client.committed(groupId, places))).toEqual([]);
      expect(await settled(client.members(groupId))).toMatchObject({ isAbsent: true });
      const member = client.member(groupId);
      const request = { ...times, protocol, metadata: subscriptionBytes([topic], "its run") };
      let joined = await settled(member.join({ ...request, memberId: "" }));
      expect(joined).toMatchObject({ kind: "again", hasReplaced: false });
      while (joined.kind === "again") joined = await settled(member.join({ ...request, ...joined.member }));
      const id: MemberId = joined.id;
      expect(joined.others).toEqual([expect.objectContaining({ memberId: id.memberId })]);
      expect(await settled(member.sync(id, new Map([[id.memberId, share]])))).toEqual(share);
      await settled(member.heartbeat(id));
      await settled(member.commit(id, [{ topic, partition: 1, offset: 5, metadata: "mine" }]));
      expect(await settled(client.committed(groupId, places))).toEqual([
        { topic, partition: 1, offset: 5, metadata: "mine", isByConsumer: false },
      ]);
      expect(await settled(client.members(groupId))).toEqual({ members: [{ clientId: "tried", userData: "its run" }] });
      await settled(member.leave(id));
      await expect(settled(member.heartbeat(id))).rejects.toMatchObject({ type: "UNKNOWN_MEMBER_ID" });
      expect(await settled(client.members(groupId))).toEqual({ members: [] });
    }));

  test("takes the place of a static member without a rebalance, with what that had, and leads once it joins again", () =>
    use(async ({ client, topic, settled }) => {
      const groupId = `${topic}-group`;
      const member = client.member(groupId);
      const request = (run: string) => ({
        ...times,
        protocol,
        instanceId: "place-1",
        metadata: subscriptionBytes([topic], run),
      });
      const first = await settled(member.join({ ...request("first"), memberId: "" }));
      if (first.kind === "again") throw new Error("expected a static member, found one that needs an id");
      expect(first).toMatchObject({ hasReplaced: false, id: { instanceId: "place-1" } });
      expect(first.others).toMatchObject([{ memberId: first.id.memberId }]);
      await settled(member.sync(first.id, new Map([[first.id.memberId, share]])));
      await settled(member.heartbeat(first.id));
      await settled(member.commit(first.id, [{ topic, partition: 0, offset: 2, metadata: "first" }]));

      const second = await settled(member.join({ ...request("second"), memberId: "" }));
      if (second.kind === "joined") throw new Error("expected that it has to join again, as it took a leader's place");
      expect(second).toMatchObject({ hasReplaced: true, member: { instanceId: "place-1" } });
      const taken = { ...second.member, generation: first.id.generation };
      expect(await settled(member.sync(taken, new Map()))).toEqual(share);
      await settled(member.heartbeat(taken));
      // Others see the run of its place by its subscription alone.
      const members = [{ clientId: "tried", userData: "second" }];
      expect(await settled(client.members(groupId))).toEqual({ members });

      const type = "FENCED_INSTANCE_ID";
      const place = { topic, partition: 0, offset: 3, metadata: "first" };
      await expect(settled(member.heartbeat(first.id))).rejects.toMatchObject({ type });
      await expect(settled(member.commit(first.id, [place]))).rejects.toMatchObject({ type });
      await expect(settled(member.sync(first.id, new Map()))).rejects.toMatchObject({ type });
      await expect(settled(member.join({ ...request("first"), ...first.id }))).rejects.toMatchObject({ type });
      await expect(settled(member.leave(first.id))).rejects.toMatchObject({ type });

      const leading = await settled(member.join({ ...request("second"), ...second.member }));
      if (leading.kind === "again") throw new Error("expected that it leads, found that it has to join again");
      const { id, others } = leading;
      expect([id.generation, id.memberId]).toEqual([first.id.generation + 1, second.member.memberId]);
      expect(others).toMatchObject([{ memberId: id.memberId }]);
      const other = Buffer.concat([share, share]);
      expect(await settled(member.sync(id, new Map([[id.memberId, other]])))).toEqual(other);
      await settled(member.commit(id, [{ topic, partition: 0, offset: 4, metadata: "second" }]));
      expect(await settled(client.committed(groupId, [{ topic, partition: 0 }]))).toMatchObject([{ offset: 4 }]);
      // By its instance id alone, as one does that does not know its member id yet.
      await settled(member.leave({ memberId: "", instanceId: "place-1" }));
      expect(await settled(client.members(groupId))).toEqual({ members: [] });
      await expect(settled(member.heartbeat(id))).rejects.toMatchObject({ type: "UNKNOWN_MEMBER_ID" });
    }));

  test("gives up what is under way when it is closed", () =>
    use(async ({ client, topic, settled }) => {
      const leader = (await settled(client.leaders(topic))).get(0)!;
      const places = [{ topic, partition: 0, offset: 0 }];
      const wanted = { places, partitionMaxBytes: 1e6, minBytes: 1 };
      // Fetches have a connection of their own: the next one finds it made, and is at the broker before the client is closed.
      await settled(client.fetch(leader.node, { ...wanted, wait: 1 }));
      const fetching = client.fetch(leader.node, { ...wanted, wait: 600_000 });
      const failure = fetching.catch((error: unknown) => String(error));
      await settled(client.offsets([{ topic, partition: 0 }], "end"));
      await settled(client.close());
      expect(await settled(failure)).toContain("closed");
    }));
}
