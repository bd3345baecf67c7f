import { readWindowDefaults, whyNotDeduplicated, type Window, windowOf } from "./deduplication.ts";
import type { Select } from "../transport/sql.ts";
import { findTable, type TableInfo } from "./table.ts";

/** The tables that an insert writes: its own table, and others through materialized views. */
export interface WrittenTables {
  /** The descriptions of the table itself, first, and of its views at any depth and their targets. */
  tables: readonly TableInfo[];
  /** `database.view`, at any depth. */
  views: readonly string[];
  /** The smallest window of all tables that are written, and that of the table itself. */
  window: Window;
  own: Window;
  /** Why a repeated insert is not dropped everywhere, with the statement that changes this; undefined if it is. */
  atLeastOnce: string | undefined;
  /** Those that remember no insert at all, as a sentence; undefined where there is none. */
  forgetful: string | undefined;
}

/** The most tables that are checked for one table; further ones count as unknown. */
const mostTables = 100;

/** Follows the materialized views of a table (docs/delivery-protocol.md, Who can deduplicate). */
export async function writtenTablesOf(select: Select, start: TableInfo): Promise<WrittenTables> {
  const defaults = await readWindowDefaults(select);
  const [written, views, unknown]: [TableInfo[], TableInfo[], string[]] = [[start], [], []];
  const names = new Set<string>();
  for (let at = 0; at < written.length && at < mostTables; at += 1) {
    for (const name of dependentsOf(written[at]!)) {
      if (names.has(nameOf(name)) || names.size > mostTables) continue;
      names.add(nameOf(name));
      const view = await findTable(select, name.database, name.name);
      const target = view && (await targetOf(select, view));
      if (view !== undefined) views.push(view);
      if (target === undefined) unknown.push(`the target of the view ${nameOf(name)} cannot be read`);
      else if (!written.some((known) => nameOf(known) === nameOf(target))) written.push(target);
    }
  }
  if (written.length > mostTables || names.size > mostTables)
    unknown.push(`more than ${mostTables} tables depend on it`);
  const windows = written.map((table) => windowOf(table, defaults));
  const forgetting = written.filter((_, index) => windows[index]!.entries === 0).map(nameOf);
  const reasons = written
    .map((table, index) => whyNotDeduplicated(table, windows[index]!))
    .filter((reason) => reason !== undefined);
  return {
    tables: [...written, ...views],
    views: [...names],
    own: windows[0]!,
    window: smallest(unknown.length === 0 ? windows : [{ entries: 0, seconds: Infinity }]),
    atLeastOnce: sentence(start, [...reasons, ...unknown]),
    forgetful: forgetting.length === 0 ? undefined : `${forgetting.join(", ")} remembers no insert`,
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

/** The table that a view writes to: the one after TO, or its own inner table. */
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
