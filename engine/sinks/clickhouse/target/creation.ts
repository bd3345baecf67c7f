import type { ClickHouseSettings } from "@clickhouse/client";
import type { SinkConfig } from "../../../../schemas/pipeline.ts";
import type { Connection } from "../transport/connection.ts";
import { isServerError } from "../transport/request-error.ts";
import { addingColumns, configuredTypes, creating } from "./statements.ts";
import { type ColumnInfo, flattened, type TableInfo } from "./table.ts";

/** ClickHouse's code for a database that does not exist. */
const unknownDatabase = 81;

/**
 * Creates the table of a sink, and its database, unless they exist. Throws a RequestError. The database is created only
 * where it is missing: a user who may create tables in it need not have the right to create databases.
 */
export async function create(connection: Connection, sink: SinkConfig, signal: AbortSignal): Promise<void> {
  const [database, table] = creating(sink);
  const settings = creationSettings(configuredTypes(sink.mapping));
  try {
    await connection.run(table, { signal, settings });
  } catch (error) {
    if (!isServerError(error, unknownDatabase)) throw error;
    await connection.run(database, { signal });
    await connection.run(table, { signal, settings });
  }
}

/**
 * The columns of a mapping that a table does not have, with their configured types, but for those that it has flattened:
 * ClickHouse takes them for columns that exist.
 */
export function missingColumns({ mapping }: SinkConfig, found: readonly ColumnInfo[]): ColumnInfo[] {
  const names = new Set(found.map(({ name }) => name));
  const types = configuredTypes(mapping);
  return mapping.flatMap(({ column_name: name }, index) =>
    names.has(name) || flattened(found, name).length > 0 ? [] : [{ name, type: types[index]!, default_kind: "" }],
  );
}

/** Adds columns to a table, unless another process has added them meanwhile. Throws a RequestError. */
export async function addColumns(
  connection: Connection,
  { database, name }: TableInfo,
  columns: readonly ColumnInfo[],
  signal: AbortSignal,
): Promise<void> {
  const settings = creationSettings(columns.map(({ type }) => type));
  await connection.run(addingColumns(database, name, columns), { signal, settings });
}

/** The error for a table that does not exist, with the way to create it. */
export function missingTable(sink: SinkConfig): string {
  const name = `${sink.connection_params.database}.${sink.table}`;
  return `table ${name} does not exist, or this user may not see it; set x-sluice.create_table: true to have it created, or run ${creating(sink).join("; ")}`;
}

/** Sent when columns of these types are created, to allow types that ClickHouse refuses by default. */
export function creationSettings(types: readonly string[]): ClickHouseSettings {
  const has = (text: string): boolean => types.some((type) => type.includes(text));
  return {
    ...(has("LowCardinality(") ? { allow_suspicious_low_cardinality_types: 1 as const } : {}),
    // Servers without Nullable(Tuple(...)) do not know its setting either.
    ...(has("Nullable(Tuple(") || has("Nullable(Point") ? { enable_nullable_tuple_type: 1 as const } : {}),
  };
}
