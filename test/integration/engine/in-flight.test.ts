import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Asked, type Fate, Gate, pass } from "../../support/clickhouse-proxy.ts";
import { EngineOnServer, type Over, type ServerPipeline, tableOf } from "../../support/engine-on-server.ts";

/** Two batches of a pipeline on their way at once: 1 and 2, 3 and 4. */
let on: EngineOnServer;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
afterEach(() => on.proxy.decide());
afterAll(() => on.stop());

const columns =
  "(id Int64, level String) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100";
const two: Over = { resources: { sink: { replicas: 2 } } };

async function create(pipeline_id: string): Promise<ServerPipeline> {
  await on.run(`CREATE TABLE ${tableOf(pipeline_id)} ${columns}`);
  return on.create(pipeline_id, two);
}

const isFirst = ({ rows }: Asked): boolean => rows.includes('"id":1,');

/** Whether each insert got through, by the first id of its batch, in the order in which they ended. */
const said = ({ inserts }: ServerPipeline): string[] =>
  inserts.map(({ rows, fate, status }) => `${/\d+/.exec(rows)![0]} ${fate === "pass" ? status : fate}`);

test("the second is in the table and waits for the first, whose answer was lost; both commit, in order, and once", async () => {
  const pipeline = await create("lost-answer");
  const repeat = new Gate();
  let sent = 0;
  on.proxy.decideInserts(async (asked): Promise<Fate> => {
    if (!isFirst(asked)) return pass;
    sent += 1;
    if (sent === 1) return { kind: "lose" };
    await repeat.opened;
    return pass;
  });
  await pipeline.post(1, 2, 3, 4);
  // The first one is in the table, and nobody knows.
  await pipeline.until(() => said(pipeline).includes("3 200") && sent === 2);
  expect(await on.ids(pipeline.table)).toEqual([1, 2, 3, 4]);
  const { stream, counters: before } = pipeline.health;
  expect(stream).toMatchObject({ first: 1, messages: 4 });
  expect(before.rows_written).toBe(0);

  repeat.open();
  const { counters } = await pipeline.settled();
  expect(await on.ids(pipeline.table)).toEqual([1, 2, 3, 4]);
  expect(counters).toMatchObject({ rows_written: 4, inserts_repeated: 1, batches_uncertain: 0 });
  expect(said(pipeline).toSorted()).toEqual(["1 200", "1 lose", "3 200"]);
});

test(
  "both are refused for a table that is gone; when it is there again, both are written once",
  { tags: ["rest"] },
  async () => {
    const pipeline = await create("both-refused");
    await pipeline.post(8, 9);
    await pipeline.settled();
    await on.run(`RENAME TABLE ${pipeline.table} TO ${pipeline.table}_away`);
    await pipeline.post(1, 2, 3, 4);
    await pipeline.paused(/does not exist/, 2);
    await on.run(`RENAME TABLE ${pipeline.table}_away TO ${pipeline.table}`);
    const { counters, dead_letters } = await pipeline.settled();
    expect(await on.ids(pipeline.table)).toEqual([1, 2, 3, 4, 8, 9]);
    expect(counters).toMatchObject({ rows_written: 6, inserts_repeated: 0, batches_reprepared: 0 });
    expect(dead_letters.total_messages).toBe(0);
  },
);

test(
  "the first is refused and the second written: a commit makes the first one again, the second stays",
  { tags: ["rest"] },
  async () => {
    const pipeline = await create("first-refused");
    const denied = { kind: "pass", parameters: { readonly: "1" } } as const;
    on.proxy.decideInserts((asked) => (isFirst(asked) ? denied : pass));
    await pipeline.post(1, 2, 3, 4);
    await pipeline.until(({ paused }) => paused !== undefined && said(pipeline).includes("3 200"));
    await on.run(`CREATE TABLE ${pipeline.table}_other ${columns}`);
    await pipeline.stop();
    on.proxy.decide();
    await pipeline.edit({ ...two, sink: { table: "first_refused_other" } });
    const { counters } = await pipeline.settled();
    expect([await on.ids(pipeline.table), await on.ids(`${pipeline.table}_other`)]).toEqual([
      [3, 4],
      [1, 2],
    ]);
    expect(counters).toMatchObject({
      rows_written: 4,
      batches_replayed: 2,
      batches_reprepared: 1,
      inserts_repeated: 0,
    });
  },
);

test(
  "the answer of the first is lost and the second is refused: a commit repeats the one and makes the other again",
  { tags: ["rest"] },
  async () => {
    const pipeline = await create("lost-and-refused");
    const denied = { kind: "pass", parameters: { readonly: "1" } } as const;
    on.proxy.decideInserts((asked) => (isFirst(asked) ? { kind: "lose" } : denied));
    await pipeline.post(1, 2, 3, 4);
    await pipeline.until(() => said(pipeline).includes("1 lose") && said(pipeline).includes("3 500"));
    await pipeline.until(({ paused }) => paused !== undefined);
    await on.run(`CREATE TABLE ${pipeline.table}_other ${columns}`);
    await pipeline.stop();
    on.proxy.decide();
    await pipeline.edit({ ...two, sink: { table: "lost_and_refused_other" } });
    const { counters } = await pipeline.settled();
    expect([await on.ids(pipeline.table), await on.ids(`${pipeline.table}_other`)]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(counters).toMatchObject({ rows_written: 4, batches_replayed: 2, batches_reprepared: 1 });
    expect(counters.inserts_repeated).toBeGreaterThan(0);
  },
);
