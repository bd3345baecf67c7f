import { afterEach, beforeEach, expect, test } from "vitest";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

let running: TestEngine;

beforeEach(async () => {
  running = await TestEngine.open({ realThreads: true });
});

afterEach(async () => {
  await running.close();
});

test("events that were answered 202 become rows, the filter drops, what breaks the schema is a dead letter", async () => {
  const config = webhookPipeline("orders", {
    transforms: [{ type: "filter", source_id: "input", config: { expression: 'level == "error"' } }],
  });
  const { access_token } = await running.engine.create(config, createTable);
  const posts = Array.from({ length: 40 }, (_, id) => ({ id, level: id % 2 === 0 ? "error" : "info" }));
  const answers = await Promise.all(posts.map((event) => running.post("orders", access_token!, event)));
  expect(answers.map(({ status }) => status)).toEqual(posts.map(() => 202));
  await running.post("orders", access_token!, { id: "not a number", level: "error" });

  const health = await running.until(
    "orders",
    ({ stream, pending_batches }) => stream!.messages + pending_batches === 0,
  );

  expect(health.counters).toMatchObject({ events_read: 41, events_filtered: 20, rows_written: 20, dead_lettered: 1 });
  expect(await running.rows("SELECT count() AS n, uniqExact(id) AS ids, sum(id) AS sum FROM orders")).toEqual([
    { n: 20, ids: 20, sum: 380 },
  ]);
  expect(running.engine.deadLetters("orders").list(10).messages).toMatchObject([
    {
      component: "ingestor",
      reason: "parse_error",
      error: "failed to validate data: field id: expected number, found string",
      original_message: '{"id":"not a number","level":"error"}',
    },
  ]);
});
