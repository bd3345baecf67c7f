import { expect, test, vi } from "vitest";
import { useOwnKafka } from "../../support/kafka/use-kafka.ts";
import { span, useScenes } from "./kafka-scene.ts";

vi.setConfig({ testTimeout: 120_000 });

const kafka = useOwnKafka();
const inScene = useScenes(kafka);

test.each(["restart", "kill"] as const)("a broker that is ended by %s and comes back is read on, by itself", (how) =>
  inScene(async (scene) => {
    await scene.produce(1, 200);
    await scene.create();
    await scene.holds(span(1, 200));
    if (how === "restart") await kafka().restart();
    else {
      await kafka().kill();
      await kafka().start();
    }
    await scene.produce(201, 400);
    await scene.holds(span(1, 400));
    await scene.until(({ paused, source }) => paused === undefined && source?.partitions === 3);
    await scene.stop();
    const offsets = await scene.kafka.groups.offsets(scene.group, scene.topic);
    expect(offsets.reduce((sum, { offset }) => sum + offset, 0)).toBe(400);
  }),
);

test("a pipeline that starts while no broker answers is paused, and goes on when one does", () =>
  inScene(async (scene) => {
    await scene.produce(1, 50);
    await kafka().kill();
    await scene.create();
    const { paused } = await scene.until((health) => health.paused?.class === "source");
    expect(paused?.way_out).toContain("brokers");
    await kafka().start();
    await scene.holds(span(1, 50));
    await scene.until((health) => health.paused === undefined);
  }));
