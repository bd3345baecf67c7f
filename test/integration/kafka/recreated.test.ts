import { describe, expect, test, vi } from "vitest";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { type KafkaScene, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 90_000 });

const inScene = useScenes(useKafka());

/** Deletes the topic and creates one of the same name. */
async function recreate({ kafka, topic }: KafkaScene, partitions = 1): Promise<void> {
  await kafka.topics.delete(topic);
  await kafka.topics.create(topic, { partitions });
}

/** Writes so many events and stops; then the topic is another one, which holds more than was read of the first. */
async function recreatedWhileStopped(scene: KafkaScene): Promise<void> {
  await scene.produce(1, 100);
  await scene.create();
  await scene.holds(span(1, 100));
  await scene.stop();
  await recreate(scene);
  await scene.produce(101, 400);
}

describe("a topic that was created again while its pipeline was stopped", () => {
  test("is a pause, however far it has grown, until an option says to begin it", () =>
    inScene(
      async (scene) => {
        await recreatedWhileStopped(scene);
        await scene.resume();
        const { paused } = await scene.until((health) => health.paused?.class === "lost");
        expect(paused?.text).toMatch(/topic .* was deleted and created again/);
        await scene.produce(401, 500);
        await scene.reopen();
        await scene.until((health) => health.paused?.class === "lost");
        await scene.options({ on_lost: "skip" });
        await scene.holds(span(1, 500));
        expect(scene.health.counters.topics_recreated).toBe(1);
        await scene.reopen();
        await scene.produce(501, 600);
        await scene.holds(span(1, 600));
        expect(scene.health.counters.topics_recreated).toBe(0);
        expect(scene.health.paused).toBeUndefined();
      },
      { partitions: 1 },
    ));

  test("goes on where a person has put the consumer group meanwhile", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        await recreatedWhileStopped(scene);
        await scene.kafka.groups.set(scene.group, [{ topic: scene.topic, partition: 0, offset: 250 }]);
        await scene.resume();
        await scene.holds([...span(1, 100), ...span(351, 400)]);
        expect(scene.health.paused).toBeUndefined();
      },
      { partitions: 1 },
    ),
  );
});

describe("a topic that is created again while it is read", () => {
  test("is begun with on_lost: skip, also with more or fewer partitions", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        await scene.produce(1, 200);
        await scene.create(scene.config(), { on_lost: "skip" });
        await scene.holds(span(1, 200));
        await recreate(scene, 3);
        await scene.produce(201, 800);
        await scene.holds(span(1, 800));
        await recreate(scene, 1);
        await scene.produce(801, 1600);
        await scene.holds(span(1, 1600));
        expect(scene.health.counters.topics_recreated).toBe(2);
        await scene.stop();
        const [offset] = await scene.kafka.groups.offsets(scene.group, scene.topic);
        expect(offset?.offset).toBe(800);
      },
      { partitions: 2 },
    ),
  );

  test("is a pause without it, and read when the option says so", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        await scene.produce(1, 100);
        await scene.create();
        await scene.holds(span(1, 100));
        await recreate(scene);
        await scene.produce(101, 400);
        await scene.until((health) => health.paused?.class === "lost");
        await scene.options({ on_lost: "skip" });
        await scene.holds(span(1, 400));
      },
      { partitions: 1 },
    ),
  );
});
