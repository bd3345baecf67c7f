import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Disk } from "../../../engine/core/disk.ts";
import type { TableStore } from "../../../engine/core/store.ts";
import { thisMachine, type Machine } from "../../../engine/machine.ts";
import { closeStores, openStores } from "../../../engine/stores.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import { pass } from "../../support/clickhouse-proxy.ts";
import { keptLog, TestEngine } from "../../support/engine.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { event, Stage, window, type Scene } from "./scene.ts";

vi.setConfig({ testTimeout: 90_000 });

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

const table = `CREATE TABLE % (id Int64, level String, CONSTRAINT small CHECK id < 100) ENGINE = MergeTree ORDER BY id ${window}`;
const dedup = { type: "dedup", source_id: "input", config: { key: "id", time_window: "24h" } };

/** The same pipeline by another id. */
const called = (pipeline_id: string, config: PipelineConfig): PipelineConfig => ({ ...config, pipeline_id });

/**
 * A stopped pipeline with all that one can have: rows, keys, a dead letter, a batch that the table holds and whose answer was
 * lost, and events that came since.
 */
async function withEverything(scene: Scene): Promise<PipelineConfig> {
  const config = scene.config({ max_delay_time: "50ms" }, { transforms: [dedup] });
  await scene.create([table], config);
  await scene.post([1, 2, 3, 500].map(event));
  await scene.settled();
  let inserts = 0;
  scene.proxy.decide(({ token }) => {
    if (token !== undefined) inserts += 1;
    return { kind: token !== undefined && inserts === 1 ? "lose" : "drop" };
  });
  await scene.post([event(6)]);
  await scene.paused("transient");
  await scene.running.engine.stop(scene.pipeline_id);
  await scene.post([7, 8].map(event));
  return config;
}

test("a pipeline with another id goes on with all that it had, and doubles nothing", () =>
  stage.alone("moved-old", async (scene) => {
    const { running } = scene;
    const config = await withEverything(scene);
    const [letter] = running.engine.deadLetters("moved-old").list(10).messages;
    const before = running.engine.health("moved-old");
    expect(before).toMatchObject({ pending_batches: 1, dead_letters: { total_messages: 1 } });

    await running.engine.move("moved-old", called("moved-new", config), defaultOptions);

    expect(running.engine.list().map(({ pipeline_id, status }) => [pipeline_id, status])).toEqual([
      ["moved-new", "Stopped"],
    ]);
    const { max_bytes: _free, ...held } = before.stream as { max_bytes?: number };
    expect(running.engine.health("moved-new")).toMatchObject({
      stream: held,
      pending_batches: 1,
      dead_letters: { total_messages: 1 },
    });
    expect(running.engine.deadLetters("moved-new").list(10).messages).toEqual([letter]);
    expect(await readdir(join(running.dataDir, "pipelines"))).toEqual(["moved-new"]);

    scene.proxy.decide(() => pass);
    await running.engine.resume("moved-new");
    const post = async (id: number): Promise<number> =>
      (await running.post("moved-new", scene.token, event(id))).status;
    // Those of before are repeats.
    expect([await post(9), await post(2), await post(6)]).toEqual([202, 202, 202]);
    const { counters } = await running.until(
      "moved-new",
      (health) => health.stream!.messages + health.pending_batches === 0 && health.counters.duplicates_dropped === 2,
    );
    expect(counters.batches_replayed).toBe(1);
    expect(await scene.ids()).toEqual([1, 2, 3, 6, 7, 8, 9]);
    expect(new Set(scene.sends(6).map(({ token }) => token)).size).toBe(1);
    expect((await running.post("moved-old", scene.token, event(10))).status).toBe(401);
  }));

test("and back, and on to a third id, of which nothing is left elsewhere", () =>
  stage.alone("round-a", async (scene) => {
    const { running } = scene;
    const config = await withEverything(scene);
    for (const [from, to] of [
      ["round-a", "round-b"],
      ["round-b", "round-a"],
      ["round-a", "round-b"],
      ["round-b", "round-c"],
    ] as const)
      await running.engine.move(from, called(to, config), defaultOptions);
    expect(await readdir(join(running.dataDir, "pipelines"))).toEqual(["round-c"]);
    await running.close({ keep: true });
    const left = await keptOf(running.dataDir);
    expect(Object.keys(left)).toEqual(["round-c"]);
    scene.running = await TestEngine.open({ dataDir: running.dataDir });
    // Another pipeline of a former id begins with nothing.
    await scene.running.engine.create(called("round-a", webhookPipeline("round-a")), createTable);
    expect(scene.running.engine.health("round-a")).toMatchObject({ pending_batches: 0, stream: { last: 0 } });
  }));

test("a move to an id that is taken, or of a pipeline that runs, is refused and changes nothing", async () => {
  const running = await TestEngine.open();
  try {
    const { engine } = running;
    const [one, two] = [webhookPipeline("one-one"), webhookPipeline("two-two")];
    for (const config of [one, two]) await engine.create(config, createTable);
    await expect(engine.move("one-one", called("three", one), createTable)).rejects.toMatchObject({
      code: "PIPELINE_NOT_STOPPED_FOR_EDIT",
    });
    await engine.stop("one-one");
    await expect(engine.move("one-one", called("two-two", one), createTable)).rejects.toMatchObject({
      code: "PIPELINE_EXISTS",
    });
    await expect(engine.move("nobody", called("three", one), createTable)).rejects.toMatchObject({
      code: "PIPELINE_NOT_FOUND",
    });
    expect(engine.list().map(({ pipeline_id }) => pipeline_id)).toEqual(["two-two", "one-one"]);
    await engine.resume("one-one");
  } finally {
    await running.close();
  }
});

