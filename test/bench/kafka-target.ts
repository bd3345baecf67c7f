import type { TestClickHouse } from "../support/clickhouse.ts";
import type { Field, Output, Shape } from "./kafka-shape.ts";
import type { FilledTopic } from "./kafka-topic.ts";
import { cpuSeconds } from "./load.ts";
import type { Cost } from "./cost.ts";

/** As many inserts are recognised as the batches of a run can be. */
const window = 10_000;

/** Makes a table anew. */
export async function makeTable(
  server: TestClickHouse,
  table: string,
  columns: readonly Pick<Field | Output, "name" | "column_type">[],
): Promise<void> {
  const list = columns.map(({ name, column_type }) => `${name} ${column_type}`).join(", ");
  const engine = `MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = ${window}`;
  await server.client.command({ query: `DROP TABLE IF EXISTS ${table} SYNC` });
  await server.client.command({ query: `CREATE TABLE ${table} (${list}) ENGINE = ${engine}` });
}

/** Throws unless so many rows are in a table, each with an `id` of its own where `areDistinct`. */
export async function checkRows(
  server: TestClickHouse,
  table: string,
  rows: number,
  areDistinct: boolean,
): Promise<void> {
  const [found] = await server.query<{ rows: string; ids: string }>(
    `SELECT count() AS rows, uniqExact(id) AS ids FROM ${table}`,
  );
  const [count, ids] = [Number(found?.rows), Number(found?.ids)];
  if (count !== rows || (areDistinct && ids !== rows)) {
    throw new Error(`table ${table}: expected ${rows} rows, found ${count} with ${ids} ids`);
  }
}

/** The floor of the target: ClickHouse itself loads the events of a topic from a file. */
export async function loadFile(server: TestClickHouse, shape: Shape, { path }: FilledTopic): Promise<Cost> {
  const table = "loaded";
  await makeTable(server, table, shape.fields);
  const structure = shape.fields.map(({ name, column_type }) => `${name} ${column_type}`).join(", ");
  const query = `INSERT INTO ${table} SELECT * FROM file('${path}', JSONEachRow, '${structure}')`;
  const [started, before] = [performance.now(), cpuSeconds(server.embedded.pid)];
  await server.client.command({ query });
  const cost = { seconds: (performance.now() - started) / 1000, cpu: cpuSeconds(server.embedded.pid) - before };
  await checkRows(server, table, shape.events, false);
  await server.client.command({ query: `DROP TABLE ${table} SYNC` });
  return cost;
}
