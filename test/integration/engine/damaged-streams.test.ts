import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Disk } from "../../../engine/core/disk.ts";
import { systemDisk } from "../../../engine/system/disk.ts";
import { TestEngine } from "../../support/engine.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";

let running: TestEngine;
const tokens = new Map<string, string>();

beforeEach(async () => {
  tokens.clear();
  running = await TestEngine.open();
});

afterEach(() => running.close());

const slow = { max_batch_size: 1000, max_delay_time: "1h" };

/** A pipeline whose events stay in its stream until it is stopped. */
async function create(pipeline_id: string): Promise<void> {
  const sink = { ...webhookPipeline(pipeline_id).sink, ...slow };
  const { access_token } = await running.engine.create(webhookPipeline(pipeline_id, { sink }), createTable);
  tokens.set(pipeline_id, access_token!);
}

async function post(pipeline_id: string, ...events: number[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const id of events) {
    statuses.push((await running.post(pipeline_id, tokens.get(pipeline_id)!, { id, level: "info" })).status);
  }
  return statuses;
}

async function ids(table: string): Promise<number[]> {
  const rows = await running.rows<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`);
  return rows.map(({ id }) => Number(id));
}

function folderOf(pipeline_id: string): string {
  return join(running.dataDir, "pipelines", pipeline_id);
}

async function segmentOf(pipeline_id: string): Promise<string> {
  const names = await readdir(join(folderOf(pipeline_id), "stream"));
  return join(
    folderOf(pipeline_id),
    "stream",
    names.find((name) => name.endsWith(".segment"))!,
  );
}

/** Changes a byte of a stream while no engine runs, of its first event unless `at` says where; returns the file as it was. */
async function damage(pipeline_id: string, at = 45): Promise<{ path: string; whole: Buffer }> {
  const path = await segmentOf(pipeline_id);
  const whole = await readFile(path);
  const bytes = Buffer.from(whole);
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] = bytes[index]! ^ 0x40;
  await writeFile(path, bytes);
  return { path, whole };
}

async function restart(between: () => Promise<unknown>): Promise<void> {
  const { dataDir } = running;
  await running.close({ keep: true });
  await between();
  running = await TestEngine.open({ dataDir });
}

test("a damaged stream fails its own pipeline, which says why and refuses events with 503; it is mended, terminated or deleted, and the others run", async () => {
  const broken = ["to-mend", "to-end", "to-delete"];
  for (const id of broken) {
    await create(id);
    // At rest it takes events and writes none.
    await running.engine.stop(id);
    expect(await post(id, 1, 2, 3)).toEqual([202, 202, 202]);
  }
  await create("fine");
  expect(await post("fine", 1, 2)).toEqual([202, 202]);
  let damages: { path: string; whole: Buffer }[] = [];
  await restart(async () => void (damages = await Promise.all(broken.map((id) => damage(id)))));
  const { engine } = running;

  for (const id of broken) {
    expect(engine.get(id)).toMatchObject({
      status: "Failed",
      failure: expect.stringMatching(new RegExp(`${id}.*the event 1, at byte 8, is damaged: restore the file`)),
    });
    expect(engine.health(id).stream).toBeUndefined();
  }
  const refused = await running.post("to-mend", tokens.get("to-mend")!, { id: 4, level: "info" });
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("5");
  expect(await refused.text()).toMatch(/the stream of pipeline to-mend cannot be opened/);
  expect(await post("fine", 3)).toEqual([202]);
  await engine.stop("fine");
  expect(await ids("fine")).toEqual([1, 2, 3]);

  // Resumed after its folder was mended, it has all of its events.
  await expect(engine.resume("to-mend")).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  expect(engine.get("to-mend").status).toBe("Failed");
  await writeFile(damages[0]!.path, damages[0]!.whole);
  await engine.resume("to-mend");
  expect(await post("to-mend", 4)).toEqual([202]);
  await engine.stop("to-mend");
  expect(await ids("to_mend")).toEqual([1, 2, 3, 4]);

  // Terminated, it may be resumed, with sequences that were never used.
  await engine.terminate("to-end");
  expect(engine.get("to-end").status).toBe("Terminated");
  await engine.resume("to-end");
  expect(engine.health("to-end").stream).toMatchObject({ messages: 0 });
  expect(engine.health("to-end").stream!.last).toBeGreaterThanOrEqual(3);
  expect(await post("to-end", 5)).toEqual([202]);

  // Deleted, its name is free.
  await engine.delete("to-delete");
  expect((await readdir(join(running.dataDir, "pipelines"))).toSorted()).toEqual(["fine", "to-end", "to-mend"]);
  await create("to-delete");
  expect(await post("to-delete", 1)).toEqual([202]);

  await restart(async () => undefined);
  await running.engine.stop("to-end");
  expect(await ids("to_end")).toEqual([5]);
});

test("the event that was answered last is missed like any other, and its number is not given again", async () => {
  await create("orders");
  await running.engine.stop("orders");
  expect(await post("orders", 1, 2, 3)).toEqual([202, 202, 202]);
  let damaged: { path: string; whole: Buffer } | undefined;
  await restart(async () => {
    damaged = await damage("orders", -1);
  });
  expect(running.engine.get("orders")).toMatchObject({
    status: "Failed",
    failure: expect.stringMatching(/the event 3, at byte \d+, is damaged: restore the file/),
  });
  await writeFile(damaged!.path, damaged!.whole);
  await running.engine.resume("orders");
  await running.engine.stop("orders");
  expect(await ids("orders")).toEqual([1, 2, 3]);
});

test(
  "a stream that could not be opened at the start holds an unknown number of events, until it is",
  { tags: ["rest"] },
  async () => {
    await create("orders");
    await running.engine.stop("orders");
    await post("orders", 1, 2, 3);
    const { dataDir } = running;
    await running.close({ keep: true });
    const fails = { isOn: true };
    const disk: Disk = {
      ...systemDisk,
      readdir: (path) =>
        fails.isOn && path === join(folderOf("orders"), "stream")
          ? Promise.reject(Object.assign(new Error("EIO: readdir"), { code: "EIO" }))
          : systemDisk.readdir(path),
    };
    running = await TestEngine.open({ dataDir, machine: { disk }, sweepEvery: 50 });
    expect(running.engine.health("orders")).toMatchObject({ overall_status: "Stopped" });
    expect(running.engine.health("orders").stream).toBeUndefined();
    fails.isOn = false;
    const { stream } = await running.until("orders", (health) => health.stream !== undefined);
    expect(stream).toMatchObject({ messages: 3 });
  },
);

describe("folders of pipelines that the catalog does not know", () => {
  test("a start with an empty catalog beside streams with events is refused, and removes nothing", async () => {
    await create("orders");
    await post("orders", 1, 2);
    const state = join(running.dataDir, "state");
    const aside = join(running.dataDir, "aside");
    await restart(async () => {
      await cp(state, aside, { recursive: true });
      await rm(state, { recursive: true });
      const refused = TestEngine.open({ dataDir: running.dataDir });
      await expect(refused).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        message: expect.stringMatching(/catalog.*no pipeline.*pipelines.*orders.*restore/),
      });
      await rm(state, { recursive: true });
      await cp(aside, state, { recursive: true });
    });
    await running.engine.stop("orders");
    expect(await ids("orders")).toEqual([1, 2]);
  });

  test(
    "beside a catalog with others such a folder is kept and named, and its name is not given to a new pipeline",
    { tags: ["rest"] },
    async () => {
      await create("orders");
      await create("known");
      await post("orders", 1);
      const aside = join(running.dataDir, "aside");
      await restart(() => cp(folderOf("orders"), aside, { recursive: true }));
      await running.engine.stop("orders");
      await running.engine.delete("orders");
      await restart(() => cp(aside, folderOf("orders"), { recursive: true }));
      expect(await readdir(join(running.dataDir, "pipelines"))).toEqual(["known", "orders"]);
      const warned = running.log.lines.filter(({ fields }) => fields["folder"] === folderOf("orders"));
      expect(warned.map(({ level }) => level)).toEqual(["warn"]);
      await expect(create("orders")).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        message: expect.stringMatching(/orders.*holds events.*move/),
      });
      await rm(folderOf("orders"), { recursive: true });
      await create("orders");
      expect(await post("orders", 1)).toEqual([202]);
    },
  );

  test("a deletion that was cut short is finished, and so is a creation", { tags: ["rest"] }, async () => {
    await running.close();
    const fails = { isOn: false };
    const disk = {
      ...systemDisk,
      rm: (path: string) =>
        fails.isOn ? Promise.reject(Object.assign(new Error("EIO: rm"), { code: "EIO" })) : systemDisk.rm(path),
    };
    running = await TestEngine.open({ machine: { disk } });
    await create("kept");
    await create("orders");
    await post("orders", 1);
    await running.engine.stop("orders");
    await post("orders", 2);
    fails.isOn = true;
    await running.engine.delete("orders");
    expect(await readdir(join(running.dataDir, "pipelines"))).toEqual(["kept", "orders"]);
    await restart(() => mkdir(join(folderOf("half-made"), "stream"), { recursive: true }));
    expect(await readdir(join(running.dataDir, "pipelines"))).toEqual(["kept"]);
    await create("orders");
    expect(running.engine.health("orders").stream).toMatchObject({ messages: 0, last: 0 });
  });
});
