/** Faults of topics: their partitions, transactions, and what retention takes. */
import { setTimeout as sleep } from "node:timers/promises";
import { brokerIds } from "../../support/kafka/cluster.ts";
import { type BrokerFault, safe } from "./fault.ts";
import type { BrokerScene } from "./scene.ts";
import type { PipelineAudit } from "./watched-pipeline.ts";

/** Partitions of a topic over time; the load follows. */
async function addPartitions({ cluster, pipeline }: BrokerScene): Promise<void> {
  const before = await cluster.partitionsOf(pipeline.topic);
  await cluster.topics.addPartitions(pipeline.topic, before.length + 1);
  pipeline.load.useInstead(before.length + 1);
  await sleep(8_000);
}

/** Each partition gets the replicas of the next one. */
async function reassign({ cluster, pipeline, random }: BrokerScene): Promise<void> {
  const first = random.below(brokerIds.length);
  const before = await cluster.partitionsOf(pipeline.topic);
  const assignment = before.map((_, partition) => {
    const [one, other] = [0, 1].map((at) => brokerIds[(first + partition + at) % brokerIds.length]!);
    return [one!, other!];
  });
  await cluster.reassign(pipeline.topic, assignment);
  await sleep(2_000);
}

/** A transaction is open among other messages, which wait for it; then it is committed, aborted, or left to time out. */
async function openTransaction({ pipeline, random }: BrokerScene): Promise<void> {
  const open = await pipeline.begin(50 + random.below(200), 4_000);
  await sleep(500 + random.below(2_500));
  await random.pick(
    () => open.commit(),
    () => open.abort(),
    async () => open.abandon(),
  )();
  await sleep(1_000);
}

/** Takes unread messages away: those before an offset, as `kafka-delete-records` does, or whole segments by their age. */
function eatUnread(isByAge: boolean): BrokerFault["befall"] {
  return async ({ cluster, pipeline, daemon, random }) => {
    await pipeline.setState(daemon, "Stopped");
    await sleep(2_000 + random.below(2_000));
    if (isByAge) {
      await cluster.topics.configure(pipeline.topic, { "retention.ms": "500", "segment.ms": "500" });
      await sleep(4_000);
      await cluster.topics.configure(pipeline.topic, { "retention.ms": "-1" });
      // What a leader is still removing is gone before anyone reads on.
      await sleep(2_000);
    } else {
      const ends = await cluster.topics.endOffsets(pipeline.topic);
      for (const [partition, end] of ends.entries()) {
        await cluster.topics.deleteRecords(pipeline.topic, partition, end - random.below(20));
      }
    }
    await pipeline.setState(daemon, "Running");
    await sleep(2_000);
  };
}

function accountForSkipped({ unread, health }: PipelineAudit): string[] {
  const { positions_skipped } = health.counters;
  if (unread === 0) return ["expected retention to take unread messages, it took none"];
  if (positions_skipped === unread) return [];
  return [`${unread} messages were removed unread, and ${positions_skipped} are counted`];
}

export const topicFaults: readonly BrokerFault[] = [
  {
    name: "partitions added",
    times: 9,
    plans: [safe],
    flags: ["--kafka-metadata-age", "5s"],
    isRepeated: true,
    befall: addPartitions,
  },
  {
    name: "partitions reassigned",
    times: 8,
    plans: [{ ...safe, topic: { partitions: 4, replicas: 2 } }],
    isRepeated: true,
    befall: reassign,
  },
  {
    name: "transactions, open, aborted and timed out",
    times: 9,
    plans: [safe],
    isRepeated: true,
    befall: openTransaction,
  },
  ...[false, true].map((isByAge) => ({
    name: `retention eats the unread, ${isByAge ? "segments" : "records"}`,
    times: 5,
    plans: [{ ...safe, mayLose: true, xSluice: { on_lost: "skip" } }],
    befall: eatUnread(isByAge),
    account: accountForSkipped,
  })),
];
