import { describe, expect, test, vi } from "vitest";
import { mechanisms } from "../../support/kafka/access.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import { compacted } from "../../support/kafka/topics.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { kafkaPipeline } from "../../support/pipelines.ts";
import { heldOff } from "../engine/scene.ts";
import { type KafkaScene, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 120_000 });

const inScene = useScenes(useKafka({ wantsLogin: true }));

const event = (id: number): string => JSON.stringify({ id });
const keyed = (id: number, key: string): { key: string; value: string } => ({ key, value: event(id) });
const base64 = (pem = ""): string => Buffer.from(pem).toString("base64");

describe("records of a topic", () => {
  test("compressed with each codec are read", () =>
    inScene(async (scene) => {
      const { sources, sink } = scene.config();
      const codecs = ["gzip", "snappy", "lz4", "zstd"];
      const topics = codecs.map((codec) => `${scene.topic}-${codec}`);
      for (const [index, topic] of topics.entries()) {
        // The broker compresses what comes uncompressed.
        await scene.kafka.topics.create(topic, { config: { "compression.type": codecs[index]! } });
        await scene.kafka.produce(topic, span(100 * index + 1, 100 * (index + 1)).map(event));
      }
      const all = topics.map((topic) => ({ ...sources[0], topic, source_id: topic }));
      await scene.create({ ...scene.config(), sources: all, sink } as PipelineConfig);
      await scene.holds(span(1, 400));
      await scene.stop();
      for (const topic of topics) await scene.kafka.topics.delete(topic);
    }));

  test("behind an open transaction are held back, which is no lag, and are read when it ends", () =>
    inScene(
      async (scene) => {
        await scene.create();
        await scene.produce(1, 50);
        await scene.holds(span(1, 50));
        const producer = scene.kafka.client().producer({ transactionalId: scene.topic, idempotent: true });
        await producer.connect();
        try {
          const open = await producer.transaction();
          await open.send({ topic: scene.topic, messages: [{ value: event(51) }] });
          await scene.produce(52, 100);
          const { source } = await scene.until((health) => (health.source?.held_back ?? 0) >= 50);
          expect(source).toMatchObject({ lag: 0, held_back: 50 });
          expect(await scene.ids()).toEqual(span(1, 50));
          await open.commit();
        } finally {
          await producer.disconnect();
        }
        await scene.holds(span(1, 100));
        await scene.until(({ source }) => source?.held_back === 0);
      },
      { partitions: 1 },
    ));

  test("of an aborted transaction are not read, and those of a committed one are, also when it is last", () =>
    inScene(
      async (scene) => {
        await scene.kafka.produce(scene.topic, span(1, 50).map(event), { transaction: "commit" });
        await scene.kafka.produce(scene.topic, span(51, 100).map(event), { transaction: "abort" });
        await scene.create();
        await scene.holds(span(1, 50));
        await scene.kafka.produce(scene.topic, span(101, 150).map(event), { transaction: "commit" });
        await scene.holds([...span(1, 50), ...span(101, 150)]);
        await scene.kafka.produce(scene.topic, span(151, 200).map(event), { transaction: "abort" });
        // FrameIndex and what was given up count as read: the group comes to the end of the topic.
        const end = await scene.kafka.topics.endOffsets(scene.topic);
        const committed = async (): Promise<number[]> =>
          (await scene.kafka.groups.offsets(scene.group, scene.topic)).map(({ offset }) => offset);
        while (String(await committed()) !== String(end)) await new Promise((resolve) => setTimeout(resolve, 50));
        expect(await scene.ids()).toEqual([...span(1, 50), ...span(101, 150)]);
      },
      { partitions: 1 },
    ));

  test("without a value, with an empty one, with keys and headers: only what is no event is a dead letter", () =>
    inScene(
      async (scene) => {
        const headers = { a: "b", c: "" };
        await scene.kafka.produce(scene.topic, [
          { key: "k", value: event(1), headers },
          { key: "k", value: null },
          { value: "" },
          { value: event(2) },
        ]);
        await scene.create();
        await scene.holds([1, 2]);
        // Its rows can be seen before it is committed.
        const { counters } = await scene.until(({ pending_batches }) => pending_batches === 0);
        expect(counters).toMatchObject({ tombstones_skipped: 1, dead_lettered: 1, rows_written: 2 });
        const { messages } = scene.running.engine.deadLetters(scene.pipeline_id).list(10);
        expect(
          messages.map(({ component, reason, original_message, position, feed }) => {
            return [component, reason, original_message, position, feed?.split("/").slice(1)];
          }),
        ).toEqual([["ingestor", "parse_error", "", 2, [scene.topic, "0"]]]);
        expect(await scene.running.registry.metrics()).toContain(
          `sluice_tombstones_skipped_total{pipeline_id="${scene.pipeline_id}"} 1`,
        );
      },
      { partitions: 1 },
    ));
});

