import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { EngineOptions } from "../../../engine/index.ts";
import { pass } from "../../support/clickhouse-proxy.ts";
import { event, eventsTo, heldOff, holds, Scene, Stage, window } from "./scene.ts";

vi.setConfig({ testTimeout: 90_000 });

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.server.client.command({ query: "CREATE DATABASE atomic" });
});

afterAll(() => stage.close());

const table = `CREATE TABLE % (id Int64, level String) ENGINE = MergeTree ORDER BY id ${window}`;
const partitioned = table.replace("ORDER BY", "PARTITION BY id ORDER BY");
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);
const twice = (ids: readonly number[]): number[] => ids.flatMap((id) => [id, id]);
const fatesOf = (scene: Scene): string[] => scene.sends(1).map(({ fate }) => fate);

/** The answer to the first insert that brings event 1 gets lost; the ones after it are held off. */
function loseTheAnswer({ proxy }: Scene): void {
  let isLost = false;
  proxy.decideInserts((asked) => {
    if (!holds(asked, 1)) return pass;
    if (isLost) return heldOff;
    isLost = true;
    return { kind: "lose" };
  });
}

/** Until events 1 to 5 were sent without an answer. */
async function withoutAnswer(scene: Scene, options: Partial<EngineOptions>): Promise<void> {
  await scene.create([table], scene.config(), options);
  loseTheAnswer(scene);
  await scene.post(eventsTo(5));
  await scene.paused("transient");
}

/** Until events 1 to 5 were sent without an answer, and 6 to 10 are in the table for sure. */
async function twoInFlight(scene: Scene, options: Partial<EngineOptions> = {}): Promise<void> {
  const resources = { sink: { replicas: 2 }, nats: { stream: { max_msgs: -1 } } };
  await scene.create([table], scene.config({}, { resources }), options);
  loseTheAnswer(scene);
  await scene.post(eventsTo(10));
  await scene.paused("transient");
  expect(scene.sends(6)).toEqual([{ token: expect.any(String) as string, fate: "pass" }]);
  expect(scene.health.pending_batches).toBe(2);
}

/** Starts again after another writer has used up the window; says how often the first batch was sent until then. */
async function restartedOutside(scene: Scene): Promise<number> {
  let sends = 0;
  await scene.reopen(async () => {
    sends = scene.sends(1).length;
    scene.proxy.decide();
    await scene.usedUp();
  });
  return sends;
}

describe("two batches in flight, the second answered and the first not, over a new start", () => {
  test.concurrent("inside of the window no row is doubled, and the second is not sent again", { tags: ["rest"] }, () =>
    stage.alone("flight-inside", async (scene) => {
      await twoInFlight(scene);
      await scene.reopen(async () => scene.proxy.decide());
      const { counters } = await scene.settled();
      expect(await scene.ids()).toEqual(upTo(10));
      expect(counters).toMatchObject({ batches_replayed: 2, inserts_repeated: 1, batches_uncertain: 0 });
      expect(new Set(scene.sends(1).map(({ token }) => token)).size).toBe(1);
      expect(fatesOf(scene).filter((fate) => fate === "pass")).toHaveLength(1);
      expect(scene.sends(6)).toHaveLength(1);
    }),
  );

  test.concurrent("outside of the window, with on_uncertain: pause, nothing is sent until somebody decides", () =>
    stage.alone("flight-pause", async (scene) => {
      await twoInFlight(scene, { on_uncertain: "pause" });
      const before = await restartedOutside(scene);
      const { paused } = await scene.paused("uncertain");
      expect(paused!.text).toContain("5 rows");
      expect(paused!.way_out).toContain("on_uncertain");
      await scene.looked(2);
      expect(scene.health).toMatchObject({ pending_batches: 2, counters: { batches_uncertain: 1 } });
      expect([scene.sends(1).length, scene.sends(6).length]).toEqual([before, 1]);

      await scene.configure({ on_uncertain: "skip" });
      expect((await scene.settled()).counters.events_skipped).toBe(5);
      expect(scene.ours(await scene.ids())).toEqual(upTo(10));
      expect([scene.sends(1).length, scene.sends(6).length]).toEqual([before, 1]);
    }),
  );
});

async function usedUpMeanwhile(scene: Scene, on_uncertain: EngineOptions["on_uncertain"]): Promise<void> {
  await withoutAnswer(scene, { on_uncertain });
  await scene.usedUp();
  await scene.until(({ counters }) => counters.batches_uncertain > 0);
}

describe("another writer uses up the window while an answer is unknown", () => {
  test.concurrent("on_uncertain: insert sends it once more, with another token, and doubles it at most", () =>
    stage.share("alone-insert", async (scene) => {
      await usedUpMeanwhile(scene, "insert");
      scene.proxy.decide();
      const { counters } = await scene.settled();
      expect(counters.batches_uncertain).toBe(1);
      expect(scene.ours(await scene.ids())).toEqual(twice(upTo(5)));
      const sends = scene.sends(1);
      expect(sends.at(-1)).toMatchObject({ fate: "pass" });
      expect(sends.at(-1)!.token).not.toBe(sends[0]!.token);
    }),
  );

  test.concurrent(
    "on_uncertain: insert counts it each time, where the answer to the fresh token is lost too",
    { tags: ["rest"] },
    () =>
      stage.share("alone-again", async (scene) => {
        const lost = new Set<string>();
        await scene.create([table], scene.config(), { on_uncertain: "insert" });
        scene.proxy.decideInserts((asked) => {
          if (!holds(asked, 1) || lost.size === 2) return lost.has(asked.token!) ? heldOff : pass;
          const isFirst = !lost.has(asked.token!);
          lost.add(asked.token!);
          return isFirst ? { kind: "lose" } : heldOff;
        });
        await scene.post(eventsTo(5));
        for (const losses of [1, 2]) {
          await scene.until(() => fatesOf(scene).filter((fate) => fate === "lose").length === losses);
          await scene.usedUp();
        }
        const { counters } = await scene.settled();
        expect(scene.ours(await scene.ids())).toEqual([...twice(upTo(5)), ...upTo(5)].toSorted((a, b) => a - b));
        expect(counters.batches_uncertain).toBe(2);
      }),
  );
});

