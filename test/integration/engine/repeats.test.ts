import type { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { PipelineConfig, PipelineHealth } from "../../../engine/index.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { isEveryCase } from "../../support/cases.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { TestEngine } from "../../support/engine.ts";
import { webhookPipeline } from "../../support/pipelines.ts";

/** Where the first event of a key dies: the stateless transform, the mapping, or a constraint of the table. */
type Death = "transform" | "mapping" | "sink";
/** The events of one key: two in one batch or in two, or three in one, of which the first and the second die. */
type Layout = "one" | "two" | "three";

interface Story {
  pipeline_id: string;
  death: Death;
  layout: Layout;
  token: string;
}

let server: TestClickHouse;
let running: TestEngine;
let workers: Worker[];
const noteWorker = (worker: Worker): void => void workers.push(worker);

beforeAll(async () => {
  server = await useClickHouse();
});

afterAll(() => server.stop());

beforeEach(async () => {
  workers = [];
  process.on("worker", noteWorker);
  running = await TestEngine.open({ realThreads: true });
});

afterEach(async () => {
  process.off("worker", noteWorker);
  await running.close();
});

const deaths: Death[] = ["transform", "mapping", "sink"];
const layouts: Layout[] = ["one", "two", "three"];

/** These have the key `a`. All but 12 die: they have no place in a list of one, in a UInt8, below the table's 100. */
const ofOneKey = [500, 600, 12];
const dies = (id: number): boolean => id >= 500;

/** The events by their ids. A batch is full with two rows, of which neither a repeat is one nor what a transform rejects. */
function idsOf({ death, layout }: Story): number[] {
  const alone = death === "transform" ? [21, 22] : [21];
  if (layout === "two") return [500, ...alone, 12, 31, 32];
  return layout === "one" ? [500, 12, ...alone] : [500, 600, 12, ...alone];
}

function configOf(pipeline_id: string, death: Death): PipelineConfig {
  const { username, password, url } = server;
  const dedup = { type: "dedup", source_id: "input", config: { key: "level", time_window: "1h" } };
  const outputs = [
    { output_name: "id", expression: "[id][id < 100 ? 0 : 1]", output_type: "int" },
    { output_name: "level", expression: "level", output_type: "string" },
  ];
  const stateless = { type: "stateless", source_id: "input", config: { transforms: outputs } };
  const { sink } = webhookPipeline(pipeline_id);
  return webhookPipeline(pipeline_id, {
    transforms: death === "transform" ? [dedup, stateless] : [dedup],
    sink: {
      ...sink,
      connection_params: { host: "127.0.0.1", http_port: new URL(url).port, database: "default", username, password },
      max_batch_size: 2,
      max_delay_time: "1h",
      mapping: [
        { name: "id", column_name: "id", column_type: death === "mapping" ? "UInt8" : "Int64" },
        { name: "level", column_name: "level", column_type: "String" },
      ],
    },
    resources: { sink: { replicas: 2 } },
  });
}

function createTable({ pipeline_id, death }: Pick<Story, "pipeline_id" | "death">): Promise<unknown> {
  const type = death === "mapping" ? "UInt8" : "Int64";
  const check = death === "sink" ? ", CONSTRAINT small CHECK id < 100" : "";
  return server.client.command({
    query: `CREATE TABLE ${tableOf(pipeline_id)} (id ${type}, level String${check}) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100`,
  });
}

const tableOf = (pipeline_id: string): string => pipeline_id.replaceAll("-", "_");
const dropTable = ({ pipeline_id }: Story): Promise<unknown> =>
  server.client.command({ query: `DROP TABLE ${tableOf(pipeline_id)} SYNC` });

async function post({ pipeline_id, token }: Story, ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    const level = ofOneKey.includes(id) ? "a" : `own ${id}`;
    const { status } = await running.post(pipeline_id, token, { id, level });
    expect(status).toBe(202);
  }
}

const settled = ({ pipeline_id }: Story): Promise<PipelineHealth> =>
  running.until(pipeline_id, ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);

