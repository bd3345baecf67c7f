import type { EngineOptions, FieldType, Mapping, SchemaField } from "../../../../schemas/pipeline.ts";
import type { FedField } from "../../../core/transform.ts";
import { fieldReader, type ReadField } from "../../../event/field-path.ts";
import { configuredType } from "../columns/column-grammar.ts";
import { bare, type ColumnType, columnTypeText, isNullable } from "../columns/column-type.ts";
import { type Converter, converterFor, converterForAny } from "./converter.ts";
import { directWrite, type DirectWrite, noDirectWrite } from "./direct-write.ts";
import { canFeed } from "../columns/feeding.ts";
import { type ConstantBytes, constantOf } from "./row-body.ts";

/** A column as the table has it. */
export interface RealColumn {
  type: ColumnType;
  /** Whether it has a DEFAULT; undefined where that is not known. */
  hasDefault?: boolean;
}

/** What a column that is not Nullable stores for null; undefined: its DEFAULT (`x-sluice.null`). */
export type NullRule = EngineOptions["null"];

/** An entry of a mapping, compiled. */
export interface Column {
  /** The text before the value in a line, `{"a":` for the first value of a row, else `,"a":`. */
  first: ConstantBytes;
  next: ConstantBytes;
  read: ReadField;
  /** As `read`, but null where that gives a zero for it. */
  given: ReadField;
  /** The converter writes null, or the row goes without the column, or it is refused: always, or where no value was recorded. */
  whenNull: "converted" | "omitted" | "refused" | Required<FedField>["isUnrecorded"];
  /** It gets a zero value for null, which its field may be. */
  mayBeZeroed: boolean;
  /** Writes the usual values, as the converter would. */
  direct: DirectWrite;
  converter: Converter;
  /** It stores no number with other digits than those of the event, as a column of floats does. */
  needsDigits: boolean;
  /** For errors: `field "x" does not fit column "c" of type UInt8`. */
  subject: string;
}

/** `known` is the column in the table, where it is known. Throws an Error where no value can be written. */
export function columnOf(
  entry: Mapping,
  schema: readonly FedField[],
  known: RealColumn | undefined,
  rule: NullRule,
): Column {
  const configured = configuredType(entry);
  const real = known?.type;
  const converter = convert(entry, schema, configured);
  const isSame = real === undefined || columnTypeText(bare(real)) === columnTypeText(bare(configured));
  return {
    first: constantOf(`{${JSON.stringify(entry.column_name)}:`),
    next: constantOf(`,${JSON.stringify(entry.column_name)}:`),
    ...readerOf(entry, schema, { configured, type: configured, ...known }, rule),
    direct: isSame ? directFor(entry, schema, configured) : noDirectWrite,
    converter:
      real === undefined
        ? converter
        : isSame
          ? convert(entry, schema, real)
          : both(converter, convert(entry, schema, real)),
    // Of a number for a bool, it counts whether it is 0.
    needsDigits: schema.find(({ name }) => name === entry.name)?.type !== "bool" && needsDigits(real ?? configured),
    subject: `field "${entry.name}" does not fit column "${entry.column_name}" of type ${columnTypeText(real ?? configured)}`,
  };
}

function needsDigits(type: ColumnType): boolean {
  switch (type.kind) {
    case "Nullable":
    case "LowCardinality":
    case "Array":
      return needsDigits(type.of);
    case "Map":
      return needsDigits(type.value);
    case "Tuple":
      return type.elements.some(needsDigits);
    case "Variant":
      return type.types.some(needsDigits) && !type.types.some(({ kind }) => kind === "Float");
    default:
      return ["Int", "UInt", "Decimal", "Enum", "String"].includes(type.kind);
  }
}

/** The zero values of fields. Null in a field of another type becomes that of its column. */
const zeros: ReadonlyMap<FieldType, unknown> = new Map<FieldType, unknown>([
  ["string", ""],
  ["bool", false],
  ["int", 0],
  ["uint", 0],
  ["float", 0],
]);

/**
 * What becomes of null and of a missing field. Where a column can store neither NULL nor its DEFAULT, a field that need
 * not have a value has the zero of its own type, which the column may refuse: an empty text is no date.
 */
function readerOf(
  entry: Mapping,
  schema: readonly FedField[],
  { type, hasDefault, configured }: RealColumn & { configured: ColumnType },
  rule: NullRule,
): Pick<Column, "read" | "given" | "whenNull" | "mayBeZeroed"> {
  const given = fieldReader(entry.name);
  const asGiven = { read: given, given, mayBeZeroed: false };
  if (isNullable(type)) return { ...asGiven, whenNull: "converted" };
  // ClickHouse stores NULL where the row lacks the column, and reads none.
  if (type.kind === "Dynamic") return { ...asGiven, whenNull: "omitted" };
  if (rule === "reject") return { ...asGiven, whenNull: "refused" };
  if (rule === undefined && hasDefault === true) return { ...asGiven, whenNull: "omitted" };
  const field = schema.find(({ name }) => name === entry.name);
  const isOptional = field?.required === false;
  const zero = isOptional ? zeros.get(field.type) : undefined;
  return {
    read: zero === undefined ? given : (record) => given(record) ?? zero,
    given,
    // The receiver leaves such points out, unless the file says that the column is Nullable.
    whenNull: (isNullable(configured) ? field?.isUnrecorded : undefined) ?? "converted",
    mayBeZeroed: rule === undefined && (field?.mayBeNull ?? isOptional),
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
