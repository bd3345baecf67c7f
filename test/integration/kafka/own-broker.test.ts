/** @module-tag rest */
import { expect, test, vi } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { useKafka, useOwnKafka } from "../../support/kafka/use-kafka.ts";
import { Desk } from "./join-desk.ts";
import { useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 120_000 });

const inScene = useScenes(useKafka());
const registry = useOwnKafka();
const inSceneOfRegistry = useScenes(registry);

/** Orders in one cluster, customers in another one. */
function atDesk(play: (desk: Desk) => Promise<void>): Promise<void> {
  return inScene((scene) => new Desk(scene, registry()).open(play), { partitions: 1 });
}

async function committed(kafka: TestKafka, group: string, topic: string): Promise<number> {
  return (await kafka.groups.offsets(group, topic)).reduce((sum, { offset }) => sum + offset, 0);
}

test("topics of two clusters are joined, each read by a consumer group of its own cluster", () =>
  atDesk(async (desk) => {
    const { scene } = desk;
    await desk.names(["7", "Ann"]);
    await scene.create(desk.config());
    await desk.buffers(0, 1);
    await desk.orders([1, 7], [2, 8]);
    await desk.holds([1, "Ann"]);
    await desk.names(["8", "Bob"]);
    await desk.holds([1, "Ann"], [2, "Bob"]);
    await scene.until(({ source }) => source?.lag === 0 && source.partitions === 2 && source.uncommitted === 0);
    expect(await committed(scene.kafka, scene.group, scene.topic)).toBe(2);
    expect(await committed(registry(), scene.group, desk.customers)).toBe(2);
  }));

test("goes on in both clusters after a restart, where it stood", () =>
  atDesk(async (desk) => {
    const { scene } = desk;
    await scene.create(desk.config());
    await desk.orders([1, 7]);
    await desk.names(["8", "Bob"]);
    await desk.buffers(1, 1);
    await scene.reopen(async () => {
      await desk.orders([2, 8], [3, 7]);
      await desk.names(["7", "Ann"]);
    });
    await desk.holds([1, "Ann"], [2, "Bob"], [3, "Ann"]);
    await scene.stop();
    await desk.orders([4, 8]);
    await scene.resume();
    await desk.holds([1, "Ann"], [2, "Bob"], [3, "Ann"], [4, "Bob"]);
    const { counters } = await scene.until(({ source }) => source?.lag === 0);
    expect(counters).toMatchObject({ positions_moved: 0, events_skipped: 0, positions_skipped: 0 });
  }));

test("a cluster that is killed is a pause that names it, also of a pipeline that starts then; the other cluster is read on, and when it comes back it is, too", () =>
  inSceneOfRegistry(async (late) => {
    await late.produce(1, 50);
    await atDesk(async (desk) => {
      const { scene } = desk;
      await scene.create(desk.config());
      await desk.names(["7", "Ann"]);
      await desk.buffers(0, 1);
      await registry().kill();
      await late.create();
      await desk.orders([1, 7], [2, 8]);
      await desk.holds([1, "Ann"]);
      await desk.buffers(1, 1);
      const [address] = registry().connectionParams().brokers;
      const { paused } = await scene.until((health) => health.paused?.class === "source");
      expect(paused?.text).toMatch(`Kafka at ${address}: `);
      const { paused: ofLate } = await late.until((health) => health.paused?.class === "source");
      expect(ofLate?.way_out).toContain("brokers");
      await registry().start();
      for (const each of [scene, late]) await each.until((health) => health.paused === undefined);
      await late.holds(span(1, 50));
      await desk.names(["8", "Bob"]);
      await desk.holds([1, "Ann"], [2, "Bob"]);
      await scene.stop();
      expect(await committed(registry(), scene.group, desk.customers)).toBe(2);
    });
  }));

test("offsets that a person moves in one cluster are taken, and in the other one it goes on", () =>
  atDesk(async (desk) => {
    const { scene } = desk;
    await scene.create(desk.config());
    await desk.orders([1, 7]);
    await desk.buffers(1, 0);
    await desk.names(["7", "Ann"]);
    await desk.holds([1, "Ann"]);
    await desk.names(["7", "Anna"]);
    await scene.until(({ source, counters }) => counters.events_read === 3 && source?.uncommitted === 0);
    await scene.stop();
    await registry().withAdmin((admin) =>
      admin.setOffsets({
        groupId: scene.group,
        topic: desk.customers,
        partitions: [{ partition: 0, offset: "0" }],
      }),
    );
    await scene.resume();
    const { counters } = await scene.until((health) => health.counters.positions_moved === 1);
    expect(counters.positions_moved).toBe(1);
    await desk.names(["8", "Bob"]);
    await desk.orders([2, 8]);
    await desk.holds([1, "Ann"], [2, "Bob"]);
  }));

test("two connections to one cluster are refused before anything is read, and so is a topic that is in none", () =>
  atDesk(async (desk) => {
    const { scene } = desk;
    const config = desk.config();
    const [orders, customers] = config.sources;
    const check = (source: Record<string, unknown>): Promise<unknown> =>
      scene.running.engine.check({ ...config, sources: [orders!, { ...customers!, ...source }] }, defaultOptions);
    expect(await check({})).toMatchObject({ kind: "ready" });
    expect(await check({ topic: "no-such-topic" })).toMatchObject({
      kind: "refused",
      text: expect.stringMatching(/topic no-such-topic: /) as string,
    });
    const brokers = [...scene.kafka.connectionParams().brokers, "127.0.0.1:1"];
    const same = { ...scene.kafka.connectionParams(), brokers };
    expect(await check({ connection_params: same, topic: scene.topic })).toMatchObject({ kind: "refused" });
    await scene.kafka.topics.create(desk.customers, { partitions: 1 });
    expect(await check({ connection_params: same })).toMatchObject({
      kind: "refused",
      text: expect.stringMatching(
        /lead to one Kafka cluster, .*: give all sources the same connection_params/,
      ) as string,
    });
    await scene.kafka.topics.delete(desk.customers);
  }));