/** All that a data dir has of each pipeline, by its id; the ids themselves left out. */
async function keptOf(dataDir: string): Promise<Record<string, unknown>> {
  const stores = await openStores({ dataDir, log: keptLog(), registry: new Registry() });
  const { catalog, journal, letters, streams } = stores;
  try {
    const all = catalog.list().map(async ({ pipeline_id, token, revision, config }) => {
      await streams.open(pipeline_id, config, journal.settledUpTo(pipeline_id));
      const pending = journal.pending(pipeline_id).map(({ pipeline_id: _id, ...record }) => record);
      const revisions = pending.map((one) => {
        const { pipeline_id: id, ...of } = catalog.revision(pipeline_id, one.revision)!;
        expect(id).toBe(pipeline_id);
        return of;
      });
      const kept = {
        token: token?.hash,
        pending,
        revisions,
        // An edit of its own.
        edits: revision,
        progress: journal.progress(pipeline_id),
        keys: await journal.finalKeys(pipeline_id, 0),
        salt: Buffer.from(await journal.salt(pipeline_id)).toString("hex"),
        letters: letters.queue(pipeline_id).list(100).messages,
        stream: streams.state(pipeline_id),
      };
      return [pipeline_id, kept] as const;
    });
    return Object.fromEntries(await Promise.all(all));
  } finally {
    await closeStores(stores);
  }
}

/** A machine on which `look` is called before and after each write to the store and each change of folders. */
function watched(look: (at: string) => void): Pick<Machine, "disk" | "openStore"> {
  const around = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
    look(`before ${what}`);
    const result = await work();
    look(`after ${what}`);
    return result;
  };
  const disk: Disk = {
    ...thisMachine.disk,
    rename: (from, to) => around("rename", () => thisMachine.disk.rename(from, to)),
    rm: (path) => around("rm", () => thisMachine.disk.rm(path)),
    syncFolder: (path) => around("syncFolder", () => thisMachine.disk.syncFolder(path)),
  };
  const openStore: Machine["openStore"] = async (...values) => {
    const store = await thisMachine.openStore(...values);
    const write: TableStore["write"] = (...change) => around("write", () => store.write(...change));
    return new Proxy(store, {
      get: (of, name) => {
        if (name === "write") return write;
        const value = Reflect.get(of, name) as unknown;
        return typeof value === "function" ? (value as () => unknown).bind(of) : value;
      },
    });
  };
  return { disk, openStore };
}

/** A stopped pipeline whose stream is empty: what it knows of its events is how many there were. */
async function withAllSettled(scene: Scene): Promise<PipelineConfig> {
  const config = scene.config({ max_delay_time: "50ms" });
  await scene.create([table], config);
  await scene.post([1, 2, 3].map(event));
  await scene.settled();
  await scene.running.engine.stop(scene.pipeline_id);
  return config;
}

test.each([
  ["holds much", withEverything],
  ["holds nothing", withAllSettled],
])("a kill at any step of the move of one that %s leaves it with one id, and all that it had", (_title, prepared) =>
  stage.alone("killed-old", async (scene) => {
    const config = await prepared(scene);
    const { dataDir } = scene.running;
    await scene.running.close({ keep: true });
    const whole = (await keptOf(dataDir))["killed-old"] as { edits: number };
    const moments: { at: string; left: string }[] = [];
    let isMoving = false;
    const look = (at: string): void => {
      if (!isMoving) return;
      const left = mkdtempSync(join(tmpdir(), "sluice-killed-"));
      cpSync(dataDir, left, { recursive: true, filter: (path) => !path.endsWith("/lock") });
      moments.push({ at, left });
    };
    scene.running = await TestEngine.open({ dataDir, machine: watched(look) });
    try {
      isMoving = true;
      await scene.running.engine.move("killed-old", called("killed-new", config), defaultOptions);
      isMoving = false;
      const ids: string[] = [];
      for (const { at, left } of moments) {
        const next = await TestEngine.open({ dataDir: left });
        const [{ pipeline_id, status } = { pipeline_id: "", status: "" }, ...others] = next.engine.list();
        const warned = next.log.lines.filter(({ level }) => level === "warn");
        expect([others, status, warned], at).toEqual([[], "Stopped", []]);
        await next.close({ keep: true });
        ids.push(pipeline_id);
        const edits = pipeline_id === "killed-new" ? whole.edits + 1 : whole.edits;
        expect(await keptOf(left), at).toEqual({ [pipeline_id]: { ...whole, edits } });
        expect(await readdir(join(left, "pipelines")), at).toEqual([pipeline_id]);
      }
      // Both before the write, and at each of the steps after it.
      expect(ids.indexOf("killed-new")).toBeGreaterThan(0);
      expect(ids.slice(ids.indexOf("killed-new")).every((id) => id === "killed-new")).toBe(true);
      expect(moments.map(({ at }) => at)).toContain("before rename");
    } finally {
      for (const { left } of moments) rmSync(left, { recursive: true, force: true });
      await scene.sql("DROP TABLE %");
    }
  }),
);
