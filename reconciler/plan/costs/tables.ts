import { isDeepStrictEqual } from "node:util";
import { addingColumns, configuredTypes, creating } from "../../../engine/language.ts";
import type { SinkConfig } from "../../../schemas/index.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { doesSomething } from "../change.ts";
import type { Change } from "../change.ts";
import type { TableNeed, Target } from "../cost.ts";

/** The tables and columns that a change needs, as far as the files say: what a server has is not asked. */
export function tablesOf(change: Change, present?: ActualPipeline, desired?: DesiredPipeline): TableNeed[] {
  if (desired === undefined || !doesSomething(change)) return [];
  const { config, options } = desired;
  const { sink } = config;
  if (present === undefined || !isSameTarget(present.config.sink, sink)) {
    return [{ ...targetOf(sink), by: options.create_table ? "sluice" : "person", statements: creating(sink) }];
  }
  return [
    ...newColumns(present.config.sink, sink, options.alter_table === true),
    ...otherTypes(present.config.sink, sink),
  ];
}

function isSameTarget(before: SinkConfig, after: SinkConfig): boolean {
  return isDeepStrictEqual(targetOf(before), targetOf(after));
}

/** What a reader tells the table of a sink by. */
export function targetOf({ connection_params: { host, database }, table }: SinkConfig): Target {
  return { host, database, table };
}

function newColumns(before: SinkConfig, after: SinkConfig, isAltered: boolean): TableNeed[] {
  const known = typesOf(before);
  const added = [...typesOf(after)].flatMap(([name, type]) => (known.has(name) ? [] : [{ name, type }]));
  if (added.length === 0) return [];
  const target = targetOf(after);
  const statements = [addingColumns(target.database, target.table, added)];
  return [{ ...target, columns: added, by: isAltered ? "sluice" : "person", statements }];
}

/** Sluice alters no type: a table that has another one needs a person. */
function otherTypes(before: SinkConfig, after: SinkConfig): TableNeed[] {
  const known = typesOf(before);
  const columns = [...typesOf(after)].flatMap(([name, type]) => {
    const old = known.get(name);
    return old === undefined || old === type ? [] : [{ name, type }];
  });
  return columns.length === 0 ? [] : [{ ...targetOf(after), columns, by: "person", statements: [] }];
}

function typesOf({ mapping }: SinkConfig): Map<string, string> {
  const types = configuredTypes(mapping);
  return new Map(mapping.map(({ column_name }, index) => [column_name, types[index] ?? ""]));
}
