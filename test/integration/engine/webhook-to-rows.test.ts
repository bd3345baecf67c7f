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

const bytesOf = (events: readonly object[]): number =>
  events.map((one) => JSON.stringify(one).length).reduce((a, b) => a + b);

type Labels = Record<string, string>;

async function series(name: string): Promise<{ labels: Labels; value: number }[]> {
  const found = await running.registry.getSingleMetric(name)?.get();
  return (found?.values ?? []).map(({ labels, value }) => ({ labels: labels as Labels, value }));
}

/** Bytes by component and direction. */
async function flowOf(pipeline_id: string): Promise<Record<string, number>> {
  const all = (await series("gfm_bytes_processed_total")).filter(({ labels }) => labels["pipeline_id"] === pipeline_id);
  return Object.fromEntries(all.map(({ labels, value }) => [`${labels["component"]} ${labels["direction"]}`, value]));
}

/** The components and stages that have durations. */
async function stages(pipeline_id: string): Promise<string[]> {
  const all = (await series("gfm_processing_duration_seconds")).filter(
    ({ labels }) => labels["pipeline_id"] === pipeline_id,
  );
  return [...new Set(all.map(({ labels }) => `${labels["component"]} ${labels["stage"]}`))].toSorted();
}

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
  expect(await flowOf("orders")).toEqual({
    "ingestor in": bytesOf([...posts, { id: "not a number", level: "error" }]),
    "ingestor out": bytesOf([...posts, { id: "not a number", level: "error" }]),
    "filter in": bytesOf(posts),
    "filter out": bytesOf(posts.filter(({ level }) => level === "error")),
    "sink in": bytesOf(posts.filter(({ level }) => level === "error")),
    "sink out": expect.any(Number) as number,
  });
  expect(await stages("orders")).toEqual([
    "filter filter",
    "ingestor batch",
    "sink insert",
    "sink per_message",
    "sink schema_mapping",
    "sink total_preparation",
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