/** A pipeline that has written to its table, which was dropped since, so that its batches are prepared and no more. */
async function begin(name: string, death: Death, layout: Layout): Promise<Story> {
  const pipeline_id = `${name}-${death}-${layout}`;
  await createTable({ pipeline_id, death });
  const { access_token } = await running.engine.create(configOf(pipeline_id, death), defaultOptions);
  const story: Story = { pipeline_id, death, layout, token: access_token! };
  await post(story, [1, 2]);
  await settled(story);
  await dropTable(story);
  await post(story, idsOf(story));
  const pending = layout === "two" ? 2 : 1;
  await running.until(
    pipeline_id,
    ({ pending_batches, paused }) => pending_batches === pending && paused !== undefined,
  );
  return story;
}

async function rowsOf({ pipeline_id }: Story): Promise<number[]> {
  const rows = await server.query<{ id: string | number }>(`SELECT id FROM ${tableOf(pipeline_id)} ORDER BY id`);
  return rows.map(({ id }) => Number(id));
}

const lettersOf = ({ pipeline_id }: Story): unknown[] =>
  running.engine
    .deadLetters(pipeline_id)
    .list(10)
    .messages.map(({ original_message }) => (JSON.parse(original_message) as { id: number }).id);

/** What happens between prepare and the first insert that works. */
const between = {
  nothing: () => Promise.resolve(),
  thread: async () => void (await workers[0]!.terminate()),
  process: async () => {
    await running.close({ keep: true });
    running = await TestEngine.open({ dataDir: running.dataDir, realThreads: true });
  },
};

const title = "an event that repeats one that dies is the row %s, and the other is the letter";

/** A story with each death and each layout, and those that are left. */
const [differing, others] = [true, false].map((isFirst) =>
  deaths.flatMap((death, index) =>
    layouts.filter((_, at) => (at === index) === isFirst).map((layout) => [death, layout] as const),
  ),
);

test.each([["as it goes on", "nothing", 0, differing!] as const])(title, { timeout: 90_000 }, replay);
test.each([
  ...(isEveryCase ? [["as it goes on, in other batches", "nothing", 0, others!] as const] : []),
  ["when its thread dies before anything is written", "thread", 1, differing!],
  ["when the process starts anew before anything is written", "process", 1, differing!],
] as const)(title, { tags: ["rest"], timeout: 90_000 }, replay);

async function replay(
  _title: string,
  what: keyof typeof between,
  replayed: number,
  ofKinds: readonly (readonly [Death, Layout])[],
): Promise<void> {
  const begun = ofKinds.map(([death, layout]) => begin(what, death, layout));
  const stories = await Promise.all(begun);
  await between[what]();
  await Promise.all(stories.map(createTable));
  for (const story of stories) {
    const { counters, dead_letters } = await settled(story);
    const alive = idsOf(story).filter((id) => !dies(id));
    const dead = idsOf(story).filter(dies);
    expect([story.pipeline_id, await rowsOf(story)]).toEqual([story.pipeline_id, alive.toSorted((a, b) => a - b)]);
    expect(lettersOf(story)).toEqual(dead);
    expect(dead_letters.total_messages).toBe(dead.length);
    const batches_replayed = replayed * (story.layout === "two" ? 2 : 1);
    expect(counters).toMatchObject({ drops_judged_again: dead.length, batches_replayed });
    // A thread may die while an insert is under way, and then nobody knows.
    if (what !== "thread") expect(counters.batches_uncertain).toBe(0);
  }
  await Promise.all(stories.map(sendLettersAgain));
}

/** Inside of the window the key is taken: a letter that is sent again is a repeat, and leaves the queue. */
async function sendLettersAgain(story: Story): Promise<void> {
  const { pipeline_id } = story;
  const rows = await rowsOf(story);
  const { counters: before } = running.engine.health(pipeline_id);
  const accepted_count = lettersOf(story).length;
  expect(await running.engine.reprocess(pipeline_id, { mode: "all" })).toMatchObject({ accepted_count });
  const { counters } = await running.until(
    pipeline_id,
    ({ pending_batches, dead_letters }) => pending_batches + dead_letters.total_messages === 0,
  );
  expect(counters.duplicates_dropped).toBe(before.duplicates_dropped + accepted_count);
  expect(await rowsOf(story)).toEqual(rows);
}
