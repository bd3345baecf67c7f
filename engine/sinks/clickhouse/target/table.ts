import { type Row, textIn, textsIn, unexpected } from "../transport/rows.ts";
import { quoteText } from "../transport/quote.ts";
import type { Select } from "../transport/sql.ts";

/** A table as `system.tables` describes it. */
export interface TableInfo {
  database: string;
  name: string;
  uuid: string;
  engine: string;
  /** The engine with its keys and settings. */
  engine_full: string;
  /** Empty without PARTITION BY. */
  partition_key: string;
  create_table_query: string;
  dependencies_database: readonly string[];
  dependencies_table: readonly string[];
}

export interface ColumnInfo {
  name: string;
  type: string;
  /** `""`, `DEFAULT`, `MATERIALIZED`, `ALIAS` or `EPHEMERAL`. */
  default_kind: string;
}

/** The columns of `system.tables` for a `TableInfo`. */
export const tableInfo =
  "database, name, toString(uuid) AS uuid, engine, engine_full, partition_key, create_table_query, dependencies_database, dependencies_table";

/** The table; undefined where it does not exist or this user may not see it. */
export async function findTable(select: Select, database: string, table: string): Promise<TableInfo | undefined> {
  const rows = await select(
    `SELECT ${tableInfo} FROM system.tables WHERE database = ${quoteText(database)} AND name = ${quoteText(table)}`,
  );
  const [row, ...others] = rows;
  if (others.length > 0) throw unexpected(tables, "rows", "at most one", rows);
  return row && tableOf(row);
}

const tables = "system.tables";
const columns = "system.columns";

/** Throws a RequestError for a row that has not the columns of `tableInfo`. */
export function tableOf(row: Row): TableInfo {
  const text = (field: string): string => textIn(row, field, tables);
  return {
    database: text("database"),
    name: text("name"),
    uuid: text("uuid"),
    engine: text("engine"),
    engine_full: text("engine_full"),
    partition_key: text("partition_key"),
    create_table_query: text("create_table_query"),
    dependencies_database: textsIn(row, "dependencies_database", tables),
    dependencies_table: textsIn(row, "dependencies_table", tables),
  };
}

export async function findColumns(select: Select, database: string, table: string): Promise<ColumnInfo[]> {
  const rows = await select(
    `SELECT name, type, default_kind FROM system.columns WHERE database = ${quoteText(database)} AND table = ${quoteText(table)}`,
  );
  return rows.map((row) => ({
    name: textIn(row, "name", columns),
    type: textIn(row, "type", columns),
    default_kind: textIn(row, "default_kind", columns),
  }));
}

/** The columns that ClickHouse makes of a `Nested` column of that name: one for each element, `items.id` for `items`. */
export function flattened(of: readonly ColumnInfo[], name: string): ColumnInfo[] {
  return of.some((column) => column.name === name) ? [] : of.filter((column) => column.name.startsWith(`${name}.`));
}
