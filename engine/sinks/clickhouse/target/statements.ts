import type { Mapping, SinkConfig } from "../../../../schemas/pipeline.ts";
import { configuredType } from "../columns/column-grammar.ts";
import { columnTypeText } from "../columns/column-type.ts";
import { quoteName, quoteTable } from "../transport/quote.ts";

/** The deduplication window, in inserts, of tables that Sluice creates; also the advice for other tables. */
export const deduplicationWindow = 10_000;

/** The statements that create the table of a sink where it is missing: of its database, and of the table. */
export function creating({ connection_params: { database }, table, mapping }: SinkConfig): [string, string] {
  return [`CREATE DATABASE IF NOT EXISTS ${quoteName(database)}`, createTable(database, table, mapping)];
}

/** The statement that adds columns to a table, where it lacks them. */
export function addingColumns(
  database: string,
  table: string,
  columns: readonly { name: string; type: string }[],
): string {
  const added = columns.map(({ name, type }) => `ADD COLUMN IF NOT EXISTS ${quoteName(name)} ${type}`);
  return `ALTER TABLE ${quoteTable(database, table)} ${added.join(", ")}`;
}

/** The types of the columns that a mapping configures. */
export function configuredTypes(mapping: readonly Mapping[]): string[] {
  return mapping.map((entry) => columnTypeText(configuredType(entry)));
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
