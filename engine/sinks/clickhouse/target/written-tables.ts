import { isReplicated, readWindowDefaults, whyNot, type Window, windowOf } from "./deduplication.ts";
import type { Select } from "../transport/sql.ts";
import { findTable, type TableInfo } from "./table.ts";

/** What an insert into a table reaches. */
export interface Reach {
  /** The table itself, first, with the views behind it at any depth and what they write to, as they were described. */
  seen: readonly TableInfo[];
  /** `database.view`, at any depth. */
  views: readonly string[];
  /** The smallest of all tables that are written. */
  window: Window;
  /** An insert makes one part for sure, and nothing hangs on the table: where it fails, nothing was written. */
  isOnePart: boolean;
  /** Why a repeated insert is not dropped everywhere, with the statement that mends it; undefined if it is. */
  atLeastOnce: string | undefined;
}

/** Tables that are looked at behind one table; a longer chain of views counts as unknown. */
const mostTables = 100;

/** Follows the materialized views behind a table (delivery, the insert: who can deduplicate). */
export async function writtenTablesOf(select: Select, start: TableInfo): Promise<Reach> {
  const defaults = await readWindowDefaults(select);
  const [written, views, unknown]: [TableInfo[], TableInfo[], string[]] = [[start], [], []];
  const names = new Set<string>();
  for (let at = 0; at < written.length && at < mostTables; at += 1) {
    for (const name of dependentsOf(written[at]!)) {
      if (names.has(nameOf(name))) continue;
      names.add(nameOf(name));
      const view = await findTable(select, name.database, name.name);
      const target = view && (await targetOf(select, view));
      if (view !== undefined) views.push(view);
      if (target === undefined) unknown.push(`the table behind the view ${nameOf(name)} cannot be seen`);
      else if (!written.some((known) => nameOf(known) === nameOf(target))) written.push(target);
    }
  }
  if (written.length > mostTables) unknown.push(`more than ${mostTables} tables hang on it`);
  const windows = written.map((table) => windowOf(table, defaults));
  const reasons = written
    .map((table, index) => whyNot(table, windows[index]!))
    .filter((reason) => reason !== undefined);
  return {
    seen: [...written, ...views],
    views: [...names],
    window: smallest(unknown.length === 0 ? windows : [{ entries: 0, seconds: Infinity }]),
    isOnePart:
      start.engine.endsWith("MergeTree") && !isReplicated(start) && start.partition_key === "" && names.size === 0,
    atLeastOnce: sentence(start, [...reasons, ...unknown]),
  };
}

function nameOf({ database, name }: { database: string; name: string }): string {
  return `${database}.${name}`;
}

function dependentsOf(table: TableInfo): { database: string; name: string }[] {
  return table.dependencies_table.map((name, index) => ({
    database: table.dependencies_database[index] ?? table.database,
    name,
  }));
}

function smallest(windows: readonly Window[]): Window {
  return {
    entries: Math.min(...windows.map(({ entries }) => entries)),
    seconds: Math.min(...windows.map(({ seconds }) => seconds)),
  };
}

function sentence(start: TableInfo, reasons: readonly string[]): string | undefined {
  if (reasons.length === 0) return undefined;
  return `${nameOf(start)} does not drop repeated inserts, so rows may be doubled after a failure: ${reasons.join("; ")}`;
}

const identifier = String.raw`(\w+|${"`"}(?:[^${"`"}\\]|\\.|${"``"})*${"`"})`;
const toTable = new RegExp(
  String.raw`^CREATE MATERIALIZED VIEW ${identifier}\.${identifier}(?: UUID '[^']*')? TO ${identifier}\.${identifier}`,
);

/** The table that a view writes to: the one behind TO, or its own inner table. */
async function targetOf(select: Select, view: TableInfo): Promise<TableInfo | undefined> {
  if (view.engine !== "MaterializedView") return undefined;
  const [, , , database, table] = toTable.exec(view.create_table_query) ?? [];
  if (database !== undefined && table !== undefined) return findTable(select, unquoted(database), unquoted(table));
  const inner = await findTable(select, view.database, `.inner_id.${view.uuid}`);
  return inner ?? findTable(select, view.database, `.inner.${view.name}`);
}

function unquoted(name: string): string {
  return name.startsWith("`")
    ? name.slice(1, -1).replace(/\\([\s\S])|``/g, (_, escaped?: string) => escaped ?? "`")
    : name;
}
