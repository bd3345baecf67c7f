/** Faults of consumer groups: members that are not Sluice, a Sluice that dies, and what operators do to offsets. */
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../patience.ts";
import { type BrokerFault, safe } from "./fault.ts";
import type { BrokerScene } from "./scene.ts";

/** Sessions of classic members, short enough that a static one, which does not leave, is soon gone. */
const session = { "session.timeout.ms": "6000", "heartbeat.interval.ms": "1000" };
const range = { ...session, "partition.assignment.strategy": "range" };

/**
 * Brokers let members of a classic group in only where all of them know one way to share partitions. Those of librdkafka
 * know none of Sluice's: they come in while Sluice is away, and keep it out.
 */
const members = {
  "KIP-848": { "group.protocol": "consumer" },
  classic: "kafkajs",
  "classic, range": range,
  cooperative: { ...session, "partition.assignment.strategy": "cooperative-sticky" },
  static: { ...range, "group.instance.id": "beside" },
} satisfies Record<string, Record<string, string> | "kafkajs">;

/** What happens to Sluice while another member has some of its partitions. */
const meanwhile = {
  "nothing else": async () => sleep(3_000),
  "the pipeline is stopped and resumed": async ({ pipeline, daemon, random }: BrokerScene) => {
    await pipeline.setState(daemon, "Stopped");
    await sleep(random.below(2_000));
    await pipeline.setState(daemon, "Running");
    await sleep(3_000);
  },
  "Sluice restarts": async (scene: BrokerScene) => {
    await scene.restart();
    await sleep(4_000);
  },
} satisfies Record<string, (scene: BrokerScene) => Promise<void>>;

/** One that is kept out would wait for as long as Sluice is there. */
const joinMs = 12_000;
const reportMs = 15_000;

function beside(kind: keyof typeof members, what: keyof typeof meanwhile, times: number): BrokerFault {
  return {
    name: `${kind} member beside, ${what}`,
    times,
    plans: [{ ...safe, perSecond: 100 }],
    befall: async (scene) => {
      const { pipeline, random } = scene;
      await sleep(random.below(2_000));
      const commits = random.below(4) > 0;
      const member = await pipeline.addMember(members[kind], commits);
      await until(scene.daemon, "to share its group", () => member.assigned.length > 0, joinMs).catch(() => undefined);
      scene.notes.push(`the member ${commits ? "commits" : "does not commit"} and has ${member.assigned.length} of 4`);
      await sleep(1_500);
      await meanwhile[what](scene);
      if (what === "nothing else" && member.assigned.length > 0) await isReported(scene);
      await pipeline.endMembers();
      await sleep(500);
    },
  };
}

/** Who misses rows must see that another member has them. */
async function isReported({ pipeline, daemon, problems }: BrokerScene): Promise<void> {
  const isSeen = async (): Promise<boolean> => ((await pipeline.health(daemon)).foreign_members?.length ?? 0) > 0;
  await until(daemon, "to report the member beside", isSeen, reportMs).catch(() => {
    problems.push(`a member of another kind has partitions, and ${reportMs / 1_000} s later none is reported`);
  });
}

/** Stops the pipeline, lets an operator move its group, and resumes it. */
async function whileStopped({ pipeline, daemon }: BrokerScene, move: () => Promise<void>): Promise<void> {
  await pipeline.setState(daemon, "Stopped");
  await sleep(1_000);
  await move();
  await pipeline.setState(daemon, "Running");
  await sleep(2_000);
}

/** Moves some partitions back and others on, as `kafka-consumer-groups --reset-offsets` does. */
async function resetOffsets(scene: BrokerScene): Promise<void> {
  const { cluster, pipeline, random } = scene;
  await whileStopped(scene, async () => {
    // Some messages are waiting, so that it can be moved on too.
    await sleep(1_000);
    const ends = await cluster.topics.endOffsets(pipeline.topic);
    const groups = cluster.groups;
    const moves = (await groups.offsets(pipeline.group, pipeline.topic)).map(({ topic, partition, offset }) => {
      const to = random.pick(Math.max(0, offset - 1 - random.below(50)), Math.min(ends[partition]!, offset + 5));
      if (to < offset) pipeline.readAgain.push({ partition, from: to, to: offset });
      else pipeline.passedOver.push({ partition, from: offset, to });
      return { topic, partition, offset: to };
    });
    await groups.set(pipeline.group, moves);
  });
}

/** Less than a session: the next run waits for no member of the last one. */
const patienceAfterKill = 20_000;

async function killSluice(scene: BrokerScene): Promise<void> {
  const { pipeline, problems, random } = scene;
  await sleep(random.below(4_000));
  await scene.restart("SIGKILL");
  const left = await pipeline.unwritten(scene.daemon, [0, 1, 2, 3], patienceAfterKill);
  if (left > 0) problems.push(`${left} messages unread ${patienceAfterKill / 1_000} s after Sluice was killed`);
}

export const groupFaults: readonly BrokerFault[] = [
  { name: "Sluice is killed", times: 6, plans: [safe], isRepeated: true, befall: killSluice },
  beside("KIP-848", "the pipeline is stopped and resumed", 10),
  beside("KIP-848", "Sluice restarts", 6),
  beside("KIP-848", "nothing else", 4),
  beside("classic", "nothing else", 3),
  beside("classic", "the pipeline is stopped and resumed", 3),
  beside("classic", "Sluice restarts", 2),
  ...(["classic, range", "cooperative", "static"] as const).flatMap((kind) => [
    beside(kind, "nothing else", 2),
    beside(kind, "the pipeline is stopped and resumed", 2),
    beside(kind, "Sluice restarts", 2),
  ]),
  { name: "offsets reset by an operator", times: 5, plans: [safe], befall: resetOffsets },
  {
    name: "group deleted",
    times: 5,
    plans: [safe],
    isRepeated: true,
    befall: (scene) => whileStopped(scene, () => scene.cluster.groups.delete(scene.pipeline.group)),
  },
];
