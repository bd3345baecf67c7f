import { setTimeout as sleep } from "node:timers/promises";
import type { DesiredPipeline } from "../../../../reconciler/desired/desired-state.ts";
import { type ClickHouseProxy, exception, pass } from "../../../support/clickhouse-proxy.ts";
import type { TestEngine } from "../../../support/engine.ts";
import type { TestClickHouse } from "../../../support/clickhouse.ts";
import type { TestKafka } from "../../../support/kafka/test-kafka.ts";
import type { Trouble } from "../../../unit/preview/pull-requests.ts";
import { firstIds, type Flow } from "./flow.ts";

interface Scene {
  engine: TestEngine;
  kafka: TestKafka;
  clickhouse: TestClickHouse;
  proxy: ClickHouseProxy;
}

/** Milliseconds. */
const patience = 30_000;
/** Blocks that a table recognises in trouble, and blocks that another writer inserts meanwhile. */
const [window, blocks] = [20, 24];
const kept = `non_replicated_deduplication_window = ${window}`;
/** Ids of another writer: no event has one. */
const foreign = 9_000_001;

/** Pauses a pipeline by events that meet trouble, until a merge says what becomes of them. */
export async function bring(trouble: Trouble, pipeline: DesiredPipeline, flow: Flow, scene: Scene): Promise<void> {
  if (trouble === "retention") await removeUnread(pipeline, flow, scene);
  else if (trouble === "view") await breakView(pipeline, flow, scene);
  else await leaveUncertain(trouble, pipeline, flow, scene);
}

/** What the table of a view holds of events in trouble: they are left out there. */
export async function viewUnsaid(trouble: Trouble, pipeline: DesiredPipeline, { engine }: Scene): Promise<string[]> {
  if (trouble !== "view") return [];
  const { table } = pipeline.config.sink;
  const rows = await engine.rows<{ of: string }>(
    `SELECT toString(countIf(${isTroubled})) AS of FROM ${table}_out HAVING count() > 0`,
  );
  return rows.length === 1 && rows[0]!.of === "0" ? [] : [`${table}_out: expected events, none of them in trouble`];
}

const isTroubled = `id >= ${firstIds.troubled} AND id < ${firstIds.during}`;

/** Records of a topic are gone before they are read. */
async function removeUnread(
  { pipeline_id, config }: DesiredPipeline,
  flow: Flow,
  { engine, kafka }: Scene,
): Promise<void> {
  const [source] = config.sources;
  if (source?.type !== "kafka") throw new Error(`${pipeline_id}: expected a topic`);
  await stopped(pipeline_id, engine);
  await flow.send("troubled");
  for (const [partition, end] of (await kafka.topics.endOffsets(source.topic)).entries())
    await kafka.topics.deleteRecords(source.topic, partition, end);
  await engine.engine.resume(pipeline_id);
  await paused("lost", pipeline_id, engine);
}

/** A materialized view takes none of them. */
async function breakView({ pipeline_id, config }: DesiredPipeline, flow: Flow, { engine }: Scene): Promise<void> {
  const { table } = config.sink;
  await engine.engine.sql(`CREATE TABLE ${table}_out (id Int64) ENGINE = MergeTree ORDER BY id SETTINGS ${kept}`);
  await engine.engine.sql(
    `CREATE MATERIALIZED VIEW ${table}_view TO ${table}_out AS SELECT id FROM ${table} WHERE throwIf(${isTroubled}) = 0`,
  );
  await sendAsOneBatch(pipeline_id, flow, engine);
  await paused("view", pipeline_id, engine);
}

/** An insert is carried out and has no answer, or never came, and other inserts use up what the table recognises. */
async function leaveUncertain(
  trouble: "unsent" | "unanswered",
  { pipeline_id, config }: DesiredPipeline,
  flow: Flow,
  { engine, clickhouse, proxy }: Scene,
): Promise<void> {
  const { table } = config.sink;
  const command = (query: string): Promise<unknown> => clickhouse.client.command({ query });
  await command(`ALTER TABLE default.${table} MODIFY SETTING ${kept}`);
  let isMet = false;
  proxy.decideInserts(() => {
    if (isMet) return exception(252, "TOO_MANY_PARTS", "Too many parts (300) in all partitions in total");
    isMet = true;
    return { kind: trouble === "unsent" ? "drop" : "lose" };
  });
  await sendAsOneBatch(pipeline_id, flow, engine);
  await until(() => isMet && engine.engine.health(pipeline_id).paused !== undefined);
  const one =
    "max_block_size = 1, max_insert_block_size = 1, min_insert_block_size_rows = 1, min_insert_block_size_bytes = 1";
  await command(
    `INSERT INTO default.${table} (id, level) SETTINGS ${one}, max_insert_threads = 1 SELECT ${foreign} + number, 'other' FROM numbers(${blocks})`,
  );
  await paused("uncertain", pipeline_id, engine);
  proxy.decide(() => pass);
}

/** Events that wait while a pipeline is stopped are read at once. */
async function sendAsOneBatch(pipeline_id: string, flow: Flow, engine: TestEngine): Promise<void> {
  await stopped(pipeline_id, engine);
  await flow.send("troubled");
  await engine.engine.resume(pipeline_id);
}

async function stopped(pipeline_id: string, { engine }: TestEngine): Promise<void> {
  await engine.stop(pipeline_id);
  await until(() => engine.get(pipeline_id).status === "Stopped");
}

async function paused(kind: string, pipeline_id: string, { engine }: TestEngine): Promise<void> {
  await until(() => engine.health(pipeline_id).paused?.class === kind);
}

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + patience; !isSo();) {
    if (Date.now() > end) throw new Error("expected the trouble to come in time");
    await sleep(20);
  }
}
