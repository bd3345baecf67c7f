import type { FieldType } from "../../../../schemas/pipeline.ts";
import { isObject } from "../../../event/objects.ts";
import { bare, type ColumnType, columnTypeText, isNullable, type TupleType } from "../columns/column-type.ts";
import { type Alternative, variantConverter } from "./variant-converter.ts";
import { dynamicConverter, jsonConverter } from "./json-converter.ts";
import { isNegativeUnsigned, type Read, readers, readInnerBool, readText, shortened, type Value } from "./values.ts";
import { type ScalarType, writerOf } from "./scalar-writers.ts";

/** Converts the values of one field to JSON text for one column. Made once, called for each event. */
export interface Converter {
  /** JSON text without a line break, or undefined if the value does not fit. */
  convert: (value: unknown) => string | undefined;
  /** Why `convert` gave undefined for a value: `expected ..., got ...`. */
  explain: (value: unknown) => string;
}

/** The converter from a source type to a column type; the pair must have passed `canFeed`. */
export function converterFor(source: FieldType, column: ColumnType): Converter {
  return build(readers[source], column, isNullable(column));
}

/** The converter for a value without a declared type, such as an attribute within a map: its JSON kind decides. */
export function converterForAny(column: ColumnType): Converter {
  return within(column);
}

function build(read: Read, column: ColumnType, nullable: boolean): Converter {
  switch (column.kind) {
    case "Nullable":
    case "LowCardinality":
      return build(read, column.of, nullable);
    case "Variant":
      return variantConverter(read, columnTypeText(column), column.types.map(alternative));
    case "Dynamic":
      return dynamicConverter(read);
    case "Array":
      return arrayConverter(read, column.of);
    case "Map":
      return mapConverter(read, column);
    case "Tuple":
      return tupleOf(read, column, nullable ? "null" : undefined);
    case "JSON":
      return jsonConverter(
        new Map([...column.paths].map(([path, type]) => [path, typedPath(type)])),
        nullable ? "null" : "{}",
      );
    default:
      return scalarConverter(read, column, nullable);
  }
}

/** ClickHouse reads no null for a Dynamic path, but the writer leaves a path out that is null. */
function typedPath(column: ColumnType): Converter {
  const { convert, explain } = within(column);
  return column.kind === "Dynamic"
    ? { convert: (value) => (value === null ? "null" : convert(value)), explain }
    : { convert, explain };
}

function alternative(column: ColumnType): Alternative {
  return { type: bare(column), converter: within(column) };
}

/** The converter for a value within an object whose kind alone decides. */
function within(column: ColumnType): Converter {
  return elementOf(column, build(readerWithin(column, readText), column, isNullable(column)));
}

/**
 * A null within a value does not become a zero: it does not fit an inner type that is not Nullable. An absent value,
 * such as a key of a named tuple, counts as a missing field.
 */
function elementOf(column: ColumnType, { convert, explain }: Converter): Converter {
  if (isNullable(column)) return { convert, explain };
  return {
    convert: (value) => (value === null ? undefined : convert(value)),
    explain: (value) => (value === null && column.kind === "Tuple" ? noTuple(column) : explain(value)),
  };
}

function noTuple({ names, elements }: TupleType): string {
  return `expected ${names === undefined ? `an array of length ${elements.length}` : "an object"}, got null`;
}

function tupleOf(read: Read, { elements, names }: TupleType, empty: string | undefined): Converter {
  const converters = elements.map(within);
  if (names === undefined) return tupleConverter(read, converters, empty);
  const parts = converters.map((converter, at) => {
    const name = names[at] ?? "";
    return { name, key: `${JSON.stringify(name)}:`, converter, isDynamic: elements[at]?.kind === "Dynamic" };
  });
  return namedTupleConverter(read, parts, empty);
}

function scalarConverter(read: Read, column: ScalarType, nullable: boolean): Converter {
  const { write, expected, zero } = writerOf(column);
  const empty = nullable ? "null" : zero;
  return {
    convert: (value) => {
      if (value === null || value === undefined) return empty;
      const typed = read(value);
      return typed === undefined ? undefined : write(typed);
    },
    explain: (value) => {
      const what = isNegativeUnsigned(read, value)
        ? "a number from 0 on, as the field is of type uint"
        : typeof expected === "string"
          ? expected
          : expected(value);
      return `expected ${what}, got ${shortened(value)}`;
    },
  };
}

/** Null elements become NULL, where the element type is Nullable. */
function arrayConverter(read: Read, of: ColumnType): Converter {
  const isOfText = bare(of).kind === "String";
  const readElement = readerWithin(of, (value) => (typeof value === "string" ? value : undefined));
  const element = elementOf(of, build(readElement, of, isNullable(of)));
  return {
    convert: (value) => {
      if (value === null || value === undefined) return "[]";
      const elements = read(value);
      if (!Array.isArray(elements)) return undefined;
      const texts = elements.map((inner: unknown) => element.convert(inner ?? null));
      return texts.includes(undefined) ? undefined : `[${texts.join(",")}]`;
    },
    explain: (value) => {
      if (!Array.isArray(value)) return `expected an array, got ${shortened(value)}`;
      const at = value.findIndex((inner: unknown) => element.convert(inner ?? null) === undefined);
      const isNoText = isOfText && typeof value[at] !== "string";
      return `element ${at}: ${isNoText ? `expected text, got ${shortened(value[at])}` : element.explain(value[at])}`;
    },
  };
}

