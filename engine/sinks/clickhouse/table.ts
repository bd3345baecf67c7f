import type { ClickHouseSettings } from "@clickhouse/client";
import type { Mapping } from "../../../schemas/pipeline.ts";
import { columnTypeText } from "./column-type.ts";
import { configuredType } from "./row-encoder.ts";
import { quoteName, quoteTable, quoteText } from "./sql.ts";

/** Runs a SELECT without its FORMAT and resolves with its rows. Throws a TroubleError. */
export type Select = (query: string) => Promise<Record<string, unknown>[]>;

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

/** The table, or undefined where there is none that this user may see. */
export async function findTable(select: Select, database: string, table: string): Promise<TableInfo | undefined> {
  const rows = await select(
    `SELECT database, name, toString(uuid) AS uuid, engine, engine_full, partition_key, create_table_query, dependencies_database, dependencies_table FROM system.tables WHERE database = ${quoteText(database)} AND name = ${quoteText(table)}`,
  );
  return rows[0] as TableInfo | undefined;
}

export async function findColumns(select: Select, database: string, table: string): Promise<ColumnInfo[]> {
  const rows = await select(
    `SELECT name, type, default_kind FROM system.columns WHERE database = ${quoteText(database)} AND table = ${quoteText(table)}`,
  );
  return rows as unknown as ColumnInfo[];
}

/** How many inserts back a table that Sluice creates recognises a repeat. */
export const deduplicationWindow = 10_000;

export function createDatabase(database: string): string {
  return `CREATE DATABASE IF NOT EXISTS ${quoteName(database)}`;
}

/** A type that the mapping spells out is meant, also where ClickHouse would advise against it. */
export function creationSettings(mapping: readonly Mapping[]): ClickHouseSettings {
  const types = mapping.map((entry) => columnTypeText(configuredType(entry)));
  const hasNullableTuple = types.some((type) => type.includes("Nullable(Tuple("));
  // Servers that know no Nullable(Tuple(...)) do not know its setting either.
  return { allow_suspicious_low_cardinality_types: 1, ...(hasNullableTuple ? { enable_nullable_tuple_type: 1 } : {}) };
}

/**
 * A table for the mapping that recognises repeated inserts and has each insert on disk before it is answered. Types
 * are printed from their parsed form, so a mapping cannot smuggle a statement in.
 */
export function createTable(database: string, table: string, mapping: readonly Mapping[]): string {
  const columns = mapping.map((entry) => `${quoteName(entry.column_name)} ${columnTypeText(configuredType(entry))}`);
  return (
    `CREATE TABLE IF NOT EXISTS ${quoteTable(database, table)} (${columns.join(", ")}) ENGINE = MergeTree ORDER BY tuple() ` +
    `SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}, fsync_after_insert = 1, fsync_part_directory = 1`
  );
}
