import type { Connection } from "./connection.ts";
import { RequestError } from "./request-error.ts";

/** A name in back-quotes, safe within any statement. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "``")}\``;
}

/** A text literal, safe within any statement. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

export function quoteTable(database: string, table: string): string {
  return `${quoteName(database)}.${quoteName(table)}`;
}

/** Runs a SELECT without its FORMAT and resolves with its rows. Throws a RequestError. */
export type Select = (query: string) => Promise<Record<string, unknown>[]>;

export function selectOn(connection: Connection, signal: AbortSignal): Select {
  return async (query) => {
    const text = await connection.run(`${query} FORMAT JSONEachRow`, { signal });
    const rows = text.split("\n").filter((line) => line !== "");
    try {
      return rows.map(rowOf);
    } catch {
      throw new RequestError({ from: "foreign", text: `expected rows of JSON, got ${text.slice(0, 200)}` });
    }
  };
}

/** Throws an Error for anything but a JSON object. */
function rowOf(line: string): Record<string, unknown> {
  const row: unknown = JSON.parse(line);
  if (typeof row !== "object" || row === null || Array.isArray(row)) throw new Error("no object");
  return row as Record<string, unknown>;
}
