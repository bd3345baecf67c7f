import { cp, rm } from "node:fs/promises";
import { describe, expect, test, vi } from "vitest";
import { TestEngine } from "../../support/engine.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import { type KafkaScene, quick, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";
import { Stranger } from "./stranger.ts";

vi.setConfig({ testTimeout: 120_000 });

const inScene = useScenes(useKafka());

/** The offsets that the group has, of all partitions together. */
async function committed({ kafka, group, topic }: KafkaScene): Promise<number> {
  const found = await kafka.withAdmin((admin) => admin.fetchOffsets({ groupId: group, topics: [topic] }));
  return found
    .flatMap(({ partitions }) => partitions)
    .reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0);
}

const takesAndLeaves = (commits: boolean): Promise<void> =>
  inScene(
    async (scene) => {
      await scene.produce(1, 200);
      await scene.create();
      await scene.holds(span(1, 200));
      // It would read again what the group has not heard of yet.
      await vi.waitFor(async () => expect(await committed(scene)).toBe(200), { timeout: 60_000 });
      const stranger = await Stranger.join(scene.kafka, scene.group, scene.topic, commits);
      await scene.until(({ foreign_members }) => foreign_members?.length === 1);
      await scene.until(({ source }) => (source?.partitions ?? 4) + stranger.partitions.length === 4);
      await scene.produce(201, 400);
      await stranger.sees(50);
      await stranger.leave();
      await scene.reads(4);
      await scene.produce(401, 500);
      await scene.holds(span(1, 500));
      const { foreign_members, counters } = await scene.until((health) => health.foreign_members === undefined);
      expect(foreign_members).toBeUndefined();
      expect(counters.foreign_commits > 0).toBe(commits);
    },
    { partitions: 4 },
  );

describe("a member of the group that is no Sluice", () => {
  test("that commits takes partitions and leaves; each event is written once here", () => takesAndLeaves(true));

  test("that does not commit takes partitions and leaves; each event is written once here", { tags: ["rest"] }, () =>
    takesAndLeaves(false),
  );
});

test("a pipeline goes on where another consumer ended, in a group of the name that its file gives", () =>
  inScene(
    async (scene) => {
      const { kafka, topic } = scene;
      const [theirs, consumer_group] = [`${topic}-loader`, `data-team.${topic}`];
      await scene.produce(1, 200);
      const stranger = await Stranger.join(kafka, theirs, topic, true);
      await stranger.sees(200);
      await scene.create(scene.config(), { consumer_group, sources: { input: { adopt_group: theirs } } });
      await scene.produce(201, 250);
      await stranger.sees(250);
      await scene.until(({ paused }) => paused?.text.includes(`consumer group ${theirs} has a member`) === true);
      await stranger.leave();
      await scene.produce(251, 400);
      await scene.holds(span(251, 400));
      expect(await scene.until((health) => health.source?.lag === 0)).toMatchObject({ consumer_group });
      const groups = await kafka.withAdmin((admin) => admin.describeGroups([consumer_group, scene.group]));
      const members = groups.groups.map((one) => [one.groupId, one.members.length] as const);
      expect(new Map(members)).toEqual(
        new Map([
          [consumer_group, 1],
          [scene.group, 0],
        ]),
      );
    },
    { partitions: 4 },
  ));

describe("members of a pipeline", () => {
  test("are as many as its replicas, and come and go with them", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        const withMembers = (replicas: number) =>
          scene.config({}, { resources: { sources: [{ source_id: "input", replicas }] } });
        await scene.produce(1, 300);
        await scene.create(withMembers(3));
        await scene.holds(span(1, 300));
        const members = async (): Promise<number> => {
          const { groups } = await scene.kafka.withAdmin((admin) => admin.describeGroups([scene.group]));
          return groups[0]!.members.length;
        };
        expect(await members()).toBe(3);
        await scene.stop();
        const { options } = scene.running.engine.get(scene.pipeline_id);
        await scene.running.engine.update(scene.pipeline_id, withMembers(1), options);
        await scene.produce(301, 400);
        await scene.resume();
        await scene.holds(span(1, 400));
        expect(await members()).toBe(1);
      },
      { partitions: 4 },
    ),
  );
});

