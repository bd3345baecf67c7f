import { describe, expect, test, vi } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { Desk } from "./join-desk.ts";
import { useScenes } from "./kafka-scene.ts";

vi.setConfig({ testTimeout: 120_000 });

const inScene = useScenes(useKafka());

function atDesk(play: (desk: Desk) => Promise<void>): Promise<void> {
  return inScene((scene) => new Desk(scene).open(play), { partitions: 1 });
}

test(
  "one topic may be both sides, and one left event after another matches the same right one",
  { tags: ["rest"] },
  () =>
    atDesk(async (desk) => {
      const { scene } = desk;
      const config = desk.config();
      const [orders] = config.sources;
      const tree = [
        { name: "id", type: "int" },
        { name: "parent", type: "int" },
        { name: "name", type: "string" },
      ];
      const source = { ...orders, schema_fields: tree };
      await scene.create({
        ...config,
        sources: [source, { ...source, source_id: "parents" }],
        transforms: [],
        join: {
          ...config.join!,
          left_source: { source_id: "input", key: "parent", time_window: "1h0m0s" },
          right_source: { source_id: "parents", key: "id", time_window: "1h0m0s" },
          output_fields: [
            { source_id: "input", name: "id", output_name: "id" },
            { source_id: "parents", name: "name", output_name: "customer" },
          ],
        },
        sink: { ...config.sink, mapping: config.sink.mapping.slice(0, 2) },
      } as unknown as PipelineConfig);
      const nodes = [
        { id: 2, parent: 1, name: "leaf" },
        { id: 1, parent: 0, name: "root" },
        { id: 3, parent: 1, name: "other leaf" },
      ];
      await scene.kafka.produce(
        scene.topic,
        nodes.map((node) => JSON.stringify(node)),
        { partition: 0 },
      );
      await scene.until(({ counters }) => counters.rows_written === 2);
      const rows = await scene.server.query<{ id: string; customer: string }>(
        `SELECT id, customer FROM ${scene.table} ORDER BY id`,
      );
      expect(rows.map(({ id, customer }) => `${id} in ${customer}`)).toEqual(["2 in root", "3 in root"]);
      await desk.buffers(1, 3);
    }),
);

test("a key with 8,000 left events: the right one makes all of their rows in one step", { tags: ["rest"] }, () =>
  atDesk(async (desk) => {
    const { scene } = desk;
    await scene.create(desk.config({ sink: { max_batch_size: 2_000 } }));
    const count = 8_000;
    const events = Array.from({ length: count }, (_, id) => JSON.stringify({ id, customer_id: 7 }));
    await scene.kafka.produce(scene.topic, events, { partition: 0 });
    await desk.buffers(count, 0);
    await desk.names(["7", "Ann"]);
    await scene.until(({ counters }) => counters.rows_written === count);
    const [found] = await scene.server.query<{ rows: string; ids: string }>(
      `SELECT count() AS rows, uniqExact(id) AS ids FROM ${scene.table} WHERE customer = 'Ann'`,
    );
    expect([Number(found?.rows), Number(found?.ids)]).toEqual([count, count]);
    await desk.buffers(0, 1);
  }),
);

