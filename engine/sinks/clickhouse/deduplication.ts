import { quoteTable } from "./sql.ts";
import { deduplicationWindow, findTable } from "./table.ts";
import type { Select, TableInfo } from "./table.ts";

/** What an insert reaches behind its table, and whether all of it can drop a repeat. */
export interface Reach {
  /** `database.view`, at any depth. */
  views: string[];
  /** Why a repeated insert is not dropped everywhere, with the statement that mends it; undefined if it is. */
  atLeastOnce: string | undefined;
}

/** Fewer entries than this are forgotten too soon to count on. */
const smallestWindow = 100;

/** Tables that are looked at behind one table; a longer chain of views counts as unknown. */
const mostTables = 100;

/** Follows the materialized views behind a table (delivery, the insert: who can deduplicate). */
export async function reachOf(select: Select, start: TableInfo): Promise<Reach> {
  const serverDefault = await defaultWindow(select);
  const [tables, views, reasons]: [TableInfo[], string[], string[]] = [[start], [], []];
  for (let at = 0; at < tables.length && at < mostTables; at++) {
    const table = tables[at] as TableInfo;
    reasons.push(...whyNot(table, serverDefault));
    for (const [index, name] of table.dependencies_table.entries()) {
      const view = { database: table.dependencies_database[index] ?? table.database, name };
      if (views.includes(`${view.database}.${name}`)) continue;
      views.push(`${view.database}.${name}`);
      const target = await targetOf(select, view);
      if (target === undefined) reasons.push(`the table behind the view ${view.database}.${name} cannot be seen`);
      else if (!tables.some((known) => known.database === target.database && known.name === target.name))
        tables.push(target);
    }
  }
  if (tables.length > mostTables) reasons.push(`more than ${mostTables} tables hang on it`);
  return { views, atLeastOnce: reasons.length === 0 ? undefined : sentence(start, reasons) };
}

function sentence(start: TableInfo, reasons: readonly string[]): string {
  return `${start.database}.${start.name} does not drop repeated inserts, so rows may be doubled after a failure: ${reasons.join("; ")}`;
}

function whyNot(table: TableInfo, serverDefault: number): string[] {
  const name = `${table.database}.${table.name}`;
  if (!table.engine.endsWith("MergeTree"))
    return [`${name} has the engine ${table.engine}, which cannot recognise a repeat`];
  const isReplicated = /^(Replicated|Shared)/.test(table.engine);
  const setting = isReplicated ? "replicated_deduplication_window" : "non_replicated_deduplication_window";
  const said = new RegExp(String.raw`\b${setting} = '?(\d+)`).exec(table.engine_full)?.[1];
  const window = said === undefined ? (isReplicated ? deduplicationWindow : serverDefault) : Number(said);
  if (window >= smallestWindow) return [];
  const mend = `ALTER TABLE ${quoteTable(table.database, table.name)} MODIFY SETTING ${setting} = ${deduplicationWindow}`;
  return [
    `${name} remembers ${window} inserts; run ${mend} (identical inserts of other writers that send no token are then dropped as well)`,
  ];
}

/** The server's default, where a table says nothing; 0 where it cannot be read. */
async function defaultWindow(select: Select): Promise<number> {
  const query = "SELECT value FROM system.merge_tree_settings WHERE name = 'non_replicated_deduplication_window'";
  const rows = await select(query).catch(() => []);
  return Number(rows[0]?.["value"] ?? 0);
}

const identifier = String.raw`(\w+|${"`"}(?:[^${"`"}\\]|\\.|${"``"})*${"`"})`;
const toTable = new RegExp(
  String.raw`^CREATE MATERIALIZED VIEW ${identifier}\.${identifier}(?: UUID '[^']*')? TO ${identifier}\.${identifier}`,
);

/** The table that a view writes to: the one behind TO, or its own inner table. */
async function targetOf(select: Select, view: { database: string; name: string }): Promise<TableInfo | undefined> {
  const info = await findTable(select, view.database, view.name);
  if (info === undefined || info.engine !== "MaterializedView") return undefined;
  const [, , , database, table] = toTable.exec(info.create_table_query) ?? [];
  if (database !== undefined && table !== undefined) return findTable(select, unquoted(database), unquoted(table));
  const inner = await findTable(select, view.database, `.inner_id.${info.uuid}`);
  return inner ?? findTable(select, view.database, `.inner.${view.name}`);
}

function unquoted(name: string): string {
  return name.startsWith("`")
    ? name.slice(1, -1).replace(/\\([\s\S])|``/g, (_, escaped?: string) => escaped ?? "`")
    : name;
}