test(
  "a pipeline with another pipeline_id goes on where it was, and commits that to the group of its new id",
  { tags: ["rest"] },
  () =>
    inScene(async (scene) => {
      await scene.produce(1, 200);
      await scene.create();
      await scene.holds(span(1, 200));
      const former = scene.group;
      await scene.moveTo(`${scene.pipeline_id}-moved`);
      expect(scene.group).not.toBe(former);
      // What is committed is also of partitions to which nothing comes any more.
      await vi.waitFor(async () => expect(await committed(scene)).toBe(200), { timeout: 60_000 });
      await scene.produce(201, 300);
      await scene.holds(span(1, 300));
      const { groups } = await scene.kafka.withAdmin((admin) => admin.describeGroups([former, scene.group]));
      expect(Object.fromEntries(groups.map(({ groupId, members }) => [groupId, members.length]))).toEqual({
        [former]: 0,
        [scene.group]: 1,
      });
    }),
);

test("a group that the broker has forgotten goes on where the journal stands", { tags: ["rest"] }, () =>
  inScene(async (scene) => {
    await scene.produce(1, 100);
    await scene.create();
    await scene.holds(span(1, 100));
    await scene.stop();
    await scene.kafka.groups.delete(scene.group);
    await scene.produce(101, 200);
    await scene.resume();
    await scene.holds(span(1, 200));
  }),
);

describe("another data dir on the same group", () => {
  test("is refused while the first runs and after it, by both names, until it takes over", () =>
    inScene(async (scene) => {
      await scene.produce(1, 100);
      await scene.create();
      await scene.holds(span(1, 100));
      const other = await TestEngine.open({ kafka: quick });
      try {
        await other.engine.create(scene.config(), defaultOptions);
        const { paused } = await other.until(scene.pipeline_id, (health) => health.paused?.class === "owner");
        expect(paused?.text).toContain(scene.running.engine.dataDirId);
        expect(paused?.text).toContain(other.engine.dataDirId);
        await scene.produce(101, 150);
        await scene.holds(span(1, 150));
        await scene.stop();
        await scene.produce(151, 200);
        const later = await other.until(
          scene.pipeline_id,
          ({ paused: now }) => now?.text.includes("partition") === true,
        );
        expect(await scene.ids()).toEqual(span(1, 150));
        const take_over = /run ([0-9a-f]{8})/.exec(later.paused!.text)![1]!;
        await other.engine.configure(scene.pipeline_id, { ...defaultOptions, take_over });
        await scene.holds(span(1, 200));
        await scene.resume();
        await scene.until((health) => health.paused?.class === "owner");
      } finally {
        await other.close();
      }
    }));

  test(
    "that starts at the same moment for the first time: nothing is written twice, and both say so",
    { tags: ["rest"] },
    () =>
      inScene(async (scene) => {
        await scene.produce(1, 300);
        const other = await TestEngine.open({ kafka: quick });
        try {
          await Promise.all([scene.create(), other.engine.create(scene.config(), defaultOptions)]);
          const engines = [scene.running, other];
          const told = await Promise.race(
            engines.map((one) => one.until(scene.pipeline_id, (health) => health.paused?.class === "owner")),
          );
          expect(told.paused?.text).toContain(other.engine.dataDirId);
          expect(told.paused?.text).toContain(scene.running.engine.dataDirId);
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          const ids = await scene.ids();
          expect(new Set(ids).size).toBe(ids.length);
        } finally {
          await other.close();
        }
      }),
  );

  test("that is an old copy of this one is refused", { tags: ["rest"] }, () =>
    inScene(async (scene) => {
      await scene.produce(1, 100);
      await scene.create();
      await scene.holds(span(1, 100));
      await scene.running.close({ keep: true });
      const { dataDir } = scene.running;
      const copy = `${dataDir}-copy`;
      await cp(dataDir, copy, { recursive: true });
      scene.running = await TestEngine.open({ dataDir, kafka: quick });
      await scene.produce(101, 200);
      await scene.holds(span(1, 200));
      await scene.stop();
      const old = await TestEngine.open({ dataDir: copy, kafka: quick });
      try {
        const { paused } = await old.until(scene.pipeline_id, (health) => health.paused?.class === "owner");
        expect(paused?.text).toContain(scene.group);
        expect(await scene.ids()).toEqual(span(1, 200));
      } finally {
        await old.close();
        await rm(copy, { recursive: true, force: true });
      }
    }),
  );
});
