/** @module-tag rest */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { eventsTo, Scene, Stage, window } from "./scene.ts";

vi.setConfig({ testTimeout: 90_000 });

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

const mend = "ALTER TABLE %_view MODIFY QUERY SELECT id FROM %";
const five = [1, 2, 3, 4, 5];

/**
 * Paused with five rows in the table that the view behind it, which fails on one of them, does not have. `remembers`: the
 * settings of the table of the view.
 */
async function broken(scene: Scene, remembers = window): Promise<void> {
  await scene.create(
    [
      `CREATE TABLE % (id Int64, level String) ENGINE = MergeTree ORDER BY id ${window}`,
      `CREATE TABLE %_out (id Int64) ENGINE = MergeTree ORDER BY id ${remembers}`,
      "CREATE MATERIALIZED VIEW %_view TO %_out AS SELECT id + throwIf(id = 3) AS id FROM %",
    ],
    scene.config(),
  );
  await scene.post(eventsTo(5));
  await scene.paused("view");
  expect([await scene.ids(), await out(scene)]).toEqual([five, []]);
}

/** What the view has of ours. */
async function out(scene: Scene): Promise<number[]> {
  const rows = await scene.server.query<{ id: string }>(`SELECT id FROM ${scene.table}_out ORDER BY id`);
  return scene.ours(rows.map(({ id }) => Number(id)));
}

describe("a materialized view that fails for longer than the window", () => {
  test.concurrent("is never sent to again: the pause stays, and on_view_error: skip commits without a send", () =>
    stage.share("view-late", async (scene) => {
      await broken(scene);
      await scene.usedUp();
      await scene.until(({ paused }) => paused?.text.includes("too long ago") === true);
      const sends = scene.sends(1).length;
      await scene.sql(mend);
      await scene.looked(2);
      expect(scene.health).toMatchObject({
        paused: { class: "view", text: expect.stringContaining("on_view_error: skip") },
        pending_batches: 1,
        counters: { view_errors_ignored: 0 },
      });
      expect(scene.sends(1)).toHaveLength(sends);

      await scene.configure({ on_view_error: "skip" });
      const { counters, paused } = await scene.settled();
      expect(paused).toBeUndefined();
      expect(counters).toMatchObject({ view_errors_ignored: 1, events_skipped: 0, rows_written: 5 });
      expect(scene.sends(1)).toHaveLength(sends);
      expect([scene.ours(await scene.ids()), await out(scene)]).toEqual([five, []]);
    }),
  );

  test.concurrent("stays so over a new start of the process, whatever on_uncertain says", () =>
    stage.alone("view-later", async (scene) => {
      await broken(scene);
      await scene.reopen(() => scene.usedUp());
      await scene.paused("view");
      const sends = scene.sends(1).length;
      await scene.configure({ on_uncertain: "insert" });
      await scene.paused("view");
      await scene.looked(2);
      expect(scene.health).toMatchObject({ paused: { class: "view" }, pending_batches: 1 });
      expect(scene.sends(1)).toHaveLength(sends);
      expect([scene.ours(await scene.ids()), await out(scene)]).toEqual([five, []]);
    }),
  );
});

describe("a materialized view that fails, and whose table remembers no insert", () => {
  test.concurrent("keeps its error in the pause, and is completed once it is mended", () =>
    stage.share("view-plain", async (scene) => {
      await broken(scene, "");
      await scene.looked(2);
      expect(scene.health.paused?.text).toContain("FUNCTION_THROW_IF_VALUE_IS_NON_ZERO");
      await scene.sql(mend);
      const { counters } = await scene.settled();
      expect(counters).toMatchObject({ view_errors_ignored: 0, rows_written: 5 });
      expect([scene.ours(await scene.ids()), await out(scene)]).toEqual([five, five]);
    }),
  );

  test.concurrent("beside another view it says which table a repeat could double, and goes on when it is gone", () =>
    stage.share("view-two", async (scene) => {
      await scene.create(
        [
          `CREATE TABLE % (id Int64, level String) ENGINE = MergeTree ORDER BY id ${window}`,
          "CREATE TABLE %_out (id Int64) ENGINE = MergeTree ORDER BY id",
          "CREATE MATERIALIZED VIEW %_all TO %_out AS SELECT id FROM %",
          "CREATE MATERIALIZED VIEW %_view TO %_out AS SELECT id + throwIf(id = 3) AS id FROM %",
        ],
        scene.config(),
      );
      await scene.post(eventsTo(5));
      await scene.until(({ paused }) => paused?.class === "view" && paused.text.includes("remembers no insert"));
      const { text } = scene.health.paused!;
      expect(text).toContain(`${scene.table}_out remembers no insert`);
      expect(text).toContain(`the materialized view ${scene.table}_view on it failed (`);
      expect(text).toContain("ClickHouse says FUNCTION_THROW_IF_VALUE_IS_NON_ZERO");
      await scene.sql("DROP VIEW %_view");
      const { counters } = await scene.settled();
      expect(counters).toMatchObject({ view_errors_ignored: 1, rows_written: 5 });
      expect(scene.ours(await scene.ids())).toEqual(five);
    }),
  );
});
