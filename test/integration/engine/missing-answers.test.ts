import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Gate, pass } from "../../support/clickhouse-proxy.ts";
import { eventsTo, Stage, window } from "./scene.ts";

vi.setConfig({ testTimeout: 90_000 });

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

const table = `CREATE TABLE % (id Int64, level String) ENGINE = MergeTree ORDER BY id ${window}`;

test("an insert that is not answered is a pause that says so, and goes on waiting for its answer", () =>
  stage.share("not-answered", async (scene) => {
    const gate = new Gate();
    scene.proxy.decideInserts(async () => {
      await gate.opened;
      return pass;
    });
    await scene.create([table], scene.config());
    const before = new Date().toISOString();
    await scene.post(eventsTo(5));
    const { paused, pending_batches } = await scene.paused("transient");
    expect(paused!.text).toMatch(/^no answer yet to an insert of 5 rows, sent at 20/);
    expect(paused!.since >= before).toBe(true);
    expect(pending_batches).toBe(1);
    gate.open();
    const { counters } = await scene.settled();
    expect(await scene.ids()).toEqual([1, 2, 3, 4, 5]);
    expect(counters).toMatchObject({ inserts_repeated: 0, batches_uncertain: 0 });
    expect(scene.sends(1)).toHaveLength(1);
    await scene.until((health) => health.paused === undefined);
  }));

test("a query of the table that is not answered is a pause that says so", { tags: ["rest"] }, () =>
  stage.alone("not-looked", async (scene) => {
    await scene.create([table], scene.config());
    await scene.post(eventsTo(5));
    await scene.settled();
    const gate = new Gate();
    scene.proxy.decide(async ({ statement }) => {
      if (statement.includes("system.")) await gate.opened;
      return pass;
    });
    await scene.reopen();
    const { paused } = await scene.paused("transient");
    expect(paused!.text).toMatch(/^no answer yet to the queries that check the table before inserts, sent at 20/);
    gate.open();
    await scene.until((health) => health.paused === undefined);
  }),
);
