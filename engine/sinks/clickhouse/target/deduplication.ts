import type { Reading } from "../../../core/sink.ts";
import { quoteTable, quoteText } from "../transport/quote.ts";
import type { Select } from "../transport/sql.ts";
import { numberIn, type Row, textIn } from "../transport/rows.ts";
import { deduplicationWindow } from "./statements.ts";
import type { TableInfo } from "./table.ts";
import { isUnreadable } from "../transport/request-error.ts";

/** The deduplication window: 0 entries where repeats are not recognised. */
export type Window = Reading["window"];

/** A window of fewer entries forgets a token too soon. */
const smallestWindow = 100;

/** The windows of tables without their own setting. */
export interface WindowDefaults {
  plain: Window;
  replicated: Window;
}

/** ClickHouse's own defaults, for settings that cannot be read. */
const builtIn: WindowDefaults = {
  plain: { entries: 0, seconds: Infinity },
  replicated: { entries: 10_000, seconds: 3600 },
};

const entriesSetting = {
  plain: "non_replicated_deduplication_window",
  replicated: "replicated_deduplication_window",
} as const;
const secondsSetting = "replicated_deduplication_window_seconds";

export async function readWindowDefaults(select: Select): Promise<WindowDefaults> {
  const names = [...Object.values(entriesSetting), secondsSetting];
  const plain = await readSettings(select, "merge_tree_settings", names, numberIn);
  const replicated = await readSettings(select, "replicated_merge_tree_settings", names, numberIn);
  return {
    plain: { ...builtIn.plain, entries: plain.get(entriesSetting.plain) ?? builtIn.plain.entries },
    replicated: {
      entries: replicated.get(entriesSetting.replicated) ?? builtIn.replicated.entries,
      seconds: replicated.get(secondsSetting) ?? builtIn.replicated.seconds,
    },
  };
}

/** The values of settings by their names, read by `valueIn`; none where the user may not see them. */
async function readSettings<Value>(
  select: Select,
  table: string,
  names: readonly string[],
  valueIn: (row: Row, field: string, question: string) => Value,
): Promise<Map<string, Value>> {
  try {
    const rows = await select(
      `SELECT name, value FROM system.${table} WHERE name IN (${names.map(quoteText).join(", ")})`,
    );
    const question = `system.${table}`;
    return new Map(rows.map((row) => [textIn(row, "name", question), valueIn(row, "value", question)]));
  } catch (error) {
    if (isUnreadable(error)) return new Map();
    throw error;
  }
}

/**
 * Why inserts into a table are not written when they are answered, with the statement that changes this; undefined where
 * they are. A table's own `async_insert` is ORed with that of an insert. Throws a RequestError.
 */
export async function whyAsynchronous(select: Select, table: TableInfo): Promise<string | undefined> {
  const name = "async_insert";
  const said = valuesOf(name, table);
  const value =
    said.find(isOn) ?? said[0] ?? (await readSettings(select, "merge_tree_settings", [name], textIn)).get(name);
  if (value === undefined || !isOn(value)) return undefined;
  const remedy = `ALTER TABLE ${quoteTable(table.database, table.name)} MODIFY SETTING async_insert = 0`;
  return `has the setting async_insert = ${value}, so an insert is collected with others whatever it asks for, and a repeat is not recognised by its token: run ${remedy}`;
}

/**
 * The values of a setting of a table. CREATE takes one that is given twice, the last of them counts, and a later ALTER
 * changes the first: so the most dangerous one is reckoned with.
 */
function valuesOf(setting: string, { engine_full }: TableInfo): string[] {
  return [...engine_full.matchAll(new RegExp(String.raw`\b${setting} = '?(\w+)`, "g"))].map(([, value = ""]) => value);
}

function isOn(value: string): boolean {
  return value !== "0" && value !== "false";
}

/** Whether the table counts its blocks per partition, in a store that it shares with other servers. */
export function isReplicated({ engine }: Pick<TableInfo, "engine">): boolean {
  return /^(Replicated|Shared)\w*MergeTree$/.test(engine);
}

/** The deduplication window of a table. */
export function windowOf(table: TableInfo, defaults: WindowDefaults): Window {
  if (!table.engine.endsWith("MergeTree")) return { entries: 0, seconds: Infinity };
  const said = (setting: string): number | undefined => {
    const values = valuesOf(setting, table).filter((value) => /^\d+$/.test(value));
    return values.length === 0 ? undefined : Math.min(...values.map(Number));
  };
  if (!isReplicated(table)) return { ...defaults.plain, entries: said(entriesSetting.plain) ?? defaults.plain.entries };
  return {
    entries: said(entriesSetting.replicated) ?? defaults.replicated.entries,
    seconds: said(secondsSetting) ?? defaults.replicated.seconds,
  };
}

/** Why a table does not reliably drop a repeated insert, with the statement that changes this; undefined if it does. */
export function whyNotDeduplicated(table: TableInfo, { entries }: Window): string | undefined {
  const name = `${table.database}.${table.name}`;
  if (!table.engine.endsWith("MergeTree"))
    return `${name} has the engine ${table.engine}, which cannot recognise a repeat`;
  if (entries >= smallestWindow) return undefined;
  const setting = entriesSetting[isReplicated(table) ? "replicated" : "plain"];
  const remedy = `ALTER TABLE ${quoteTable(table.database, table.name)} MODIFY SETTING ${setting} = ${deduplicationWindow}`;
  return `${name} remembers ${entries} inserts; run ${remedy} (identical inserts of other writers that send no token are then dropped as well)`;
}
