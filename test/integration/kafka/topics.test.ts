import { describe, expect, test, vi } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { type KafkaScene, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 120_000 });

const inScene = useScenes(useKafka());

/** What is made of a number of the second topic. */
const returned = 1_000_000;

/** Orders as the scene produces them, and beside them a topic of returns, which have other fields. */
class Shop {
  readonly returns: string;
  readonly #scene: KafkaScene;

  constructor(scene: KafkaScene) {
    this.#scene = scene;
    this.returns = `${scene.topic}-returns`;
  }

  /** Orders without those that end with a 7, and returns under other names; `extra` are fields that returns must have. */
  config({ members = 1, extra = ["kind"] }: { members?: number; extra?: string[] } = {}): PipelineConfig {
    const [orders] = this.#scene.config().sources;
    const fields = [{ name: "number", type: "int" }, ...extra.map((name) => ({ name, type: "string" }))];
    const returns = { ...orders, source_id: "returns", topic: this.returns, schema_fields: fields };
    const made = [{ expression: `int(number) + ${returned}`, output_name: "id", output_type: "int" }];
    const over = {
      sources: [orders, returns],
      transforms: [
        { type: "filter", source_id: "input", config: { expression: "int(id) % 10 != 7" } },
        dedup("input", "id", "1h"),
        dedup("returns", "number", "2h"),
        { type: "stateless", source_id: "returns", config: { transforms: made } },
      ],
      resources: { sources: [{ source_id: "input", replicas: members }] },
    };
    return this.#scene.config({}, over);
  }

  /** Returns with the numbers `from` to `to`, spread over the partitions. */
  async produce(from: number, to: number, kind?: string): Promise<void> {
    const events = span(from, to).map((number) => JSON.stringify({ number, kind }));
    await this.#scene.kafka.produce(this.returns, events);
  }

  /** Stops the pipeline, gives it another config, and resumes it. */
  async edit(config: PipelineConfig): Promise<void> {
    await this.#scene.stop();
    await this.#scene.running.engine.update(this.#scene.pipeline_id, config, defaultOptions);
    await this.#scene.resume();
  }
}

function inShop(play: (scene: KafkaScene, shop: Shop) => Promise<void>): Promise<void> {
  return inScene(
    async (scene) => {
      const shop = new Shop(scene);
      await scene.kafka.topics.create(shop.returns, { partitions: 2 });
      try {
        await play(scene, shop);
      } finally {
        await scene.running.engine.stop(scene.pipeline_id).catch(() => undefined);
        await scene.kafka.topics.delete(shop.returns);
      }
    },
    { partitions: 2 },
  );
}

const dedup = (source_id: string, key: string, time_window: string) => {
  return { type: "dedup", source_id, config: { key, time_window } };
};
const orders = (from: number, to: number) => span(from, to).filter((id) => id % 10 !== 7);
const returns = (from: number, to: number) => span(returned + from, returned + to);

async function offsetsOf({ kafka, group }: KafkaScene, topic: string): Promise<number> {
  return (await kafka.groups.offsets(group, topic)).reduce((sum, { offset }) => sum + offset, 0);
}

describe("topics with fields, transforms and dedups of their own", () => {
  test("go into one table, each event once, also over a restart, by three members", () =>
    inShop(async (scene, shop) => {
      await Promise.all([scene.produce(1, 200), shop.produce(1, 200, "damaged")]);
      await scene.create(shop.config({ members: 3 }));
      await scene.holds([...orders(1, 200), ...returns(1, 200)]);
      await scene.reads(4);
      // The same ids are other keys in another topic, and repeats in their own.
      await Promise.all([scene.produce(150, 300), shop.produce(100, 300, "damaged")]);
      await scene.reopen(() => shop.produce(250, 400, "damaged"));
      await scene.holds([...orders(1, 300), ...returns(1, 400)]);
      await scene.until(({ keys, pending_batches }) => keys?.keys === 270 + 400 && pending_batches === 0);
      await scene.stop();
      expect(await offsetsOf(scene, scene.topic)).toBe(200 + 151);
      expect(await offsetsOf(scene, shop.returns)).toBe(200 + 201 + 151);
    }));

  test(
    "have dead letters that name them, and that are sent again through their own transforms",
    { tags: ["rest"] },
    () =>
      inShop(async (scene, shop) => {
        await scene.create(shop.config());
        await shop.produce(1, 2);
        const { engine } = scene.running;
        await scene.until(({ dead_letters }) => dead_letters.total_messages === 2);
        const letters = engine.deadLetters(scene.pipeline_id).list(10).messages;
        for (const { feed, origin, error } of letters) {
          expect(feed).toContain(`/${shop.returns}/`);
          expect(origin).toBe(shop.returns);
          expect(error).toContain("kind");
        }
        await shop.edit(shop.config({ extra: [] }));
        await engine.reprocess(scene.pipeline_id, { mode: "all" });
        await scene.holds(returns(1, 2));
      }),
  );
});

test("a topic that is added later is read from its beginning; the other one goes on", { tags: ["rest"] }, () =>
  inShop(async (scene, shop) => {
    await Promise.all([scene.produce(1, 100), shop.produce(1, 100, "damaged")]);
    await scene.create();
    await scene.holds(span(1, 100));
    await shop.edit(shop.config());
    await scene.produce(101, 150);
    await scene.holds([...span(1, 100), ...orders(101, 150), ...returns(1, 100)]);
  }),
);

test(
  "what a batch under way holds of a topic that is taken out becomes dead letters, until it is put back",
  { tags: ["rest"] },
  () =>
    inShop(async (scene, shop) => {
      await scene.create(shop.config());
      await scene.reads(4);
      await scene.server.client.command({ query: `RENAME TABLE ${scene.table} TO ${scene.table}_away` });
      await shop.produce(1, 20, "damaged");
      await scene.until(({ paused, pending_batches }) => paused !== undefined && pending_batches > 0);
      await scene.produce(1, 20);
      await scene.stop();
      await scene.running.engine.update(scene.pipeline_id, scene.config(), defaultOptions);
      await scene.server.client.command({ query: `RENAME TABLE ${scene.table}_away TO ${scene.table}` });
      await scene.resume();
      await scene.holds(span(1, 20));
      await scene.until(({ pending_batches }) => pending_batches === 0);
      const { engine } = scene.running;
      const letters = engine.deadLetters(scene.pipeline_id).list(100).messages;
      expect(letters.length).toBeGreaterThan(0);
      for (const { error } of letters) expect(error).toContain(`found one of "${shop.returns}"`);
      await shop.edit(shop.config());
      await engine.reprocess(scene.pipeline_id, { mode: "all" });
      await scene.holds([...span(1, 20), ...returns(1, 20)]);
    }),
);
