import { afterAll, beforeAll, expect, test } from "vitest";
import { EngineOnServer, tableOf } from "../../support/engine-on-server.ts";

let on: EngineOnServer;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
afterAll(() => on.stop());

async function sampled(pipeline_id: string, count = 10): Promise<number[]> {
  const { events, left_out } = await on.engine.engine.sample(pipeline_id, count);
  expect(left_out).toBe(0);
  return events.map(({ text }) => (JSON.parse(text) as { id: number }).id);
}

test("the stream's newest events that are not settled, of a pipeline that runs or not; all stay there", async () => {
  await on.run(`CREATE TABLE ${tableOf("sampled")} (id Int64, level String) ENGINE = MergeTree ORDER BY id`);
  const pipeline = await on.create("sampled", { sink: { max_batch_size: 4 } });
  expect(await sampled("sampled")).toEqual([]);
  await pipeline.post(1, 2, 3, 4);
  await pipeline.settled();
  expect(await sampled("sampled")).toEqual([]);
  await pipeline.post(5, 6, 7);
  expect(await sampled("sampled")).toEqual([5, 6, 7]);
  expect(await sampled("sampled", 2)).toEqual([6, 7]);
  expect(pipeline.health.stream?.messages).toBe(3);
  await pipeline.post(8);
  await pipeline.settled();
  expect(await on.ids(pipeline.table)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test("the events of a batch that cannot be written are not settled either", { tags: ["rest"] }, async () => {
  const create = `CREATE TABLE ${tableOf("held")} (id Int64, level String) ENGINE = MergeTree ORDER BY id`;
  await on.run(create);
  const pipeline = await on.create("held");
  await pipeline.post(1, 2);
  await pipeline.settled();
  await on.run(`DROP TABLE ${tableOf("held")} SYNC`);
  await pipeline.post(3, 4, 5);
  await pipeline.paused(/held/);
  expect(await sampled("held")).toEqual([3, 4, 5]);
  await on.run(create);
});

test("a pipeline that is unknown is an error that says so", async () => {
  await expect(on.engine.engine.sample("none", 1)).rejects.toMatchObject({ code: "PIPELINE_NOT_FOUND" });
});
