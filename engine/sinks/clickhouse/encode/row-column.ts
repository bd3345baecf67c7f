import type { Mapping, SchemaField } from "../../../../schemas/pipeline.ts";
import { fieldReader, type ReadField } from "../../../event/field-path.ts";
import { configuredType } from "../columns/column-grammar.ts";
import { bare, type ColumnType, columnTypeText } from "../columns/column-type.ts";
import { type Converter, converterFor, converterForAny } from "./converter.ts";
import { directWrite, type DirectWrite, noDirectWrite } from "./direct-write.ts";
import { canFeed } from "../columns/feeding.ts";
import { type ConstantBytes, constantOf } from "./row-body.ts";

/** An entry of a mapping, compiled. */
export interface Column {
  /** The text before the value in a line: `{"a":` or `,"b":`. */
  prefix: ConstantBytes;
  read: ReadField;
  /** Writes the usual values, as the converter would. */
  direct: DirectWrite;
  converter: Converter;
  /** For errors: `field "x" does not fit column "c" of type UInt8`. */
  subject: string;
}

/** `real` is the column type in the table, where it is known. Throws an Error where no value can be written. */
export function columnOf(
  entry: Mapping,
  index: number,
  schema: readonly SchemaField[],
  real: ColumnType | undefined,
): Column {
  const configured = configuredType(entry);
  const converter = convert(entry, schema, configured);
  const isSame = real === undefined || columnTypeText(bare(real)) === columnTypeText(bare(configured));
  return {
    prefix: constantOf(`${index === 0 ? "{" : ","}${JSON.stringify(entry.column_name)}:`),
    read: fieldReader(entry.name),
    direct: isSame ? directFor(entry, schema, configured) : noDirectWrite,
    converter:
      real === undefined
        ? converter
        : isSame
          ? convert(entry, schema, real)
          : both(converter, convert(entry, schema, real)),
    subject: `field "${entry.name}" does not fit column "${entry.column_name}" of type ${columnTypeText(real ?? configured)}`,
  };
}

/** The converter reads values without a declared type, by their JSON kind. */
function directFor(entry: Mapping, schema: readonly SchemaField[], column: ColumnType): DirectWrite {
  const field = schema.find(({ name }) => name === entry.name);
  return field === undefined ? noDirectWrite : directWrite(field.type, column);
}

function convert(entry: Mapping, schema: readonly SchemaField[], column: ColumnType): Converter {
  const field = schema.find((candidate) => candidate.name === entry.name);
  if (field !== undefined) {
    const feeds = canFeed(field.type, column);
    if (feeds === true) return converterFor(field.type, column);
    throw new Error(`mapping of field "${entry.name}" to column "${entry.column_name}": ${feeds}`);
  }
  if (schema.some(({ name, type }) => type === "map" && entry.name.startsWith(`${name}.`)))
    return converterForAny(column);
  throw new Error(
    `mapping of field "${entry.name}" to column "${entry.column_name}": the schema that feeds the sink has no such field`,
  );
}

/**
 * For a column whose type in the table differs from the configured one: a value must fit both, and is written for the
 * type in the table.
 */
function both(configured: Converter, real: Converter): Converter {
  const fits = (value: unknown): boolean =>
    value === null || value === undefined || configured.convert(value) !== undefined;
  return {
    convert: (value) => (fits(value) ? real.convert(value) : undefined),
    explain: (value) => (fits(value) ? real.explain(value) : configured.explain(value)),
  };
}
