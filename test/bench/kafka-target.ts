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

/** What a table has to hold. */
export interface Expected {
  rows: number;
  /** Each row has an `id` of its own. */
  areDistinct?: boolean;
  /** The checksum of all rows, in any order. */
  checksum?: string | undefined;
}

/** Throws unless a table holds what it has to. Returns the checksum of its rows. */
export async function checkRows(
  server: TestClickHouse,
  table: string,
  { rows, areDistinct = false, checksum }: Expected,
): Promise<string> {
  const [found] = await server.query<{ rows: string; ids: string; checksum: string }>(
    `SELECT count() AS rows, uniqExact(id) AS ids, toString(sum(cityHash64(*))) AS checksum FROM ${table}`,
  );
  const [count, ids] = [Number(found?.rows), Number(found?.ids)];
  if (count !== rows || (areDistinct && ids !== rows)) {
    throw new Error(`table ${table}: expected ${rows} rows, found ${count} with ${ids} ids`);
  }
  if (checksum !== undefined && found?.checksum !== checksum) {
    throw new Error(`table ${table}: expected rows with the checksum ${checksum}, found ${found?.checksum}`);
  }
  return found!.checksum;
}

/** The floor of the target: ClickHouse itself loads the events of a topic from a file. With the checksum of the rows. */
export async function loadFile(
  server: TestClickHouse,
  shape: Shape,
  { path }: FilledTopic,
): Promise<Cost & { checksum: string }> {
  const table = "loaded";
  await makeTable(server, table, shape.fields);
  const structure = shape.fields.map(({ name, column_type }) => `${name} ${column_type}`).join(", ");
  const query = `INSERT INTO ${table} SELECT * FROM file('${path}', JSONEachRow, '${structure}')`;
  const [started, before] = [performance.now(), cpuSeconds(server.embedded.pid)];
  await server.client.command({ query });
  const cost = { seconds: (performance.now() - started) / 1000, cpu: cpuSeconds(server.embedded.pid) - before };
  const checksum = await checkRows(server, table, { rows: shape.events });
  await server.client.command({ query: `DROP TABLE ${table} SYNC` });
  return { ...cost, checksum };
}