test("what a compaction took from a pending batch is counted, and the rest is written", { tags: ["rest"] }, () =>
  inScene(
    async (scene) => {
      scene.proxy.decideInserts(() => heldOff);
      await scene.create();
      await scene.kafka.produce(scene.topic, [keyed(1, "a"), keyed(2, "b")]);
      await scene.kafka.produce(scene.topic, [keyed(3, "a"), keyed(4, "c")]);
      await scene.until(({ pending_batches }) => pending_batches > 0);
      await scene.stop();
      // A newer event of each key, and one more that fills the last segment, which is never cleaned.
      await scene.kafka.produce(scene.topic, [keyed(5, "a"), keyed(6, "d")]);
      await scene.kafka.produce(scene.topic, [keyed(7, "e")]);
      const left = async (): Promise<string> =>
        String((await scene.kafka.read(scene.topic)).map(({ value }) => (JSON.parse(value!) as { id: number }).id));
      while ((await left()) !== "2,4,5,6,7") await new Promise((resolve) => setTimeout(resolve, 100));
      scene.proxy.decide();
      await scene.resume();
      await scene.holds([2, 4, 5, 6, 7]);
      expect(scene.health.counters.events_compacted).toBe(2);
    },
    { partitions: 1, config: compacted },
  ),
);

const through = (scene: KafkaScene, connection_params: object) => {
  const { sources, sink } = scene.config();
  const { schema_fields, topic } = sources[0] as { schema_fields: object; topic: string };
  return kafkaPipeline(scene.pipeline_id, { topic, schema_fields, connection_params }, { sink });
};

describe("a pipeline comes in", () => {
  const doors = [
    ["PLAINTEXT", undefined],
    ["SSL", undefined],
    ...(["SASL_PLAINTEXT", "SASL_SSL"] as const).flatMap((protocol) => mechanisms.map((one) => [protocol, one])),
  ] as Parameters<KafkaScene["kafka"]["connectionParams"]>[];

  test("by each protocol and mechanism", () =>
    inScene(async (scene) => {
      await scene.produce(1, 10);
      const { engine } = scene.running;
      for (const [index, [protocol, mechanism]] of doors.entries()) {
        const pipeline_id = `${scene.pipeline_id}-${index}`;
        const config = through(scene, scene.kafka.connectionParams(protocol, mechanism));
        await engine.create({ ...config, pipeline_id }, defaultOptions);
        await scene.running.until(pipeline_id, ({ counters }) => counters.rows_written === 10);
        await engine.stop(pipeline_id);
      }
      await scene.holds(span(1, 10).flatMap((id) => doors.map(() => id)));
    }));

  test("with certificates in base64, and without checking those of the brokers", { tags: ["rest"] }, () =>
    inScene(async (scene) => {
      const { root_ca, client_cert, client_key, ...params } = scene.kafka.connectionParams("SSL");
      await scene.produce(1, 10);
      await scene.create(
        through(scene, {
          ...params,
          root_ca: base64(root_ca),
          client_cert: base64(client_cert),
          client_key: base64(client_key),
        }),
      );
      await scene.holds(span(1, 10));
      await scene.stop();
      const { options } = scene.running.engine.get(scene.pipeline_id);
      const unchecked = through(scene, { ...params, client_cert, client_key, skip_tls_verification: true });
      await scene.running.engine.update(scene.pipeline_id, unchecked, options);
      await scene.produce(11, 20);
      await scene.resume();
      await scene.holds(span(1, 20));
    }),
  );

  test("with a wrong password: a pause that says so, without the password", () =>
    inScene(async (scene) => {
      const params = { ...scene.kafka.connectionParams("SASL_SSL"), password: "not the secret" };
      await scene.create(through(scene, params));
      const { paused } = await scene.until((health) => health.paused?.class === "source");
      expect(paused?.text).toMatch(/authentication/i);
      expect(JSON.stringify(scene.running.log.lines) + JSON.stringify(paused)).not.toContain("not the secret");
    }));

  test("to a topic that is not there: a pause, and it goes on when it is made", { tags: ["rest"] }, () =>
    inScene(async (scene) => {
      const topic = `${scene.topic}-later`;
      const { sources, sink } = scene.config();
      const { schema_fields } = sources[0] as { schema_fields: object };
      const connection_params = scene.kafka.connectionParams();
      await scene.create(kafkaPipeline(scene.pipeline_id, { topic, schema_fields, connection_params }, { sink }));
      const { paused } = await scene.until((health) => health.paused?.class === "source");
      expect(paused?.text).toMatch(/does not host this topic-partition|UNKNOWN_TOPIC/i);
      await scene.kafka.topics.create(topic);
      await scene.kafka.produce(topic, span(1, 20).map(event));
      await scene.holds(span(1, 20));
      await scene.kafka.topics.delete(topic);
    }),
  );
});
