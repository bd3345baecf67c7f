import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { PipelineConfig } from "../../../engine/index.ts";
import { Scene, Stage, window } from "./scene.ts";

vi.setConfig({ testTimeout: 90_000 });

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

const table = `CREATE TABLE % (id Int64) ENGINE = MergeTree ORDER BY id ${window}`;
const mapping = [{ name: "id", column_name: "id", column_type: "Int64" }];
const sources = [{ type: "webhook", source_id: "input", schema_fields: [{ name: "id", type: "int" }] }];

/** Dedup by a field that is not declared, in batches of so many rows. */
function configOf(scene: Scene, max_batch_size: number, key = "key"): PipelineConfig {
  const transforms = [{ type: "dedup", source_id: "input", config: { key, time_window: "1h" } }];
  return scene.config({ mapping, max_batch_size }, { sources, transforms });
}

const both = (id: number): { id: number; key: string; other: string } => ({ id, key: "same", other: "same" });
const keyed = (...events: [id: number, key: string][]): { id: number; key: string }[] =>
  events.map(([id, key]) => ({ id, key }));

describe("a dedup key", () => {
  test.concurrent("is one with its equals, whatever their type, and exact; the first in a batch wins", () =>
    stage.share("key-equal", async (scene) => {
      const keys = [
        ['"1"', "1", "1.0", "1e0"],
        ["9007199254740993", '"9007199254740993"', "9007199254740993"],
        ["9007199254740992", "9007199254740992.0"],
        ["-9223372036854775808", '"-9223372036854775808"'],
        ["18446744073709551615", "18446744073709551615"],
        ["true", '"true"'],
        ["0.1", "1e-1", '"0.1"'],
        ['" "', '" "'],
      ];
      const ids = keys.map((_equals, index) => 10 * index);
      const all = keys.flatMap((equals, index) => equals.map((key, at) => `{"id":${10 * index + at},"key":${key}}`));
      await scene.create([table], configOf(scene, keys.length + 1));
      await scene.post([...all, '{"id":99,"key":"the last one"}']);
      const { counters } = await scene.settled();
      expect(await scene.ids()).toEqual([...ids, 99]);
      expect(counters).toMatchObject({ duplicates_dropped: all.length - ids.length, dead_lettered: 0 });
    }),
  );

  test.concurrent("that is missing, null or no key at all makes a dead letter of the ingestor", () =>
    stage.share("key-missing", async (scene) => {
      const bad = ['{"id":1}', ...["null", '""', "[1]", '{"a":1}', "1e400"].map((key) => `{"id":2,"key":${key}}`)];
      await scene.create([table], configOf(scene, 1));
      await scene.post([...bad, '{"id":7,"key":"x"}']);
      await scene.settled();
      expect(await scene.ids()).toEqual([7]);
      const { messages } = scene.running.engine.deadLetters("key-missing").list(10);
      expect(messages.map(({ original_message }) => original_message)).toEqual(bad);
      for (const { component, reason, error } of messages) {
        expect([component, reason]).toEqual(["ingestor", "parse_error"]);
        expect(error).toContain("dedup key key");
      }
    }),
  );
});

describe("what dedup remembers", () => {
  test.concurrent("outlives a stop, an edit that keeps the key, and the process", () =>
    stage.alone("keys-kept", async (scene) => {
      await scene.create([table], configOf(scene, 2));
      await scene.post(keyed([1, "a"], [2, "b"]));
      await scene.settled();
      const { engine } = scene.running;
      await engine.stop("keys-kept");
      await engine.update("keys-kept", configOf(scene, 1), engine.get("keys-kept").options);
      await engine.resume("keys-kept");
      await scene.post(keyed([3, "a"], [4, "c"]));
      await scene.settled();
      await scene.reopen();
      await scene.post(keyed([5, "b"], [6, "c"], [7, "d"]));
      const { counters } = await scene.remembers(4);
      expect(await scene.ids()).toEqual([1, 2, 4, 7]);
      expect(counters.duplicates_dropped).toBe(2);
    }),
  );

  test.concurrent("is nothing after a terminate", { tags: ["rest"] }, () =>
    stage.alone("keys-gone", async (scene) => {
      await scene.create([table], configOf(scene, 1));
      await scene.post(keyed([1, "a"], [2, "a"], [3, "b"]));
      await scene.settled();
      await scene.running.engine.terminate("keys-gone");
      await scene.reopen();
      await scene.running.engine.resume("keys-gone");
      await scene.post(keyed([4, "a"], [5, "a"], [6, "b"]));
      await scene.remembers(2);
      expect(await scene.ids()).toEqual([1, 3, 4, 6]);
    }),
  );

  test.concurrent("is forgotten, and not counted any more, with the edit that removes the dedup", () =>
    stage.alone("keys-removed", async (scene) => {
      await scene.create([table], configOf(scene, 1));
      await scene.post(keyed([1, "a"], [2, "b"]));
      await scene.remembers(2);
      const { engine } = scene.running;
      const { options } = engine.get("keys-removed");
      await engine.stop("keys-removed");
      await engine.update("keys-removed", { ...configOf(scene, 1), transforms: [] }, options);
      expect(engine.health("keys-removed")).not.toHaveProperty("keys");
      await engine.update("keys-removed", configOf(scene, 1), options);
      await scene.reopen();
      await scene.running.engine.resume("keys-removed");
      await scene.post(keyed([3, "a"], [5, "a"], [4, "b"]));
      await scene.remembers(2);
      expect(await scene.ids()).toEqual([1, 2, 3, 4]);
    }),
  );

  test.concurrent("does not count for another key", { tags: ["rest"] }, () =>
    stage.share("keys-other", async (scene) => {
      await scene.create([table], configOf(scene, 1));
      await scene.post([both(1), both(2), { id: 3, key: "another", other: "another" }]);
      await scene.settled();
      const { engine } = scene.running;
      await engine.stop("keys-other");
      await engine.update("keys-other", configOf(scene, 1, "other"), engine.get("keys-other").options);
      await engine.resume("keys-other");
      await scene.post([both(4), both(5), { id: 6, key: "another", other: "another" }]);
      const { counters } = await scene.settled();
      expect(await scene.ids()).toEqual([1, 3, 4, 6]);
      expect(counters.duplicates_dropped).toBe(2);
    }),
  );
});
