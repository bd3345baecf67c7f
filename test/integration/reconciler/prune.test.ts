import { afterEach, beforeEach, expect, test } from "vitest";
import type { TestEngine } from "../../support/engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { OrdersScene } from "./orders-scene.ts";

const orders = { id: "orders", sluice: ["access_token: ${T}"] };
let scene: OrdersScene;
let engine: TestEngine;

beforeEach(async () => {
  scene = await OrdersScene.open();
  ({ engine } = scene);
  await scene.say("sales-eu", pipelineText({ id: "sales-eu", sluice: ["create_table: true"] }));
  await scene.say("orders", pipelineText(orders));
});

afterEach(() => scene.close());

const pipelines = (): string[] => engine.engine.list().map(({ pipeline_id }) => pipeline_id);

test(
  "a pipeline that cannot write refuses new events, says what it holds, and goes when all of it is written",
  { timeout: 60_000 },
  async () => {
    expect(await scene.turn()).toBe("applied");
    expect([await scene.send(1), await scene.send(2)]).toEqual([202, 202]);
    await engine.until("orders", ({ paused }) => paused?.class === "setup");
    await scene.say("orders");
    expect(await scene.turn()).toBe("held");
    expect(scene.ready()).toMatchObject({
      reason: "EventsHeld",
      message: expect.stringContaining("2 accepted events") as string,
    });
    expect(await scene.send(3)).toBe(409);

    await engine.until("orders", ({ paused }) => paused !== undefined);
    expect(await scene.turn()).toBeUndefined();
    expect(scene.ready().message).toMatch(/It cannot write: .*orders.* does not exist/);

    await scene.createTable();
    await engine.until("orders", ({ stream, pending_batches }) => stream!.messages === 0 && pending_batches === 0);
    expect(await scene.turn()).toBe("applied");
    expect(pipelines()).toEqual(["sales-eu"]);
    expect(await scene.ids()).toEqual([1, 2]);
  },
);

test("a pipeline with dead letters is kept, refuses new events, and goes when they are taken out", async () => {
  await scene.createTable(", CONSTRAINT small CHECK id < 100");
  expect(await scene.turn()).toBe("applied");
  expect([await scene.send(1), await scene.send(100)]).toEqual([202, 202]);
  await engine.until("orders", ({ dead_letters }) => dead_letters.total_messages === 1);
  await scene.say("orders");
  expect(await scene.turn()).toBe("held");
  expect(scene.ready()).toMatchObject({
    reason: "DeadLettersHeld",
    message: expect.stringContaining("sluice dlq") as string,
  });
  expect(await scene.send(2)).toBe(409);
  expect(await scene.turn()).toBeUndefined();
  expect(await engine.engine.deadLetters("orders").purge()).toBe(1);
  expect(await scene.turn()).toBe("applied");
  expect(pipelines()).toEqual(["sales-eu"]);
});

test("a pipeline whose file is put back takes events again, and loses nothing", { tags: ["rest"] }, async () => {
  expect(await scene.turn()).toBe("applied");
  expect(await scene.send(1)).toBe(202);
  await engine.until("orders", ({ paused }) => paused?.class === "setup");
  await scene.say("orders");
  expect(await scene.turn()).toBe("held");
  await scene.say("orders", pipelineText(orders));
  expect(await scene.turn()).toBe("applied");
  expect(await scene.send(2)).toBe(202);
  await scene.createTable();
  await engine.until("orders", ({ stream }) => stream!.messages === 0);
  expect(await engine.rows("SELECT count() AS rows FROM orders")).toEqual([{ rows: 2 }]);
});

test("a pipeline at rest that holds nothing is deleted", { tags: ["rest"] }, async () => {
  await scene.createTable();
  await scene.say("orders", pipelineText({ ...orders, sluice: [...orders.sluice, "state: Stopped"] }));
  expect(await scene.turn()).toBe("applied");
  await scene.say("orders");
  expect(await scene.turn()).toBe("applied");
  expect(pipelines()).toEqual(["sales-eu"]);
});