describe("a join of two topics", () => {
  test("joins each left event once, with the newest right one; right ones serve many", () =>
    atDesk(async (desk) => {
      await desk.scene.create(desk.config());
      await desk.orders([1, 7], [2, 7], [3, 8]);
      await desk.buffers(3, 0);
      await desk.names(["7", "Ann"]);
      await desk.holds([1, "Ann"], [2, "Ann"]);
      await desk.orders([4, 7], [4, 7]);
      await desk.holds([1, "Ann"], [2, "Ann"], [4, "Ann"]);
      await desk.names(["7", "Anna"], ["", "nobody"]);
      await desk.buffers(1, 2);
      await desk.orders([5, 7]);
      await desk.holds([1, "Ann"], [2, "Ann"], [4, "Ann"], [5, "Anna"]);
      const { counters, keys } = await desk.scene.until(({ counters: { rows_joined } }) => rows_joined === 4);
      expect(counters).toMatchObject({ rows_written: 4, rows_joined: 4, duplicates_dropped: 1, events_read: 9 });
      expect(keys?.keys).toBe(5);
    }));

  test("keeps what it buffers over stop, restart and an edit that is not of sides, keys or windows", () =>
    atDesk(async (desk) => {
      await desk.scene.create(desk.config());
      await desk.orders([1, 7], [2, 8]);
      await desk.names(["9", "Zoe"]);
      await desk.buffers(2, 1);
      await desk.scene.stop();
      await desk.scene.resume();
      await desk.names(["7", "Ann"]);
      await desk.holds([1, "Ann"]);
      await desk.edit(desk.config({ sink: { max_batch_size: 10 } }));
      await desk.scene.reopen(() => desk.names(["8", "Bob"]));
      await desk.orders([3, 9]);
      await desk.holds([1, "Ann"], [2, "Bob"], [3, "Zoe"]);
    }));

  test("keeps what it buffers with another pipeline_id, also over a restart", { tags: ["rest"] }, () =>
    atDesk(async (desk) => {
      const { scene } = desk;
      await scene.create(desk.config());
      await desk.orders([1, 7], [2, 8]);
      await desk.names(["9", "Cid"]);
      await desk.buffers(2, 1);
      await scene.moveTo(`${scene.pipeline_id}-moved`, desk.config());
      await scene.reopen(() => desk.names(["7", "Ann"], ["8", "Bob"]));
      await desk.orders([3, 9], [1, 9]);
      await desk.holds([1, "Ann"], [2, "Bob"], [3, "Cid"]);
    }),
  );

  test("forgets what it buffers when a window changes, and when it is terminated", { tags: ["rest"] }, () =>
    atDesk(async (desk) => {
      await desk.scene.create(desk.config());
      await desk.orders([1, 7]);
      await desk.buffers(1, 0);
      await desk.edit(desk.config({ windows: ["2h", "1h"] }));
      await desk.buffers(0, 0);
      await desk.orders([2, 7]);
      await desk.buffers(1, 0);
      await desk.scene.running.engine.terminate(desk.scene.pipeline_id);
      await desk.scene.resume();
      await desk.buffers(0, 0);
      await desk.names(["7", "Ann"]);
      await desk.orders([3, 7]);
      await desk.holds([3, "Ann"]);
    }),
  );

  test("counts the events of each side that leave their window unmatched", { tags: ["rest"] }, () =>
    atDesk(async (desk) => {
      await desk.scene.create(desk.config({ windows: ["300ms", "0"] }));
      await desk.orders([1, 7]);
      await desk.buffers(1, 0);
      await new Promise((resolve) => setTimeout(resolve, 400));
      await desk.names(["7", "Ann"]);
      await desk.scene.until(({ counters }) => counters.left_unmatched === 1);
      await desk.buffers(0, 1);
      await desk.orders([2, 7]);
      await desk.holds([2, "Ann"]);
    }),
  );

  test(
    "has a dead letter for a row that was made before an edit and lacks a field that is selected now",
    { tags: ["rest"] },
    () =>
      atDesk(async (desk) => {
        const { scene } = desk;
        await scene.create(desk.config());
        await desk.names(["7", "Ann"]);
        scene.proxy.decideInserts(() => ({ kind: "lose" }));
        await desk.orders([1, 7], [2, 7]);
        await scene.until(({ pending_batches, join }) => pending_batches > 0 && join?.waiting === 2);
        await scene.stop();
        const config = desk.config();
        const [id, name, tags] = config.join!.output_fields;
        const join = { ...config.join!, output_fields: [id!, { ...name!, output_name: "called" }, tags!] };
        const mapping = config.sink.mapping.map((entry) =>
          entry.name === "customer" ? { ...entry, name: "called" } : entry,
        );
        await scene.running.engine.update(
          scene.pipeline_id,
          { ...config, join, sink: { ...config.sink, mapping } },
          defaultOptions,
        );
        scene.proxy.decide();
        await scene.resume();
        await desk.orders([3, 7]);
        // The batch that may be in the table is made by its own revision; what was in no batch is judged by the new one.
        await scene.until(({ counters, dead_letters }) => counters.rows_written + dead_letters.total_messages >= 3);
        const letters = scene.running.engine.deadLetters(scene.pipeline_id).list(10).messages;
        for (const letter of letters) expect(letter).toMatchObject({ component: "join", reason: "parse_error" });
      }),
  );

  test(
    "has dead letters of its sides, and of rows, which are sent again into the side or to the table",
    { tags: ["rest"] },
    () =>
      atDesk(async (desk) => {
        const { scene } = desk;
        await scene.server.client.command({
          query: `ALTER TABLE ${scene.table} ADD CONSTRAINT small CHECK id < 100`,
        });
        await scene.create(desk.config());
        await desk.names(["7", "Ann"]);
        await scene.kafka.produce(scene.topic, [JSON.stringify({ id: 1 })], { partition: 0 });
        await desk.orders([2, 7], [100, 7]);
        await desk.holds([2, "Ann"]);
        await scene.until(({ dead_letters }) => dead_letters.total_messages === 2);
        const queue = scene.running.engine.deadLetters(scene.pipeline_id);
        const letters = queue.list(10).messages;
        expect(letters.map(({ component }) => component).toSorted()).toEqual(["ingestor", "sink"]);
        const row = letters.find(({ component }) => component === "sink")!;
        expect(JSON.parse(row.original_message)).toEqual({ id: 100, customer: "Ann", tags: ["Ann", "é\n"] });
        await scene.server.client.command({ query: `ALTER TABLE ${scene.table} DROP CONSTRAINT small` });
        await scene.running.engine.reprocess(scene.pipeline_id, { mode: "all" });
        await desk.holds([2, "Ann"], [100, "Ann"]);
        await scene.until(({ dead_letters }) => dead_letters.total_messages === 1);
      }),
  );

  test("goes on while the table is away: rows wait in the data dir, each for one insert", { tags: ["rest"] }, () =>
    atDesk(async (desk) => {
      const { scene } = desk;
      await scene.create(desk.config());
      await desk.names(["7", "Ann"]);
      await desk.orders([1, 7]);
      await desk.holds([1, "Ann"]);
      scene.proxy.decideInserts(() => ({ kind: "lose" }));
      await desk.orders(...Array.from({ length: 300 }, (_, index): [number, number] => [2 + index, 7]));
      await scene.until(({ join }) => join?.waiting === 300);
      await scene.reopen();
      scene.proxy.decide();
      await desk.holds(...Array.from({ length: 301 }, (_, index): [number, string] => [1 + index, "Ann"]));
      await scene.until(({ join, pending_batches }) => join?.waiting === 0 && pending_batches === 0);
    }),
  );
});
