import type { Connection } from "./connection.ts";
import { TroubleError } from "./trouble.ts";

/** Runs a SELECT without its FORMAT and resolves with its rows. Throws a TroubleError. */
export type Select = (query: string) => Promise<Record<string, unknown>[]>;

export function selectOn(connection: Connection, signal: AbortSignal): Select {
  return async (query) => {
    const text = await connection.run(`${query} FORMAT JSONEachRow`, { signal });
    const lines = text.split("\n").filter((line) => line !== "");
    try {
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    } catch {
      throw new TroubleError({ from: "foreign", text: `expected rows of JSON, got ${text.slice(0, 200)}` });
    }
  };
}
