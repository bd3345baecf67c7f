import type { ClickHouseSettings } from "@clickhouse/client";
import type { Mapping, SinkConfig } from "../../../../schemas/pipeline.ts";
import { columnTypeText } from "../columns/column-type.ts";
import type { Connection } from "../transport/connection.ts";
import { deduplicationWindow } from "./deduplication.ts";
import { configuredType } from "../columns/column-grammar.ts";
import { quoteName, quoteTable } from "../transport/sql.ts";
import type { ColumnInfo, TableInfo } from "./table.ts";

/** Creates the table of a sink, and its database, unless they exist. Throws a RequestError. */
export async function create(connection: Connection, sink: SinkConfig, signal: AbortSignal): Promise<void> {
  const [database, table] = statements(sink);
  await connection.run(database, { signal });
  await connection.run(table, { signal, settings: creationSettings(configuredTypes(sink.mapping)) });
}

/** The columns of a mapping that a table does not have, with their configured types. */
export function missingColumns({ mapping }: SinkConfig, found: readonly ColumnInfo[]): ColumnInfo[] {
  const names = new Set(found.map(({ name }) => name));
  const types = configuredTypes(mapping);
  return mapping.flatMap(({ column_name: name }, index) =>
    names.has(name) ? [] : [{ name, type: types[index]!, default_kind: "" }],
  );
}

/** Adds columns to a table, unless another process has added them meanwhile. Throws a RequestError. */
export async function addColumns(
  connection: Connection,
  { database, name }: TableInfo,
  columns: readonly ColumnInfo[],
  signal: AbortSignal,
): Promise<void> {
  const added = columns.map((column) => `ADD COLUMN IF NOT EXISTS ${quoteName(column.name)} ${column.type}`);
  const settings = creationSettings(columns.map(({ type }) => type));
  await connection.run(`ALTER TABLE ${quoteTable(database, name)} ${added.join(", ")}`, { signal, settings });
}

/** The error for a table that does not exist, with the way to create it. */
export function missingTable(sink: SinkConfig): string {
  const name = `${sink.connection_params.database}.${sink.table}`;
  return `table ${name} does not exist, or this user may not see it; set x-sluice.create_table: true to have it created, or run ${statements(sink).join("; ")}`;
}

function statements({ connection_params: { database }, table, mapping }: SinkConfig): [string, string] {
  return [createDatabase(database), createTable(database, table, mapping)];
}

function createDatabase(database: string): string {
  return `CREATE DATABASE IF NOT EXISTS ${quoteName(database)}`;
}

/** The types of the columns that a mapping configures. */
export function configuredTypes(mapping: readonly Mapping[]): string[] {
  return mapping.map((entry) => columnTypeText(configuredType(entry)));
}

/** Sent when columns of these types are created, to allow types that ClickHouse refuses by default. */
export function creationSettings(types: readonly string[]): ClickHouseSettings {
  const has = (text: string): boolean => types.some((type) => type.includes(text));
  return {
    ...(has("LowCardinality(") ? { allow_suspicious_low_cardinality_types: 1 as const } : {}),
    // Servers without Nullable(Tuple(...)) do not know its setting either.
    ...(has("Nullable(Tuple(") ? { enable_nullable_tuple_type: 1 as const } : {}),
  };
}

/**
 * A table for the mapping that recognises repeated inserts and has each insert on disk before it is answered. Types
 * are printed from their parsed form, so a mapping cannot add a statement.
 */
function createTable(database: string, table: string, mapping: readonly Mapping[]): string {
  const types = configuredTypes(mapping);
  const columns = mapping.map((entry, index) => `${quoteName(entry.column_name)} ${types[index]}`);
  return (
    `CREATE TABLE IF NOT EXISTS ${quoteTable(database, table)} (${columns.join(", ")}) ENGINE = MergeTree ORDER BY tuple() ` +
    `SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}, fsync_after_insert = 1, fsync_part_directory = 1`
  );
}
