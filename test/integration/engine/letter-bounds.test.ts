import { afterEach, expect, test } from "vitest";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

let running: TestEngine;
let token: string;
const pipeline_id = "bounded";

afterEach(async () => {
  await running.close();
});

async function open(quotas: Parameters<typeof TestEngine.open>[0], dataDir?: string): Promise<void> {
  running = await TestEngine.open({ ...quotas, ...(dataDir !== undefined && { dataDir }) });
}

async function create(over: Record<string, unknown> = {}): Promise<void> {
  token = (await running.engine.create(webhookPipeline(pipeline_id, over), createTable)).access_token!;
}

/** Events that miss a field. */
async function postBad(...ids: number[]): Promise<void> {
  for (const id of ids) expect((await running.post(pipeline_id, token, { id })).status).toBe(202);
}

const queue = (): ReturnType<TestEngine["engine"]["deadLetters"]> => running.engine.deadLetters(pipeline_id);
const paused = (): Promise<unknown> => running.until(pipeline_id, (health) => health.paused?.class === "letters");
const settled = (letters: number): Promise<unknown> =>
  running.until(
    pipeline_id,
    ({ stream, pending_batches, dead_letters }) =>
      stream!.messages + pending_batches === 0 && dead_letters.total_messages === letters,
  );

const bounds = { quotas: { deadLetters: { maxCount: 2 } } };

test("at its bound a pipeline pauses, keeps what it has over a restart, and goes on when letters are out", async () => {
  await open(bounds);
  await create();
  await postBad(1);
  await settled(1);
  await postBad(2);
  await settled(2);
  await postBad(3);
  await running.post(pipeline_id, token, { id: 4, level: "info" });
  await paused();
  expect(running.engine.health(pipeline_id)).toMatchObject({
    overall_status: "Running",
    paused: {
      text: expect.stringContaining("dead_letters_max_count is 2"),
      way_out: expect.stringContaining("sluice dlq"),
    },
    stream: { messages: 2 },
    dead_letters: { total_messages: 2, max_messages: 2 },
  });
  expect(await running.registry.metrics()).toMatch(/sluice_dead_letters_held\{pipeline_id="bounded"\} 2\n/);
  expect(await running.registry.metrics()).toMatch(/sluice_dead_letters_held_max\{pipeline_id="bounded"\} 2\n/);
  expect(await running.registry.metrics()).toMatch(/sluice_stream_events\{pipeline_id="bounded"\} 2\n/);

  const { dataDir } = running;
  await running.close({ keep: true });
  await open(bounds, dataDir);
  await paused();
  expect(queue().state().total_messages).toBe(2);
  expect(await queue().consume(1)).toMatchObject([{ original_message: '{"id":1}' }]);
  await settled(2);
  expect(await running.rows("SELECT id FROM bounded")).toEqual([{ id: 4 }]);
  expect(
    queue()
      .list(10)
      .messages.map(({ original_message }) => original_message),
  ).toEqual(['{"id":2}', '{"id":3}']);
});

test("a pipeline at its bound can be stopped and reprocesses its letters", { tags: ["rest"] }, async () => {
  await open(bounds);
  await running.engine.sql(
    "CREATE TABLE bounded (id Int64, level String, CONSTRAINT small CHECK id < 100) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100",
  );
  await create();
  for (const id of [1, 500, 600]) await running.post(pipeline_id, token, { id, level: "info" });
  await settled(2);
  await running.post(pipeline_id, token, { id: 2, level: "info" });
  await paused();
  await running.engine.stop(pipeline_id);
  expect(running.engine.health(pipeline_id)).toMatchObject({ overall_status: "Stopped", stream: { messages: 1 } });
  await running.engine.resume(pipeline_id);
  await paused();

  await running.engine.sql("ALTER TABLE bounded DROP CONSTRAINT small");
  await running.engine.reprocess(pipeline_id, { mode: "all" });
  await settled(0);
  const rows = await running.rows<{ id: string }>("SELECT id FROM bounded ORDER BY id");
  expect(rows.map(({ id }) => Number(id))).toEqual([1, 2, 500, 600]);
});

test("letters that are too old leave, and are counted and logged", async () => {
  await open({ sweepEvery: 50, quotas: { deadLetters: { maxAge: 1000 } } });
  await create();
  await postBad(1, 2, 3);
  await running.until(pipeline_id, ({ counters }) => counters.dead_lettered === 3);
  await settled(0);
  expect(await running.registry.metrics()).toContain(`sluice_dead_letters_expired_total{pipeline_id="bounded"} 3`);
  const lines = running.log.lines.filter(({ sentence }) => sentence.startsWith("Dead letters grew older"));
  expect(lines.reduce((sum, { fields }) => sum + Number(fields["count"]), 0)).toBe(3);
});

test("a sender above the rate gets 429, with the time after which it may go on", { tags: ["rest"] }, async () => {
  await open({ quotas: { pushRates: { bytesPerSecond: 1000 } } });
  await create();
  expect((await running.post(pipeline_id, token, { id: 1, level: "x".repeat(5000) })).status).toBe(202);
  const refused = await running.post(pipeline_id, token, { id: 2, level: "info" });
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(3);
  expect(await refused.text()).toContain("this pipeline takes 1000 bytes a second");
});

test("the setting bounds a stream below what its file allows", { tags: ["rest"] }, async () => {
  await open({ quotas: { streamMaxBytes: 3000 } });
  await create({ resources: { nats: { stream: { max_bytes: "1Gi" } } } });
  await running.engine.stop(pipeline_id);
  const event = { id: 1, level: "x".repeat(1200) };
  expect((await running.post(pipeline_id, token, event)).status).toBe(202);
  expect((await running.post(pipeline_id, token, event)).status).toBe(202);
  const refused = await running.post(pipeline_id, token, event);
  expect(refused.status).toBe(429);
  expect(await refused.text()).toContain("max_bytes (3000 bytes)");
  expect(running.engine.health(pipeline_id).stream).toMatchObject({ messages: 2, max_bytes: 3000 });
});
