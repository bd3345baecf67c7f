import type { ClickHouseSettings } from "@clickhouse/client";
import { quoteName, quoteTable } from "../transport/sql.ts";

/** Rows of the largest block that ClickHouse makes by default. */
const blockRows = "1048449";

/**
 * Sent with every insert, so that no profile decides otherwise (delivery, the insert): one block, with a token that
 * counts, answered when it is written, nothing dropped or defaulted in silence. Blocks are counted in rows alone: in
 * bytes ClickHouse would count its own memory, which nobody here can know.
 */
const insertSettings: ClickHouseSettings = {
  insert_deduplicate: 1,
  async_insert: 0,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  input_format_null_as_default: 0,
  input_format_skip_unknown_fields: 1,
  input_format_allow_errors_num: "0",
  input_format_allow_errors_ratio: 0,
  max_insert_block_size: blockRows,
  min_insert_block_size_rows: blockRows,
  min_insert_block_size_bytes: "0",
  date_time_input_format: "best_effort",
};

/**
 * Sent too where a column holds JSON or tuples, and only there, as an older server may not know them: a text stays that
 * text, whatever date it looks like, and true beside numbers stays true.
 */
const structuredSettings: ClickHouseSettings = {
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
  input_format_json_read_bools_as_numbers: 0,
  input_format_json_named_tuples_as_objects: 1,
};

/** What makes an insert count once: by it the server recognises a repeat. */
export const tokenSetting = "insert_deduplication_token";

/** Sent where an error in a materialized view is no error. */
export const ignoringViews: ClickHouseSettings = { materialized_views_ignore_errors: 1 };

/** The settings of every insert, without what is its own. */
export function commonSettings(isStructured: boolean): ClickHouseSettings {
  return { ...insertSettings, ...(isStructured ? structuredSettings : {}) };
}

export function insertStatement(database: string, table: string, columns: readonly string[]): string {
  return `INSERT INTO ${quoteTable(database, table)} (${columns.map(quoteName).join(", ")}) FORMAT JSONEachRow`;
}
