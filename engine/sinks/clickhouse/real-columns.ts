import type { SinkConfig } from "../../../schemas/pipeline.ts";
import { isProblem, parseColumnType } from "./column-grammar.ts";
import type { ColumnType } from "./column-type.ts";
import { RowEncoders, type Schemas } from "./row-encoders.ts";
import type { ColumnInfo } from "./table.ts";

/** Encoders for the table as it is, or why rows cannot be written to it: completes "table d.t ...". */
export function encodersFor(
  { sink, schemas }: { sink: SinkConfig; schemas: Schemas },
  columns: readonly ColumnInfo[],
): RowEncoders | string {
  const writable = new Map(columns.filter(isWritable).map((column) => [column.name, column]));
  const mapped = sink.mapping.map((entry) => writable.get(entry.column_name));
  const missing = sink.mapping.filter((_, index) => mapped[index] === undefined);
  if (missing.length > 0) {
    const names = missing.map((entry) => `"${entry.column_name}"`).join(", ");
    return `has no column ${names} that can be written; add it to the table or take it out of the mapping`;
  }
  try {
    const types = mapped.filter((column) => column !== undefined).map(realType);
    const undefaulted = columns.filter(({ default_kind }) => default_kind === "").map(({ name }) => name);
    return new RowEncoders(sink.mapping, schemas, new Map(types), new Set(undefaulted));
  } catch (error) {
    return `cannot be written: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function isWritable(column: ColumnInfo): boolean {
  return column.default_kind !== "MATERIALIZED" && column.default_kind !== "ALIAS";
}

/** Throws an Error where rows cannot be written to a column of that type. */
function realType(column: ColumnInfo): [string, ColumnType] {
  const aggregated = /^SimpleAggregateFunction\(\w+, (.*)\)$/s.exec(column.type)?.[1];
  const parsed = parseColumnType(aggregated ?? column.type);
  if (isProblem(parsed))
    throw new Error(`column "${column.name}" has the type ${column.type}, which ${parsed.problem}`);
  return [column.name, parsed];
}
