import { describe, expect, test, vi } from "vitest";
import { pass } from "../../support/clickhouse-proxy.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { heldOff } from "../engine/scene.ts";
import { type KafkaScene, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 90_000 });

const inScene = useScenes(useKafka());

describe("a pipeline that reads a topic", () => {
  test("writes each event once, commits with its claim, and goes on after a stop and after a restart", () =>
    inScene(async (scene) => {
      await scene.produce(1, 500);
      await scene.create();
      await scene.holds(span(1, 500));
      await scene.stop();
      const offsets = await scene.kafka.groups.offsets(scene.group, scene.topic);
      expect(offsets.reduce((sum, { offset }) => sum + offset, 0)).toBe(500);
      for (const { metadata } of offsets) expect(metadata).toMatch(/^[0-9a-f]{16}:[0-9a-f]{8}:\d+$/);
      await scene.produce(501, 600);
      await scene.resume();
      await scene.holds(span(1, 600));
      await scene.reopen();
      await scene.produce(601, 700);
      await scene.holds(span(1, 700));
    }));

  test("stops at once: what was not prepared is read by the next start, what was is there", { tags: ["rest"] }, () =>
    inScene(async (scene) => {
      await scene.create(scene.config({ max_batch_size: 1000, max_delay_time: "1h" }));
      await scene.produce(1, 300);
      await scene.until(({ source }) => (source?.lag ?? 0) > 0 || source?.partitions === 3);
      await scene.stop();
      expect(await scene.ids()).toEqual([]);
      await scene.running.engine.update(
        scene.pipeline_id,
        scene.config({ max_batch_size: 300 }),
        scene.running.engine.get(scene.pipeline_id).options,
      );
      await scene.resume();
      await scene.holds(span(1, 300));
    }),
  );

  test("is carried on from a pending batch whose insert was held off, by another process", { tags: ["rest"] }, () =>
    inScene(async (scene) => {
      scene.proxy.decideInserts(() => heldOff);
      await scene.create();
      await scene.produce(1, 200);
      await scene.until(({ pending_batches }) => pending_batches > 0);
      await scene.reopen(async () => scene.proxy.decide());
      await scene.holds(span(1, 200));
      await scene.until(({ counters }) => counters.batches_replayed > 0);
    }),
  );
});

test("a lag is unknown until the ends of the topic are known", { tags: ["rest"] }, () =>
  inScene(async (scene) => {
    await scene.produce(1, 300);
    const [source] = scene.config().sources;
    const connection_params = { ...scene.kafka.connectionParams(), brokers: ["127.0.0.1:1"] };
    const config = scene.config({}, { sources: [{ ...source, connection_params }] });
    await scene.create(config);
    expect(scene.health.source).toEqual({ partitions: 0, uncommitted: 0 });
    await scene.stop();
    await scene.running.engine.update(scene.pipeline_id, scene.config(), defaultOptions);
    await scene.resume();
    await scene.holds(span(1, 300));
    await scene.until((health) => health.source?.lag === 0);
  }),
);

describe("where a group without offsets begins", () => {
  test("is the start by default, the end with latest, and a time", () =>
    inScene(async (scene) => {
      await scene.produce(1, 30);
      await scene.create(scene.config(), { start: "latest" });
      await scene.reads(3);
      await scene.produce(31, 60);
      await scene.holds(span(31, 60));
    }));

  test("is the time that is asked for", { tags: ["rest"] }, () =>
    inScene(async (scene) => {
      await scene.produce(1, 30);
      await new Promise((resolve) => setTimeout(resolve, 50));
      const start = new Date().toISOString();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await scene.produce(31, 60);
      await scene.create(scene.config(), { start });
      await scene.holds(span(31, 60));
    }),
  );

  test("is, for a partition that appears later, its beginning, also under latest", { tags: ["rest"] }, () =>
    inScene(async (scene) => {
      await scene.produce(1, 30);
      await scene.create(scene.config(), { start: "latest" });
      await scene.reads(3);
      await scene.kafka.topics.addPartitions(scene.topic, 4);
      await scene.produce(31, 60, 3);
      await scene.holds(span(31, 60));
    }),
  );
});

const moveTo = async (scene: KafkaScene, offset: number): Promise<void> => {
  await scene.kafka.groups.set(scene.group, [{ topic: scene.topic, partition: 0, offset }]);
};

