import type { ClickHouseSettings } from "@clickhouse/client";
import { quoteName, quoteTable } from "../transport/quote.ts";

/** Rows of the largest block that ClickHouse makes by default. */
const blockRows = "1048449";

/**
 * Sent with every insert, so that no profile overrides them (docs/delivery-protocol.md, One block, one token): one
 * block, deduplicated by its token, answered after it is written, nothing silently dropped or defaulted. Blocks are
 * limited by rows only: a limit in bytes counts memory in ClickHouse, which a client cannot know.
 */
const insertSettings: ClickHouseSettings = {
  insert_deduplicate: 1,
  async_insert: 0,
  wait_for_async_insert: 1,
  timeout_overflow_mode: "throw",
  read_overflow_mode: "throw",
  limit: "0",
  offset: "0",
  deduplicate_blocks_in_dependent_materialized_views: 1,
  input_format_null_as_default: 0,
  input_format_defaults_for_omitted_fields: 1,
  input_format_skip_unknown_fields: 1,
  input_format_allow_errors_num: "0",
  input_format_allow_errors_ratio: 0,
  max_insert_block_size: blockRows,
  min_insert_block_size_rows: blockRows,
  min_insert_block_size_bytes: "0",
  date_time_input_format: "best_effort",
};

/**
 * Sent where the server knows them: each decides over one of the others. `deduplicate_insert` decides whether tokens
 * count at all; with the other two a block is cut into several, by its bytes too.
 */
export const newerSettings: ClickHouseSettings = {
  deduplicate_insert: "enable",
  use_strict_insert_block_limits: 0,
  max_insert_block_size_bytes: "0",
};

/**
 * Sent only where a column has JSON or tuples, because an older server may not know these settings: a string that looks
 * like a date stays a string, and true among numbers stays true.
 */
const structuredSettings: ClickHouseSettings = {
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
  input_format_json_read_bools_as_numbers: 0,
  input_format_json_named_tuples_as_objects: 1,
};

/** The token by which the server recognises a repeated insert. */
export const tokenSetting = "insert_deduplication_token";

/** Sent where errors in materialized views are ignored. */
export const ignoringViews: ClickHouseSettings = { materialized_views_ignore_errors: 1 };

/** The settings that all inserts into a table share. */
export function commonSettings(isStructured: boolean): ClickHouseSettings {
  return { ...insertSettings, ...(isStructured ? structuredSettings : {}) };
}

export function insertStatement(database: string, table: string, columns: readonly string[]): string {
  return `INSERT INTO ${quoteTable(database, table)} (${columns.map(quoteName).join(", ")}) FORMAT JSONEachRow`;
}
