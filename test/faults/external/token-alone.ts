import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { repairsOf } from "../../../engine/embedded-clickhouse/server/tokens/deduplication-logs.ts";
import { Parts } from "../../../engine/embedded-clickhouse/server/tokens/parts.ts";

/** Bytes at the end of a log in which an insert that is under way is found. */
const lookedAt = 2_048;

/** The folders of the tables that keep tokens, in the data folder of a server. */
export function tablesWithTokens(engine: string): string[] {
  const store = join(engine, "store");
  const tables = readdirSync(store).flatMap((group) =>
    readdirSync(join(store, group)).map((id) => join(store, group, id)),
  );
  return tables.filter((table) => existsSync(logsOf(table)));
}

/**
 * Whether a table holds the token of an insert without its rows. ClickHouse notes the token before it puts the part in
 * place: a server that ends between the two keeps it so. The server has to stand still meanwhile.
 */
export function holdsTokenAlone(table: string): boolean {
  const logs = readdirSync(logsOf(table)).map((name) => join(logsOf(table), name));
  // The list of parts is long: it is read only where the newest parts are not all there under their own names.
  const isClear = logs.every((log) => newest(log).every((part) => existsSync(join(table, part))));
  if (isClear) return false;
  const parts = new Parts(readdirSync(table));
  return logs.some((log) => repairsOf(endOf(log), new Set(), (part) => parts.hold(part)).tokens > 0);
}

function logsOf(table: string): string {
  return join(table, "deduplication_logs");
}

function newest(log: string): string[] {
  const lines = endOf(log).split("\n");
  return lines.flatMap((line) => /^1\t([^\t]+)\t/.exec(line)?.[1] ?? []);
}

/** The last lines of a log, from the beginning of one. */
function endOf(log: string): string {
  const file = openSync(log, "r");
  try {
    const { size } = fstatSync(file);
    const start = Math.max(0, size - lookedAt);
    const bytes = Buffer.alloc(size - start);
    readSync(file, bytes, 0, bytes.length, start);
    const text = bytes.toString("latin1");
    return start === 0 ? text : text.slice(text.indexOf("\n") + 1);
  } finally {
    closeSync(file);
  }
}
