/** @module-tag rest */
import { EventEmitter, once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { expect, test, vi } from "vitest";
import { PipelineStorage } from "../../../engine/catalog/storage.ts";
import type { Disk } from "../../../engine/core/disk.ts";
import { thisMachine } from "../../../engine/machine.ts";
import { closeStores, openStores } from "../../../engine/stores.ts";
import { keptLog, TestEngine } from "../../support/engine.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";

/** What is of one pipeline cannot be read. */
const openOthers: Disk["open"] = (path, mode) => {
  if (!path.includes("/bad-one/")) return thisMachine.disk.open(path, mode);
  return Promise.reject(Object.assign(new Error("EIO: i/o error"), { code: "EIO" }));
};

test("a pipeline whose end cannot be completed after a crash fails alone, and the others start", async () => {
  const first = await TestEngine.open();
  const { engine, dataDir } = first;
  await engine.create(webhookPipeline("bad-one"), createTable);
  await engine.create(webhookPipeline("good-one"), createTable);
  await engine.stop("bad-one");
  await first.close({ keep: true });
  // What a crash during `terminate` leaves.
  const stores = await openStores({ dataDir, log: keptLog(), registry: new Registry() });
  await stores.catalog.put({ ...stores.catalog.get("bad-one")!, status: "Terminating" });
  await closeStores(stores);
  const again = await TestEngine.open({ dataDir, machine: { disk: { ...thisMachine.disk, open: openOthers } } });
  try {
    expect(again.engine.get("bad-one")).toMatchObject({
      status: "Failed",
      failure: expect.stringContaining("dropped"),
    });
    expect(again.engine.get("good-one").status).toBe("Running");
  } finally {
    await again.close();
  }
});

test("after a start an event is stored before the streams of other pipelines are open, and no stream is opened twice", async () => {
  const first = await TestEngine.open();
  const tokens = new Map<string, string>();
  for (const id of ["slow-one", "fast-one"]) {
    tokens.set(id, (await first.engine.create(webhookPipeline(id), createTable)).access_token!);
  }
  await first.close({ keep: true });
  const gate = new EventEmitter();
  const opened = once(gate, "open");
  const paths: string[] = [];
  const open: Disk["open"] = async (path, mode) => {
    if (path.includes("/slow-one/")) await opened;
    if (path.includes("/pipelines/")) paths.push(path);
    return thisMachine.disk.open(path, mode);
  };
  const { dataDir } = first;
  const again = await TestEngine.open({ dataDir, machine: { disk: { ...thisMachine.disk, open } }, isRestored: false });
  try {
    const post = (id: string) => again.post(id, tokens.get(id)!, { id: 1, level: "fine" });
    // Nothing is opened yet but what its sender needs.
    expect((await post("fast-one")).status).toBe(202);
    expect(again.engine.health("slow-one").stream).toBeUndefined();
    const [restored, slow] = [again.engine.restore(), post("slow-one")];
    expect((await post("fast-one")).status).toBe(202);
    gate.emit("open");
    await restored;
    expect((await slow).status).toBe(202);
    for (const id of ["slow-one", "fast-one"]) {
      await again.until(id, ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
    }
    expect(await again.rows("SELECT count() AS n FROM fast_one")).toEqual([{ n: 2 }]);
    expect(await again.rows("SELECT count() AS n FROM slow_one")).toEqual([{ n: 1 }]);
    const opensOf = (id: string): number => paths.filter((path) => path.includes(`/${id}/stream/answered`)).length;
    expect(opensOf("slow-one")).toBe(opensOf("fast-one"));
  } finally {
    await again.close();
  }
});

test("a sweep leaves alone what was deleted after it began", async () => {
  const running = await TestEngine.open();
  const { engine, dataDir } = running;
  for (const id of ["one-one", "two-two"]) {
    await engine.create(webhookPipeline(id), createTable);
    await engine.stop(id);
  }
  await running.close({ keep: true });
  const gate = new EventEmitter();
  const held = once(gate, "open").then(() => undefined);
  let swept: string | undefined;
  const spy = vi.spyOn(PipelineStorage.prototype, "expireLetters").mockImplementation((id) => {
    swept ??= id;
    return id === swept ? held : Promise.resolve();
  });
  const again = await TestEngine.open({ dataDir, sweepEvery: 20 });
  try {
    await expect.poll(() => swept).toBeDefined();
    const other = swept === "one-one" ? "two-two" : "one-one";
    await again.engine.delete(other);
    gate.emit("open");
    await expect.poll(() => spy.mock.calls.length).toBeGreaterThan(3);
    expect(await readdir(join(dataDir, "pipelines"))).toEqual([swept]);
  } finally {
    spy.mockRestore();
    await again.close();
  }
});
