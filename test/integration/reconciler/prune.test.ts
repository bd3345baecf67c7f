import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Folder } from "../../../reconciler/git/folder.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { TestEngine } from "../../support/engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";

const window = "SETTINGS non_replicated_deduplication_window = 100";
const orders = { id: "orders", sluice: ["access_token: ${T}"] };
let engine: TestEngine;
let reconciler: Reconciler;
let files: string;

beforeEach(async () => {
  engine = await TestEngine.open({ secrets: { T: "t0ken" } });
  files = join(engine.dataDir, "files");
  await mkdir(files);
  await say("sales-eu", pipelineText({ id: "sales-eu", sluice: ["create_table: true"] }));
  await say("orders", pipelineText(orders));
  reconciler = new Reconciler({
    source: new Folder({ path: files }),
    engine: engine.engine,
    dataDir: engine.dataDir,
    log: engine.log,
    registry: engine.registry,
    interval: 60_000,
  });
});

afterEach(() => engine.close());

/** Writes the file of a pipeline, or removes it. */
const say = (id: string, text?: string): Promise<void> =>
  text === undefined ? rm(join(files, `${id}.yaml`)) : writeFile(join(files, `${id}.yaml`), text);

/** One turn of the reconciler; gives what became of `orders`. */
async function turn(): Promise<string | undefined> {
  const { outcomes = [], error } = await reconciler.turn("manual", new AbortController().signal);
  if (error !== undefined) throw error;
  return outcomes.find(({ pipeline_id }) => pipeline_id === "orders")?.result;
}

const send = async (id: number): Promise<number> =>
  (await engine.post("orders", "t0ken", { id, level: "error" })).status;

const ready = (): { reason?: string; message?: string } =>
  reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === "orders")?.conditions[0] ?? {};

const ids = (): string[] => engine.engine.list().map(({ pipeline_id }) => pipeline_id);

const createTable = (constraint = ""): Promise<string> =>
  engine.engine.sql(
    `CREATE TABLE orders (id Int64, level String${constraint}) ENGINE = MergeTree ORDER BY id ${window}`,
  );

test(
  "a pipeline that cannot write refuses new events, says what it holds, and goes when all of it is written",
  { timeout: 60_000 },
  async () => {
    expect(await turn()).toBe("applied");
    expect([await send(1), await send(2)]).toEqual([202, 202]);
    await engine.until("orders", ({ paused }) => paused?.class === "setup");
    await say("orders");
    expect(await turn()).toBe("held");
    expect(ready()).toMatchObject({
      reason: "EventsHeld",
      message: expect.stringContaining("2 accepted events") as string,
    });
    expect(await send(3)).toBe(409);

    await engine.until("orders", ({ paused }) => paused !== undefined);
    expect(await turn()).toBeUndefined();
    expect(ready().message).toMatch(/It cannot write: .*orders.* does not exist/);

    await createTable();
    await engine.until("orders", ({ stream, pending_batches }) => stream.messages === 0 && pending_batches === 0);
    expect(await turn()).toBe("applied");
    expect(ids()).toEqual(["sales-eu"]);
    expect(
      (await engine.rows<{ id: string }>("SELECT id FROM orders ORDER BY id")).map(({ id }) => Number(id)),
    ).toEqual([1, 2]);
  },
);

test("a pipeline with dead letters is kept, refuses new events, and goes when they are taken out", async () => {
  await createTable(", CONSTRAINT small CHECK id < 100");
  expect(await turn()).toBe("applied");
  expect([await send(1), await send(100)]).toEqual([202, 202]);
  await engine.until("orders", ({ dead_letters }) => dead_letters.total_messages === 1);
  await say("orders");
  expect(await turn()).toBe("held");
  expect(ready()).toMatchObject({
    reason: "DeadLettersHeld",
    message: expect.stringContaining("sluice dlq") as string,
  });
  expect(await send(2)).toBe(409);
  expect(await turn()).toBeUndefined();
  expect(await engine.engine.deadLetters("orders").purge()).toBe(1);
  expect(await turn()).toBe("applied");
  expect(ids()).toEqual(["sales-eu"]);
});

test("a pipeline whose file is put back takes events again, and loses nothing", { timeout: 60_000 }, async () => {
  expect(await turn()).toBe("applied");
  expect(await send(1)).toBe(202);
  await engine.until("orders", ({ paused }) => paused?.class === "setup");
  await say("orders");
  expect(await turn()).toBe("held");
  await say("orders", pipelineText(orders));
  expect(await turn()).toBe("applied");
  expect(await send(2)).toBe(202);
  await createTable();
  await engine.until("orders", ({ stream }) => stream.messages === 0);
  expect(await engine.rows("SELECT count() AS rows FROM orders")).toEqual([{ rows: 2 }]);
});

test("a pipeline at rest that holds nothing is deleted", async () => {
  await createTable();
  await say("orders", pipelineText({ ...orders, sluice: [...orders.sluice, "state: Stopped"] }));
  expect(await turn()).toBe("applied");
  await say("orders");
  expect(await turn()).toBe("applied");
  expect(ids()).toEqual(["sales-eu"]);
});