describe("while an answer is unknown", () => {
  test.concurrent.each([
    ["tables with a UUID", "atomic"],
    ["tables without one", "default"],
  ])(
    "another table of the same name, in a database that has %s, is outside of the window",
    { tags: ["rest"] },
    (_title, database) =>
      stage.alone(
        `unknown-table-${database}`,
        async (scene) => {
          await withoutAnswer(scene, { on_uncertain: "pause" });
          await scene.reopen(async () => {
            scene.proxy.decide();
            await scene.sql("DROP TABLE % SYNC", table);
          });
          await scene.until(({ paused, pending_batches }) => paused !== undefined || pending_batches === 0);
          expect(scene.health).toMatchObject({ paused: { class: "uncertain" }, pending_batches: 1 });
          await scene.configure({ on_uncertain: "insert" });
          await scene.settled();
          expect(await scene.ids()).toEqual(upTo(5));
        },
        database,
      ),
  );

  test.concurrent(
    "a batch of an earlier revision is sent again as it was, with a plain ${ in its texts",
    { tags: ["rest"] },
    () =>
      stage.share("unknown-text", async (scene) => {
        const outputs = [
          { expression: "id", output_name: "id", output_type: "int" },
          { expression: '"$${x}"', output_name: "level", output_type: "string" },
        ];
        const transforms = [{ type: "stateless", source_id: "input", config: { transforms: outputs } }];
        await scene.create([table], scene.config({}, { transforms }));
        loseTheAnswer(scene);
        await scene.post(eventsTo(5));
        await scene.paused("transient");
        const { engine } = scene.running;
        await engine.stop("unknown-text");
        scene.proxy.decide();
        await engine.update("unknown-text", scene.config(), engine.get("unknown-text").options);
        await engine.resume("unknown-text");
        await scene.settled();
        const query = `SELECT DISTINCT level FROM ${scene.table}`;
        expect(await scene.server.query(query)).toEqual([{ level: "${x}" }]);
        const sent = scene.proxy.handled.filter((handled) => handled.token !== undefined && holds(handled, 1));
        expect(new Set(sent.map(({ rows }) => rows)).size).toBe(1);
      }),
  );

  test.concurrent("an edit outside of the window has the new revision make the batch anew", { tags: ["rest"] }, () =>
    stage.share("unknown-edit", async (scene) => {
      await withoutAnswer(scene, { on_uncertain: "insert" });
      const { engine } = scene.running;
      await engine.stop("unknown-edit");
      await scene.usedUp();
      scene.proxy.decide();
      const transforms = [{ type: "filter", source_id: "input", config: { expression: "id > 3" } }];
      await engine.update("unknown-edit", scene.config({}, { transforms }), engine.get("unknown-edit").options);
      await engine.resume("unknown-edit");
      const { counters } = await scene.settled();
      expect(scene.ours(await scene.ids())).toEqual([1, 2, 3, 4, 4, 5, 5]);
      expect(counters).toMatchObject({ batches_replayed: 1, batches_uncertain: 1, batches_reprepared: 1 });
    }),
  );
});

async function ofPartitions(scene: Scene): Promise<void> {
  let isLost = false;
  scene.proxy.decideInserts(({ parameters }) => {
    if (isLost || parameters.get("max_partitions_per_insert_block") === null) return pass;
    isLost = true;
    return { kind: "lose" };
  });
  await scene.create([partitioned], scene.config({ max_batch_size: 120 }), { on_uncertain: "pause" });
  await scene.pour(upTo(120).map(event));
  await scene.until(({ counters }) => counters.batches_uncertain > 0);
}

describe("a batch for 120 partitions uses up a window of 20 itself, and its answer is lost", { tags: ["rest"] }, () => {
  test.concurrent("on_uncertain: pause pauses, also in the next process; insert doubles that batch at most", () =>
    stage.alone("wide-pause", async (scene) => {
      await ofPartitions(scene);
      await scene.paused("uncertain");
      await scene.reopen();
      const { counters } = await scene.paused("uncertain");
      expect(counters).toMatchObject({ batches_replayed: 1, batches_uncertain: 1 });
      expect(await scene.ids()).toEqual(upTo(120));
      expect(fatesOf(scene)).toEqual(["pass", "lose"]);

      await scene.configure({ on_uncertain: "insert" });
      await scene.settled();
      expect(await scene.ids()).toEqual(twice(upTo(120)));
      // The next process meets the limit of partitions as the first one did.
      expect(fatesOf(scene)).toEqual(["pass", "lose", "pass", "pass"]);
    }),
  );
});
