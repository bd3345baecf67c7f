import { afterEach, beforeEach, expect, test } from "vitest";
import type { TestEngine } from "../../support/engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { OrdersScene } from "./orders-scene.ts";

const limited = (max_age: string, ...sluice: string[]): string =>
  pipelineText({
    id: "orders",
    transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"],
    sluice: ["access_token: ${T}", ...sluice],
    root: [`resources: { nats: { stream: { max_age: ${max_age} } } }`],
  });

let scene: OrdersScene;
let engine: TestEngine;

beforeEach(async () => {
  scene = await OrdersScene.open();
  ({ engine } = scene);
});

afterEach(() => scene.close());

/** Writes the file and takes one turn; gives what became of the pipeline. */
async function turn(text?: string): Promise<string | undefined> {
  if (text !== undefined) await scene.say("orders", text);
  return scene.turn();
}

/** A table with the columns of the file, which takes no row: one of its own columns cannot be made. */
const createBroken = (): Promise<void> => scene.createTable(", made Int32 MATERIALIZED toInt32(concat('x', level))");
const mend = (): Promise<string> => engine.engine.sql("ALTER TABLE orders DROP COLUMN made");

const maxAge = (): string => engine.engine.get("orders").config.resources.nats.stream.max_age;

test("a pipeline is made anew with the new value, and its dedup begins anew", { timeout: 60_000 }, async () => {
  await scene.createTable();
  expect(await turn(limited("24h"))).toBe("applied");
  expect([await scene.send(1), await scene.send(1), await scene.send(2)]).toEqual([202, 202, 202]);
  expect(await turn(limited("48h"))).toBeUndefined();
  expect(scene.ready()).toMatchObject({ reason: "ImmutableField" });
  expect(scene.ready().message).toMatch(
    /set x-sluice\.recreate: true, .*, without its dead letters and what dedup remembers$/,
  );
  expect(await scene.send(3)).toBe(202);

  expect(await turn(limited("48h", "recreate: true"))).toBe("applied");
  expect([maxAge(), await scene.ids()]).toEqual(["48h0m0s", [1, 2, 3]]);
  expect(await turn()).toBeUndefined();
  expect([await scene.send(1), await scene.send(4)]).toEqual([202, 202]);
  await engine.until("orders", ({ counters }) => counters.rows_written === 2);
  expect(await scene.ids()).toEqual([1, 1, 2, 3, 4]);
});

test(
  "a pipeline that cannot write is not made anew before every accepted event is in the table",
  { tags: ["rest"] },
  async () => {
    await createBroken();
    expect(await turn(limited("24h"))).toBe("applied");
    expect([await scene.send(1), await scene.send(2)]).toEqual([202, 202]);
    await engine.until("orders", ({ paused }) => paused?.class === "row");
    expect(await turn(limited("48h", "recreate: true"))).toBe("held");
    expect(scene.ready()).toMatchObject({
      reason: "EventsHeld",
      message: expect.stringContaining("2 accepted events") as string,
    });
    expect([await scene.send(3), maxAge()]).toEqual([503, "24h0m0s"]);

    await engine.until("orders", ({ paused }) => paused !== undefined);
    expect(await turn()).toBeUndefined();
    expect(scene.ready().message).toMatch(/is recreated automatically .*It cannot write: no row of a batch of \d fits/);

    await mend();
    await engine.until("orders", ({ stream, pending_batches }) => stream!.messages === 0 && pending_batches === 0);
    expect(await turn()).toBe("applied");
    expect([maxAge(), await scene.ids()]).toEqual(["48h0m0s", [1, 2]]);
    expect(await scene.send(4)).toBe(202);
    await engine.until("orders", ({ counters }) => counters.rows_written === 1);
    expect(await scene.ids()).toEqual([1, 2, 4]);
  },
);

test(
  "the old value put back lets a pipeline that waits to be made anew take events again",
  { tags: ["rest"] },
  async () => {
    await createBroken();
    expect(await turn(limited("24h"))).toBe("applied");
    expect(await scene.send(1)).toBe(202);
    await engine.until("orders", ({ paused }) => paused?.class === "row");
    expect(await turn(limited("48h", "recreate: true"))).toBe("held");
    expect(await scene.send(2)).toBe(503);
    expect(await turn(limited("24h", "recreate: true"))).toBe("applied");
    expect(await scene.send(2)).toBe(202);
    await mend();
    await engine.until("orders", ({ stream }) => stream!.messages === 0);
    expect([maxAge(), await scene.ids()]).toEqual(["24h0m0s", [1, 2]]);
  },
);