function mapConverter(read: Read, { key, value: of }: Extract<ColumnType, { kind: "Map" }>): Converter {
  const name = build(readerOfKey(key), key, false);
  const isText = ["String", "FixedString"].includes(bare(key).kind);
  const element = within(of);
  return {
    convert: (value) => {
      if (value === null || value === undefined) return "{}";
      const object = read(value);
      if (!isObject(object)) return undefined;
      const texts: string[] = [];
      const keys = new Set<string>();
      for (const inner of Object.keys(object)) {
        const [left, right] = [name.convert(inner), element.convert(object[inner])];
        if (left === undefined || right === undefined) return undefined;
        const spelled = left.startsWith('"') ? left : `"${left}"`;
        if (!isText && isTaken(keys, spelled)) return undefined;
        texts.push(`${spelled}:${right}`);
      }
      return `{${texts.join(",")}}`;
    },
    explain: (value) => {
      if (!isObject(value)) return `expected an object, got ${shortened(value)}`;
      const badKey = Object.keys(value).find((inner) => name.convert(inner) === undefined);
      if (badKey !== undefined) return `key: ${name.explain(badKey)}`;
      const keys = new Set<string | undefined>();
      const twice = isText ? undefined : Object.keys(value).find((inner) => isTaken(keys, name.convert(inner)));
      if (twice !== undefined)
        return `key: expected each key once, got ${shortened(twice)} beside another spelling of it`;
      const at = Object.keys(value).find((inner) => element.convert(value[inner]) === undefined) ?? "";
      return `key ${shortened(at)}: ${element.explain(value[at])}`;
    },
  };
}

/** Whether a key is in the set; adds it. */
function isTaken<Key>(keys: Set<Key>, key: Key): boolean {
  return keys.size === keys.add(key).size;
}

/** Reads a key, which is a text in JSON: digits are also the number of a member of an Enum, and seconds since 1970. */
function readerOfKey(column: ColumnType): Read {
  const key = bare(column);
  const read = readerWithin(key, readText);
  const isNumber = (text: string): boolean => {
    const isNamed = key.kind === "Enum" && key.members?.has(text) === true;
    return ["Enum", "DateTime", "DateTime64"].includes(key.kind) && !isNamed && /^-?\d{1,15}$/.test(text);
  };
  return (value) => read(typeof value === "string" && isNumber(value) ? Number(value) : value);
}

/** Reads a value within an array or a map by its target type. `asText` decides for strings. */
function readerWithin(column: ColumnType, asText: Read): Read {
  switch (column.kind) {
    case "Nullable":
    case "LowCardinality":
      return readerWithin(column.of, asText);
    case "Int":
    case "UInt":
      return readers.int;
    case "Float":
    case "BFloat16":
      return readers.float;
    case "Bool":
      return readInnerBool;
    case "Array":
      return readers.array;
    case "Map":
      return readers.map;
    case "Tuple":
      return column.names === undefined ? readers.array : readers.map;
    case "DateTime":
    case "DateTime64":
    case "Time":
    case "Time64":
    case "Decimal":
    case "Enum":
      return (value) => (["string", "number", "bigint"].includes(typeof value) ? (value as string) : undefined);
    case "String":
      return asText;
    case "Variant":
    case "Dynamic":
      return (value) => value as Value;
    default:
      return (value) => (typeof value === "string" ? value : undefined);
  }
}

/**
 * A tuple without names is made from an array of its length. Null becomes a tuple of the null values of its elements.
 */
function tupleConverter(read: Read, elements: readonly Converter[], empty: string | undefined): Converter {
  const isOfLength = (value: unknown): value is unknown[] => Array.isArray(value) && value.length === elements.length;
  const write = (values: readonly unknown[]): string | undefined => {
    const texts = elements.map((element, at) => element.convert(values[at]));
    return texts.includes(undefined) ? undefined : `[${texts.join(",")}]`;
  };
  return {
    convert: (value) => {
      if (value === null || value === undefined) return empty ?? write([]);
      const values = read(value);
      return isOfLength(values) ? write(values) : undefined;
    },
    explain: (value) => {
      const values: unknown = value ?? Array.from(elements, () => undefined);
      if (!isOfLength(values)) return `expected an array of length ${elements.length}, got ${shortened(value)}`;
      const at = elements.findIndex((element, index) => element.convert(values[index]) === undefined);
      return `element ${at}: ${elements[at]?.explain(values[at] ?? null)}`;
    },
  };
}

/** An element of a tuple with names; `key` with its colon. */
interface NamedElement {
  name: string;
  key: string;
  converter: Converter;
  /** ClickHouse stores NULL where the key is left out, and reads none. */
  isDynamic: boolean;
}

/**
 * A tuple with names is made from an object's own keys, whatever their names. An absent key counts as a missing field.
 * A key that the tuple does not name is left out, like a field without a mapping.
 */
function namedTupleConverter(read: Read, parts: readonly NamedElement[], empty: string | undefined): Converter {
  const isLeftOut = ({ name, isDynamic }: NamedElement, object: Record<string, unknown>): boolean =>
    isDynamic && (ownValue(object, name) ?? null) === null;
  const write = (object: Record<string, unknown>): string | undefined => {
    const texts: string[] = [];
    for (const part of parts) {
      if (isLeftOut(part, object)) continue;
      const text = part.converter.convert(ownValue(object, part.name));
      if (text === undefined) return undefined;
      texts.push(part.key + text);
    }
    return `{${texts.join(",")}}`;
  };
  return {
    convert: (value) => {
      if (value === null || value === undefined) return empty ?? write({});
      const object = read(value);
      return isObject(object) ? write(object) : undefined;
    },
    explain: (value) => {
      const object = value ?? {};
      if (!isObject(object)) return `expected an object, got ${shortened(value)}`;
      const bad = parts.find(
        (part) => !isLeftOut(part, object) && part.converter.convert(ownValue(object, part.name)) === undefined,
      );
      return `key ${shortened(bad?.name)}: ${bad?.converter.explain(ownValue(object, bad.name))}`;
    },
  };
}

function ownValue(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
