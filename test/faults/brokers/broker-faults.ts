/** Faults of brokers: what becomes of leaders, replicas, addresses and the controller. */
import { setTimeout as sleep } from "node:timers/promises";
import { type BrokerId, brokerIds } from "../../support/kafka/cluster.ts";
import { type BrokerFault, safe } from "./fault.ts";
import type { BrokerScene } from "./scene.ts";
import type { PipelinePlan } from "./watched-pipeline.ts";

/** Two replicas, of which the second one may become leader with whatever it has. */
function unclean(perSecond: number): PipelinePlan {
  return {
    topic: {
      assignment: [[1, 2]],
      config: { "unclean.leader.election.enable": "true", "min.insync.replicas": "1" },
    },
    perSecond,
    acks: "1",
    mayLose: true,
    xSluice: { on_lost: "skip" },
  };
}

/** The follower is down, the leader goes on alone and dies, and the follower comes back with less. */
async function electUncleanly(scene: BrokerScene): Promise<void> {
  const { cluster, random, pipelines } = scene;
  const [leader, follower] = [cluster.broker(1), cluster.broker(2)];
  await follower.end();
  await sleep(1_000 + random.below(2_000));
  await leader.kill();
  await follower.start();
  for (const { topic } of pipelines) await cluster.leads(topic, 0, follower.id);
  await sleep(2_000 + random.below(4_000));
  await leader.start();
  await sleep(1_000);
}

/** One replica each: the partition of the third broker has no leader while that is away. */
const spread: PipelinePlan = { topic: { assignment: [[1], [2], [3], [1]] }, perSecond: 40, acks: "all" };
const led = [0, 1, 3];
/** Longer than a session lasts: a member that was killed has its partitions for so long. */
const patienceForLed = 45_000;

/** Messages of partitions with a leader have to be read while another one has none. */
async function isRead({ pipeline, daemon, problems }: BrokerScene, partitions: readonly number[]): Promise<void> {
  const left = await pipeline.unwritten(daemon, partitions, patienceForLed);
  if (left === 0) return;
  const { paused } = await pipeline.health(daemon);
  const why = paused === undefined ? "" : ` (${paused.text})`;
  problems.push(`${left} messages of partitions with a leader unread after ${patienceForLed / 1000} s${why}`);
}

/** A partition has no leader, while something else makes Sluice look at its partitions anew. */
function withoutLeader(name: string, meanwhile: (scene: BrokerScene) => Promise<void>, isLater = false): BrokerFault {
  return {
    name: `a partition has no leader, and ${name}`,
    times: 5,
    plans: [{ ...spread, isLater }],
    befall: async (scene) => {
      const away = scene.cluster.broker(3);
      await (scene.random.below(2) === 0 ? away.end() : away.kill());
      await scene.cluster.leaderless(scene.pipeline.topic);
      await meanwhile(scene);
      await sleep(3_000);
      await isRead(scene, led);
      await away.start();
    },
  };
}

/** Of another topic, which is none of the pipeline's business. */
const elsewhere: BrokerFault = {
  name: "a partition of another topic has no leader, and Sluice restarts",
  times: 4,
  plans: [safe],
  befall: async (scene) => {
    const { cluster } = scene;
    const away = cluster.broker(3);
    const other = cluster.unique("other");
    await cluster.topics.create(other, { assignment: [[1], [3]] });
    await away.kill();
    await cluster.leaderless(other);
    await scene.restart();
    await sleep(3_000);
    await isRead(scene, [0, 1, 2, 3]);
    await away.start();
    await cluster.leads(other, 1, away.id);
    await cluster.topics.delete(other);
  },
};

/** Each broker in turn, over the faults of a kind. */
function inTurn(act: (scene: BrokerScene, id: BrokerId) => Promise<void>): BrokerFault["befall"] {
  const turns = new WeakMap<BrokerScene, number>();
  return async (scene) => {
    const turn = turns.get(scene) ?? 0;
    turns.set(scene, turn + 1);
    await act(scene, brokerIds[turn % brokerIds.length]!);
    await scene.cluster.whole();
    await sleep(1_000);
  };
}

export const brokerFaults: readonly BrokerFault[] = [
  {
    name: "unclean election",
    times: 18,
    plans: [unclean(30), unclean(100)],
    befall: electUncleanly,
  },
  withoutLeader("a pipeline is new", async ({ pipeline }) => pipeline.write(), true),
  withoutLeader("Sluice restarts", (scene) => scene.restart()),
  elsewhere,
  withoutLeader("its group is rebalanced", async ({ pipeline }) => {
    // kafkajs does not join for a topic with such a partition.
    const member = await pipeline.addMember({ "group.protocol": "consumer" }, false);
    await sleep(3_000);
    await member.end();
  }),
  {
    name: "rolling restart, clean",
    times: 15,
    plans: [safe],
    isRepeated: true,
    befall: inTurn(async ({ cluster }, id) => {
      await cluster.broker(id).end();
      await cluster.broker(id).start();
    }),
  },
  {
    name: "rolling restart, killed",
    times: 15,
    plans: [safe],
    isRepeated: true,
    befall: inTurn(async ({ cluster, random }, id) => {
      await cluster.broker(id).kill();
      await sleep(random.below(2_000));
      await cluster.broker(id).start();
    }),
  },
  {
    name: "a broker stands still",
    times: 9,
    plans: [safe],
    isRepeated: true,
    befall: inTurn(async ({ cluster, random }, id) => {
      cluster.broker(id).freeze();
      await sleep(2_000 + random.below(6_000));
      cluster.broker(id).thaw();
    }),
  },
  {
    name: "the controller is lost",
    times: 6,
    plans: [safe],
    isRepeated: true,
    befall: async ({ cluster, random }) => {
      await cluster.controller.kill();
      await sleep(1_000 + random.below(3_000));
      // Now and then a broker goes meanwhile: its partitions have no leader before the controller is back.
      const id = random.pick(undefined, ...brokerIds);
      if (id !== undefined) await cluster.broker(id).kill();
      await sleep(1_000 + random.below(3_000));
      await cluster.startController();
      if (id !== undefined) await cluster.broker(id).start();
      await cluster.whole();
      await sleep(1_000);
    },
  },
  {
    name: "a broker at another address",
    times: 8,
    plans: [safe],
    isRepeated: true,
    befall: inTurn(({ cluster }, id) => cluster.broker(id).move()),
  },
];
