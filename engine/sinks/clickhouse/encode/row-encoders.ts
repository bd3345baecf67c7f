import type { Mapping, SinkConfig } from "../../../../schemas/pipeline.ts";
import type { FedField } from "../../../core/transform.ts";
import type { NullRule, RealColumn } from "./row-column.ts";
import { RowEncoder, type RealColumns } from "./row-encoder.ts";
import { isProblem, parseColumnType } from "../columns/column-grammar.ts";
import { type ColumnInfo, flattened } from "../target/table.ts";

/**
 * The fields that feed a sink, by the origin of events; the key `undefined` is for all other origins. The value is
 * undefined for a removed source.
 */
export type Schemas = ReadonlyMap<string | undefined, readonly FedField[] | undefined>;

/** The encoders of one mapping, one for the fields of each source of a pipeline. */
export class RowEncoders {
  readonly #encoders: ReadonlyMap<string | undefined, RowEncoder | undefined>;
  readonly #first: RowEncoder;

  /** Throws an Error that names the field and column where the mapping cannot be written, or nothing feeds it. */
  constructor(mapping: readonly Mapping[], schemas: Schemas, rule: NullRule, real?: RealColumns) {
    const made = new Map<readonly FedField[], RowEncoder>();
    for (const schema of schemas.values()) {
      if (schema !== undefined && !made.has(schema)) {
        made.set(schema, new RowEncoder(mapping, schema, real, rule));
      }
    }
    this.#encoders = new Map(Array.from(schemas, ([origin, schema]) => [origin, schema && made.get(schema)]));
    const [first] = made.values();
    if (first === undefined) throw new Error("expected fields that feed the sink, found none");
    this.#first = first;
  }

  /** For events of an origin; undefined for those of a source that was removed. */
  of(origin: string | undefined): RowEncoder | undefined {
    return this.#encoders.get(this.#encoders.has(origin) ? origin : undefined);
  }

  /** See `RowEncoder.samples`: of the fields of any source. */
  samples(): string[] | undefined {
    const found = [...new Set(this.#encoders.values())].flatMap((encoder) => encoder?.samples() ?? []);
    return found.length === 0 ? undefined : found;
  }

  /** The columns that get a zero value for null, of fields of any source that may be null. */
  get zeroed(): string[] {
    return [...new Set([...this.#encoders.values()].flatMap((encoder) => encoder?.zeroed ?? []))];
  }

  get columnNames(): readonly string[] {
    return this.#first.columnNames;
  }

  get isStructured(): boolean {
    return this.#first.isStructured;
  }
}

/** Encoders for the table as it is, or why rows cannot be written to it: completes "table d.t ...". */
export function encodersFor(
  { sink, schemas, options }: { sink: SinkConfig; schemas: Schemas; options: { null?: NullRule } },
  columns: readonly ColumnInfo[],
): RowEncoders | string {
  const writable = new Map(columns.filter(isWritable).map((column) => [column.name, column]));
  const computed = columns.find(
    (one) => !isWritable(one) && sink.mapping.some((entry) => entry.column_name === one.name),
  );
  if (computed !== undefined) {
    return `computes the column "${computed.name}" itself, as it is ${computed.default_kind}, so that it cannot be written; remove it from the mapping, or give the table an ordinary column`;
  }
  const mapped = sink.mapping.map((entry) => writable.get(entry.column_name));
  const missing = sink.mapping.filter((_, index) => mapped[index] === undefined);
  for (const { column_name: name } of missing) {
    const parts = flattened(columns, name);
    if (parts.length > 0)
      return `has no column "${name}", but ${parts.map((part) => `"${part.name}"`).join(", ")}, which ClickHouse makes of a Nested column; map a field to each of them as an Array, or make the table with flatten_nested = 0`;
  }
  if (missing.length > 0) {
    const names = missing.map((entry) => `"${entry.column_name}"`).join(", ");
    return `has no column ${names} that can be written; set x-sluice.alter_table: true to have it added, add it to the table, or remove it from the mapping`;
  }
  try {
    const real = mapped.filter((column) => column !== undefined).map(realColumn);
    return new RowEncoders(sink.mapping, schemas, options.null, new Map(real));
  } catch (error) {
    return `cannot be written: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function isWritable(column: ColumnInfo): boolean {
  return column.default_kind !== "MATERIALIZED" && column.default_kind !== "ALIAS";
}

/** Throws an Error where rows cannot be written to a column of that type. */
function realColumn(column: ColumnInfo): [string, RealColumn] {
  const aggregated = /^SimpleAggregateFunction\(\w+, (.*)\)$/s.exec(column.type)?.[1];
  const parsed = parseColumnType(aggregated ?? column.type);
  if (isProblem(parsed))
    throw new Error(`column "${column.name}" has the type ${column.type}, which ${parsed.problem}`);
  const known = ["", "DEFAULT"].includes(column.default_kind) ? { hasDefault: column.default_kind !== "" } : {};
  return [column.name, { type: parsed, ...known }];
}
