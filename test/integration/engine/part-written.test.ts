/** @module-tag rest */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { exception, pass, type Judge } from "../../support/clickhouse-proxy.ts";
import { Scene, Stage } from "./scene.ts";

vi.setConfig({ testTimeout: 90_000 });

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

/** A dozen events, each for a partition of its own; an index of the table fails on the last one of the partitions. */
const dozen = Array.from({ length: 12 }, (_, id) => ({ id, level: "info", other: 1000 + id, part: id }));
const table = `CREATE TABLE % (id Int64, part Int64, extra Int64, INDEX odd throwIf(extra = 11) TYPE minmax) ENGINE = MergeTree PARTITION BY part ORDER BY id SETTINGS non_replicated_deduplication_window = 1000`;
const schema_fields = ["id", "other", "part"].map((name) => ({ name, type: "int" }));
const resources = { nats: { stream: { max_msgs: -1 } } };

/** `mapping`: the field that feeds each column. */
function configOf(scene: Scene, mapping: Record<string, string>): ReturnType<Scene["config"]> {
  const columns = Object.entries(mapping).map(([column_name, name]) => ({ name, column_name, column_type: "Int64" }));
  const sources = [{ type: "webhook", source_id: "input", schema_fields }];
  return scene.config({ mapping: columns, max_batch_size: 12 }, { sources, resources });
}

const first = { id: "id", part: "part", extra: "id" };

/** Stopped with the batch under way: all partitions but the last few are in the table, and nobody knows that. */
async function partWritten(scene: Scene): Promise<number[]> {
  await scene.create([table], configOf(scene, first));
  await scene.pour(dozen);
  const { paused } = await scene.paused("setup");
  expect(paused!.text).toContain("395");
  await scene.running.engine.stop(scene.pipeline_id);
  expect(scene.health).toMatchObject({ overall_status: "Stopped", pending_batches: 1, counters: { rows_written: 0 } });
  const written = await scene.ids();
  expect(written.length).toBeGreaterThan(0);
  expect(written.length).toBeLessThan(12);
  return written;
}

const parts = dozen.map(({ id }) => id);
const tokens = (scene: Scene): Set<string> => new Set(scene.sends(0).map(({ token }) => token));

describe("an index fails in the last of 12 partitions, and the pipeline is stopped", () => {
  test.concurrent("when the table is mended, every row is there once", () =>
    stage.share("mended-table", async (scene) => {
      await partWritten(scene);
      await scene.sql("ALTER TABLE % DROP INDEX odd");
      await scene.running.engine.resume(scene.pipeline_id);
      const { counters } = await scene.settled();
      expect(await scene.ids()).toEqual(parts);
      expect(counters).toMatchObject({ batches_replayed: 1, batches_reprepared: 0, batches_uncertain: 0 });
      expect(counters.inserts_repeated).toBeGreaterThan(0);
      expect(tokens(scene).size).toBe(1);
    }),
  );

  test.concurrent(
    "when an edit mends the mapping, what was written stays, and the rest is written by the new one",
    () =>
      stage.share("mended-mapping", async (scene) => {
        const written = await partWritten(scene);
        const config = configOf(scene, { ...first, id: "other", extra: "other" });
        const { engine } = scene.running;
        const repeated = scene.health.counters.inserts_repeated;
        await engine.update(scene.pipeline_id, config, engine.get(scene.pipeline_id).options);
        await engine.resume(scene.pipeline_id);
        // Sent once more as it was recorded, and then by the new mapping.
        await scene.until(({ pending_batches, counters }) => {
          return pending_batches === 0 || counters.inserts_repeated > repeated + 2;
        });
        const { counters, pending_batches } = scene.health;
        expect(pending_batches).toBe(0);
        expect(await scene.ids("part")).toEqual(parts);
        const rest = parts.filter((id) => !written.includes(id)).map((id) => 1000 + id);
        expect(await scene.ids()).toEqual([...written, ...rest]);
        expect(counters).toMatchObject({ batches_replayed: 1, batches_reprepared: 1, batches_uncertain: 0 });
        expect(tokens(scene).size).toBe(1);
      }),
  );
});

/** The first insert meets what `judge` says; all that follow meet an error that says nothing of what was written. */
function firstMeets(judge: Judge): Judge {
  let isFirst = true;
  return (asked) => {
    if (!isFirst) return exception(999, "KEEPER_EXCEPTION", "Session expired");
    isFirst = false;
    return judge(asked);
  };
}

describe("an edit drops a column and its mapping while a batch has an unknown answer", () => {
  const plain = table.replace(/, INDEX .*? TYPE minmax/, "");
  const second = { id: "other", part: "part" };

  test.concurrent.each<[string, string, Judge, number]>([
    ["all of it was written, nothing is added", "all", () => ({ kind: "lose" }), 12],
    ["nothing of it was written, all of it is, by the new mapping", "none", () => ({ kind: "drop" }), 0],
  ])("where %s", (_title, name, judge, written) =>
    stage.share(`column-${name}`, async (scene) => {
      scene.proxy.decideInserts(firstMeets(judge));
      await scene.create([plain], configOf(scene, first));
      await scene.pour(dozen);
      await scene.paused("transient");
      const { engine } = scene.running;
      await engine.stop(scene.pipeline_id);
      expect(await scene.ids()).toHaveLength(written);
      await scene.sql("ALTER TABLE % DROP COLUMN extra");
      scene.proxy.decideInserts(() => pass);
      await engine.update(scene.pipeline_id, configOf(scene, second), engine.get(scene.pipeline_id).options);
      await engine.resume(scene.pipeline_id);
      const { counters } = await scene.settled();
      expect(await scene.ids()).toEqual(parts.map((id) => (written === 0 ? 1000 + id : id)));
      expect(counters).toMatchObject({ batches_replayed: 1, batches_reprepared: 1, batches_uncertain: 0 });
      expect(new Set(scene.proxy.handled.flatMap(({ token }) => token ?? [])).size).toBe(1);
    }),
  );

  test.concurrent("where a part of it was written, the rest is, by the new mapping", () =>
    stage.share("column-part", async (scene) => {
      const written = await partWritten(scene);
      const { engine } = scene.running;
      await scene.sql("ALTER TABLE % DROP INDEX odd", "ALTER TABLE % DROP COLUMN extra");
      await engine.update(scene.pipeline_id, configOf(scene, second), engine.get(scene.pipeline_id).options);
      await engine.resume(scene.pipeline_id);
      const { counters } = await scene.settled();
      expect(await scene.ids("part")).toEqual(parts);
      const rest = parts.filter((id) => !written.includes(id)).map((id) => 1000 + id);
      expect(await scene.ids()).toEqual([...written, ...rest]);
      expect(counters).toMatchObject({ batches_replayed: 1, batches_reprepared: 1, batches_uncertain: 0 });
    }),
  );
});
