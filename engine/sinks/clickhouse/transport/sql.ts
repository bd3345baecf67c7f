import type { ClickHouseSettings } from "@clickhouse/client";
import type { Connection } from "./connection.ts";
import { RequestError } from "./request-error.ts";

/** Runs a SELECT without its FORMAT and resolves with its rows. Throws a RequestError. */
export type Select = (query: string) => Promise<Record<string, unknown>[]>;

/** Sent with each SELECT, so that no profile leaves rows out of an answer without an error. */
const selectSettings: ClickHouseSettings = {
  limit: "0",
  offset: "0",
  read_overflow_mode: "throw",
  result_overflow_mode: "throw",
  timeout_overflow_mode: "throw",
};

/** `settings`: what each query brings. */
export function selectOn(
  connection: Connection,
  signal: AbortSignal,
  settings: ClickHouseSettings = selectSettings,
): Select {
  return async (query) => {
    const text = await connection.run(`${query} FORMAT JSONEachRow`, { signal, settings });
    try {
      return rowsIn(text);
    } catch (error) {
      if (error instanceof RequestError) throw error;
      throw new RequestError({ from: "foreign", text: `expected rows of JSON, got ${text.length} characters` });
    }
  };
}

/** The most rows of an answer: columns of one table, or the tables that depend on it. */
const mostRows = 10_000;

function rowsIn(text: string): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at) === -1 ? text.length : text.indexOf("\n", at);
    if (rows.length === mostRows) {
      throw new RequestError({ from: "answer", text: `expected at most ${mostRows} rows, found more` });
    }
    if (end > at) rows.push(rowOf(text.slice(at, end)));
    at = end + 1;
  }
  return rows;
}

/** Throws an Error for anything but a JSON object. */
function rowOf(line: string): Record<string, unknown> {
  const row: unknown = JSON.parse(line);
  if (typeof row !== "object" || row === null || Array.isArray(row)) throw new Error("no object");
  return row as Record<string, unknown>;
}
