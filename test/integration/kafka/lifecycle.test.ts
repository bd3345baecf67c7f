import { describe, expect, test, vi } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { heldOff } from "../engine/scene.ts";
import { type KafkaScene, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 180_000 });

const inScene = useScenes(useKafka());

const mapping = (...names: string[]) => names.map((name) => ({ name: "id", column_name: name, column_type: "Int64" }));

describe("under load", () => {
  test("stops, resumes, edits, terminations and restarts write each event once", () =>
    inScene(async (scene) => {
      const { engine } = scene.running;
      const id = scene.pipeline_id;
      let last = 0;
      const more = async (): Promise<void> => {
        const first = last + 1;
        last += 250;
        await scene.produce(first, first + 249);
      };
      const moreRows = async (): Promise<void> => {
        const { counters } = scene.health;
        await more();
        await scene.until((health) => health.counters.rows_written > counters.rows_written + 100);
      };
      /** What is done while events come, are read and are written. */
      const amid = async (work: () => Promise<unknown>): Promise<void> => {
        await moreRows();
        await Promise.all([work(), more()]);
      };
      await scene.create(scene.config({ max_batch_size: 70 }));
      await amid(() => engine.stop(id));
      await engine.resume(id);
      await amid(() => engine.stop(id));
      const { options } = engine.get(id);
      await engine.update(id, scene.config({ max_batch_size: 130 }), options);
      await engine.resume(id);
      await amid(() => engine.terminate(id));
      await engine.resume(id);
      await amid(() => engine.configure(id, { ...defaultOptions, on_uncertain: "pause" }));
      await amid(() => scene.reopen());
      await scene.holds(span(1, last));
      expect(scene.running.engine.deadLetters(id).state().total_messages).toBe(0);
    }));
});

/** Leaves a batch of twenty events behind whose insert came through, but not its answer. */
async function leavesUnknown(scene: KafkaScene, sink: Record<string, unknown> = {}): Promise<void> {
  let isFirst = true;
  scene.proxy.decideInserts(() => {
    if (!isFirst) return heldOff;
    isFirst = false;
    return { kind: "lose" };
  });
  await scene.produce(1, 20);
  await scene.create(scene.config({ ...sink, max_batch_size: 20, max_delay_time: "1h" }));
  await scene.until(({ pending_batches }) => pending_batches > 0);
  while (scene.proxy.inserts("lose").length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await scene.reopen();
  await scene.stop();
  scene.proxy.decide();
}

describe("an edit between the end of a process and the next start", () => {
  test("of the filter holds for what is read next, not for what may be in the table", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        await leavesUnknown(scene);
        const transforms = [{ type: "filter", source_id: "input", config: { expression: "int(id) % 2 == 0" } }];
        const config = scene.config({ max_batch_size: 20, max_delay_time: "100ms" }, { transforms });
        await scene.running.engine.update(scene.pipeline_id, config, defaultOptions);
        await scene.produce(21, 40);
        await scene.resume();
        await scene.holds([...span(1, 20), ...span(21, 40).filter((id) => id % 2 === 0)]);
        // By the start before the edit, which was held off, and by the one after it.
        expect(scene.health.counters.batches_replayed).toBe(2);
      },
      { partitions: 1 },
    ),
  );

  test("of the password lets the pending batch in", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        const wrong = { ...scene.config().sink.connection_params, password: "wrong" };
        await scene.produce(1, 20);
        await scene.create(scene.config({ connection_params: wrong }));
        await scene.until((health) => health.paused?.class === "setup");
        await scene.stop();
        await scene.running.engine.update(scene.pipeline_id, scene.config(), defaultOptions);
        await scene.resume();
        await scene.holds(span(1, 20));
      },
      { partitions: 1 },
    ),
  );

  test("of the mapping after a DROP COLUMN sends the rest with the batch's own token", { tags: ["rest"] }, () =>
    inScene(
      async (scene) => {
        await scene.server.client.command({ query: `ALTER TABLE ${scene.table} ADD COLUMN other Int64` });
        await leavesUnknown(scene, { mapping: mapping("id", "other") });
        await scene.server.client.command({ query: `ALTER TABLE ${scene.table} DROP COLUMN other` });
        const config = scene.config({ mapping: mapping("id"), max_batch_size: 20, max_delay_time: "100ms" });
        await scene.running.engine.update(scene.pipeline_id, config, defaultOptions);
        await scene.produce(21, 40);
        await scene.resume();
        await scene.holds(span(1, 40));
        const { counters } = scene.health;
        expect([counters.batches_replayed, counters.batches_reprepared]).toEqual([2, 1]);
      },
      { partitions: 1 },
    ),
  );
});