describe("a person who moves the group", () => {
  test("is followed: backward the events are read again, forward they are left out", () =>
    inScene(
      async (scene) => {
        await scene.produce(1, 100);
        await scene.create();
        await scene.holds(span(1, 100));
        await scene.stop();
        await moveTo(scene, 90);
        await scene.resume();
        await scene.holds([...span(1, 90), ...span(91, 100).flatMap((id) => [id, id])]);
        await scene.stop();
        await scene.produce(101, 120);
        await moveTo(scene, 110);
        await scene.resume();
        await scene.holds([...span(1, 90), ...span(91, 100).flatMap((id) => [id, id]), ...span(111, 120)]);
        const { counters } = scene.health;
        expect(counters.positions_moved).toBe(2);
      },
      { partitions: 1 },
    ));

  test("is followed once what was pending is settled", () =>
    inScene(
      async (scene) => {
        scene.proxy.decideInserts(() => heldOff);
        await scene.create();
        await scene.produce(1, 100);
        await scene.until(({ pending_batches }) => pending_batches > 0);
        await scene.reopen(async () => {
          while ((await scene.kafka.groups.state(scene.group)) === "Stable") {
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
          await moveTo(scene, 20);
          scene.proxy.decide();
        });
        await scene.holds([...span(1, 20), ...span(21, 100).flatMap((id) => [id, id])]);
        expect(scene.health.counters.positions_moved).toBe(1);
      },
      { partitions: 1 },
    ));
});

describe("a person who moves the group back while a batch is pending", () => {
  test("is still followed after a stop that comes before anything was read from there", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        scene.proxy.decideInserts(() => heldOff);
        await scene.produce(1, 100);
        await scene.create(scene.config({ max_delay_time: "1h" }));
        await scene.until(({ pending_batches }) => pending_batches > 0);
        await scene.stop();
        await moveTo(scene, 20);
        let isFirst = true;
        scene.proxy.decideInserts(() => {
          const fate = isFirst ? pass : heldOff;
          isFirst = false;
          return fate;
        });
        await scene.resume();
        await scene.holds(span(1, 100));
        await scene.produce(101, 120);
        await scene.until(({ counters, pending_batches }) => counters.rows_written === 100 && pending_batches > 0);
        await scene.stop();
        const [committed] = await scene.kafka.groups.offsets(scene.group, scene.topic);
        expect(committed?.offset).toBe(20);
        scene.proxy.decide();
        await scene.resume();
        await scene.holds([...span(1, 20), ...span(21, 100).flatMap((id) => [id, id]), ...span(101, 120)]);
      },
      { partitions: 1 },
    ),
  );
});

describe("offsets that are not in the topic", () => {
  test("are a pause, or skipped and counted", () =>
    inScene(
      async (scene) => {
        await scene.produce(1, 100);
        await scene.create();
        await scene.holds(span(1, 100));
        await scene.stop();
        await scene.produce(101, 200);
        await scene.kafka.topics.deleteRecords(scene.topic, 0, 150);
        await scene.resume();
        const { paused } = await scene.until((health) => health.paused?.class === "lost");
        expect(paused?.text).toContain("goes on at offset 100, and the brokers have 150 to 200");
        await scene.options({ on_lost: "skip" });
        await scene.holds([...span(1, 100), ...span(151, 200)]);
        expect(scene.health.counters.positions_skipped).toBe(50);
      },
      { partitions: 1 },
    ));

  test("behind what was fetched and not read yet are skipped when that is read", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        // There is room for one fetch of 300 events and a part of another.
        const resources = { sources: [{ source_id: "input", limits: { memory: "32Ki" } }] };
        scene.proxy.decideInserts(() => heldOff);
        await scene.create(scene.config({ max_batch_size: 10 }, { resources }), { on_lost: "skip" });
        await scene.produce(1, 300);
        await scene.until(({ pending_batches }) => pending_batches > 0);
        await scene.produce(301, 600);
        const isFull = async (): Promise<boolean> =>
          / 1$/m.test(await scene.running.registry.getSingleMetricAsString("gfm_ingestor_backpressure_active"));
        while (!(await isFull())) await new Promise((resolve) => setTimeout(resolve, 50));
        await scene.produce(601, 900);
        await scene.kafka.topics.deleteRecords(scene.topic, 0, 700);
        scene.proxy.decide();
        await scene.holds([...span(1, 600), ...span(701, 900)]);
        expect(scene.health.counters.positions_skipped).toBe(100);
      },
      { partitions: 1 },
    ),
  );

  test("of a pending batch are a pause, or what is left of it is sent", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        scene.proxy.decideInserts(() => heldOff);
        await scene.create();
        await scene.produce(1, 100);
        await scene.until(({ pending_batches }) => pending_batches > 0);
        await scene.stop();
        await scene.kafka.topics.deleteRecords(scene.topic, 0, 60);
        scene.proxy.decide();
        await scene.resume();
        await scene.until((health) => health.paused?.class === "lost");
        await scene.options({ on_lost: "skip" });
        await scene.holds(span(61, 100));
        expect(scene.health.counters.events_skipped).toBe(60);
      },
      { partitions: 1 },
    ),
  );
});
