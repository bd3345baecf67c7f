import { expect, test, vi } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { useScenes } from "./kafka-scene.ts";

vi.setConfig({ testTimeout: 60_000 });

const inScene = useScenes(useKafka());

test("the newest events of each partition, and the consumer group is as it was", () =>
  inScene(async (scene) => {
    const { engine } = scene.running;
    await scene.create();
    await scene.produce(1, 30, 0);
    await scene.produce(31, 31, 1);
    await scene.holds(Array.from({ length: 31 }, (_, index) => index + 1));
    await engine.stop(scene.pipeline_id);
    await scene.produce(32, 40, 0);
    const committed = await scene.kafka.groups.offsets(scene.group, scene.topic);
    const sampled = async (count: number): Promise<[string | undefined, number][]> => {
      const { events, left_out } = await engine.sample(scene.pipeline_id, count);
      expect(left_out).toBe(0);
      return events.map(({ text, origin }) => [origin, (JSON.parse(text) as { id: number }).id]);
    };
    const ofTopic = (...ids: number[]): [string, number][] => ids.map((id) => [scene.topic, id]);
    expect((await sampled(1)).length).toBe(1);
    expect(await sampled(4)).toEqual(ofTopic(38, 39, 40, 31));
    expect(await sampled(1000)).toHaveLength(40);
    expect(await scene.kafka.groups.offsets(scene.group, scene.topic)).toEqual(committed);
    expect(await scene.kafka.groups.state(scene.group)).toBe("Empty");
  }));

test(
  "offsets without an event are passed over: those of tombstones are counted, those of transactions are not",
  { tags: ["rest"] },
  () =>
    inScene(
      async (scene) => {
        const { engine } = scene.running;
        await scene.create();
        await engine.stop(scene.pipeline_id);
        for (const id of [1, 2, 3]) {
          await scene.kafka.produce(scene.topic, [JSON.stringify({ id })], { transaction: "commit" });
        }
        expect((await engine.sample(scene.pipeline_id, 3)).events).toHaveLength(3);
        await scene.kafka.produce(scene.topic, [{ value: null }]);
        const { events, left_out } = await engine.sample(scene.pipeline_id, 2);
        expect([events.map(({ text }) => text), left_out]).toEqual([['{"id":3}'], 1]);
      },
      { partitions: 1 },
    ),
);

test("a topic that is gone, and a login that is refused, are errors without a secret", { tags: ["rest"] }, () =>
  inScene(async (scene) => {
    const { engine } = scene.running;
    const [source] = scene.config().sources;
    const missing = scene.config({}, { pipeline_id: "missing", sources: [{ ...source, topic: "no-such-topic" }] });
    await engine.create(missing, defaultOptions);
    await expect(engine.sample("missing", 1)).rejects.toMatchObject({
      code: "SAMPLE_FAILED",
      message: expect.stringMatching(
        /^pipeline missing: its events could not be read: Kafka: topic no-such-topic: .*UNKNOWN_TOPIC/,
      ) as string,
    });
    const { password, ...login } = scene.kafka.connectionParams("SASL_PLAINTEXT", "PLAIN");
    const connection_params = { ...login, password: `${password}-and-more` };
    await engine.create(
      scene.config({}, { pipeline_id: "stranger", sources: [{ ...source, connection_params }] }),
      defaultOptions,
    );
    const refused = await engine.sample("stranger", 1).catch(String);
    expect(refused).toMatch(/pipeline stranger: its events could not be read: Kafka: .*[Aa]uthentication/);
    expect(refused).not.toContain(connection_params.password);
  }),
);
