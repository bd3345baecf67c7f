import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Folder } from "../../../reconciler/git/folder.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { TestEngine } from "../../support/engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";

const limited = (max_age: string, ...sluice: string[]): string =>
  pipelineText({
    id: "orders",
    transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"],
    sluice: ["access_token: ${T}", ...sluice],
    root: [`resources: { nats: { stream: { max_age: ${max_age} } } }`],
  });

let engine: TestEngine;
let reconciler: Reconciler;
let file: string;

beforeEach(async () => {
  engine = await TestEngine.open({ secrets: { T: "t0ken" } });
  const files = join(engine.dataDir, "files");
  await mkdir(files);
  file = join(files, "orders.yaml");
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

/** Writes the file and takes one turn; gives what became of the pipeline. */
async function turn(text?: string): Promise<string | undefined> {
  if (text !== undefined) await writeFile(file, text);
  const { outcomes = [], error } = await reconciler.turn("manual", new AbortController().signal);
  if (error !== undefined) throw error;
  return outcomes[0]?.result;
}

const send = async (id: number): Promise<number> =>
  (await engine.post("orders", "t0ken", { id, level: "error" })).status;

const ready = (): { reason?: string; message?: string } => reconciler.snapshot().pipelines[0]?.conditions[0] ?? {};

const maxAge = (): string => engine.engine.get("orders").config.resources.nats.stream.max_age;

const createTable = (): Promise<string> =>
  engine.engine.sql(
    "CREATE TABLE orders (id Int64, level String) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100",
  );

const ids = async (): Promise<number[]> =>
  (await engine.rows<{ id: string }>("SELECT id FROM orders ORDER BY id")).map(({ id }) => Number(id));

test("a pipeline is made anew with the new value, and its dedup begins anew", { timeout: 60_000 }, async () => {
  await createTable();
  expect(await turn(limited("24h"))).toBe("applied");
  expect([await send(1), await send(1), await send(2)]).toEqual([202, 202, 202]);
  expect(await turn(limited("48h"))).toBeUndefined();
  expect(ready()).toMatchObject({ reason: "ImmutableField" });
  expect(ready().message).toMatch(
    /set x-sluice\.recreate: true, .*, without its dead letters and what dedup remembers$/,
  );
  expect(await send(3)).toBe(202);

  expect(await turn(limited("48h", "recreate: true"))).toBe("applied");
  expect([maxAge(), await ids()]).toEqual(["48h0m0s", [1, 2, 3]]);
  expect(await turn()).toBeUndefined();
  expect([await send(1), await send(4)]).toEqual([202, 202]);
  await engine.until("orders", ({ counters }) => counters.rows_written === 2);
  expect(await ids()).toEqual([1, 1, 2, 3, 4]);
});

test(
  "a pipeline that cannot write is not made anew before every accepted event is in the table",
  { timeout: 60_000 },
  async () => {
    expect(await turn(limited("24h"))).toBe("applied");
    expect([await send(1), await send(2)]).toEqual([202, 202]);
    await engine.until("orders", ({ paused }) => paused?.class === "setup");
    expect(await turn(limited("48h", "recreate: true"))).toBe("held");
    expect(ready()).toMatchObject({
      reason: "EventsHeld",
      message: expect.stringContaining("2 accepted events") as string,
    });
    expect([await send(3), maxAge()]).toEqual([409, "24h0m0s"]);

    await engine.until("orders", ({ paused }) => paused !== undefined);
    expect(await turn()).toBeUndefined();
    expect(ready().message).toMatch(/is made anew by itself .*It cannot write: .*orders.* does not exist/);

    await createTable();
    await engine.until("orders", ({ stream, pending_batches }) => stream.messages === 0 && pending_batches === 0);
    expect(await turn()).toBe("applied");
    expect([maxAge(), await ids()]).toEqual(["48h0m0s", [1, 2]]);
    expect(await send(4)).toBe(202);
    await engine.until("orders", ({ counters }) => counters.rows_written === 1);
    expect(await ids()).toEqual([1, 2, 4]);
  },
);

test(
  "the old value put back lets a pipeline that waits to be made anew take events again",
  { timeout: 60_000 },
  async () => {
    expect(await turn(limited("24h"))).toBe("applied");
    expect(await send(1)).toBe(202);
    await engine.until("orders", ({ paused }) => paused?.class === "setup");
    expect(await turn(limited("48h", "recreate: true"))).toBe("held");
    expect(await send(2)).toBe(409);
    expect(await turn(limited("24h", "recreate: true"))).toBe("applied");
    expect(await send(2)).toBe(202);
    await createTable();
    await engine.until("orders", ({ stream }) => stream.messages === 0);
    expect([maxAge(), await ids()]).toEqual(["24h0m0s", [1, 2]]);
  },
);
