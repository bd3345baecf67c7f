import { parseExactly } from "../../engine/language.ts";
import type { Row } from "./outcome.ts";

/** More rows are not compared. */
const mostRows = 10_000;

const settings = [
  "output_format_json_quote_64bit_integers = 0",
  "output_format_json_quote_64bit_floats = 0",
  "output_format_json_quote_decimals = 0",
  "output_format_json_quote_denormals = 1",
  "asterisk_include_materialized_columns = 1",
  "asterisk_include_alias_columns = 1",
  // The time zone of the machine decides nothing.
  "session_timezone = 'UTC'",
].join(", ");

/** The rows of a table, and whether they are in the order of their inserts. */
export interface TableRows {
  rows: Row[];
  isOrdered: boolean;
}

/** The result of a query, as `format` prints it, with the names of one database. */
export type Sql = (query: string, format: string) => Promise<string>;

/** Reads a table of the database of `sql`. Throws an Error for more rows than are compared, and what `sql` throws. */
export async function readTable(sql: Sql, database: string, table: string): Promise<TableRows> {
  const named = `name = '${table.replaceAll(/[\\']/g, "\\$&")}'`;
  const kinds = await sql(`SELECT engine FROM system.tables WHERE database = '${database}' AND ${named}`, "TSV");
  const isOrdered = kinds.trim().endsWith("MergeTree");
  const places = isOrdered ? ", _part AS `_part`, _part_offset AS `_part_offset`" : "";
  const from = `\`${table.replaceAll(/[\\`]/g, "\\$&")}\``;
  const query = `SELECT *${places} FROM ${from} LIMIT ${mostRows + 1} SETTINGS ${settings}`;
  const text = await sql(query, "JSONEachRow");
  const found = text
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [parseExactly(line) as Record<string, unknown>]));
  if (found.length > mostRows) throw new Error(`expected at most ${mostRows} rows in table ${table}, found more`);
  return { rows: isOrdered ? inOrder(found) : found, isOrdered };
}

/** By the block that each insert makes, and by the place in it. Merges are off. */
function inOrder(found: readonly Record<string, unknown>[]): Row[] {
  return found
    .map(({ _part: part, _part_offset: offset, ...row }) => ({
      block: blockOf(String(part)),
      offset: Number(offset),
      row,
    }))
    .toSorted((a, b) => a.block - b.block || a.offset - b.offset)
    .map(({ row }) => row);
}

/** The number in the name of a part, such as 3 in `202601_3_3_0`. */
function blockOf(part: string): number {
  return Number(part.split("_").at(-3));
}
