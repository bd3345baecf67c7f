/**
 * The column types that a mapping may name and the sink can write. `parseColumnType` reads ClickHouse's own spelling, so
 * it also reads `system.columns`.
 */
export type ColumnType =
  | { kind: "Bool" | "String" | "UUID" | "Date" | "Date32" | "IPv4" | "IPv6" }
  | { kind: "Int" | "UInt"; bits: 8 | 16 | 32 | 64 | 128 | 256 }
  | { kind: "Float"; bits: 32 | 64 }
  | { kind: "BFloat16" }
  | { kind: "Time" }
  /** `most`: how many types it tells apart, where that is given. */
  | { kind: "Dynamic"; most?: number }
  /** `precision` in digits of a fraction of the second, 0..9. */
  | { kind: "Time64"; precision: number }
  | VariantType
  /** Bytes; absent for a plain `FixedString` in the mapping: the table then decides. */
  | { kind: "FixedString"; length?: number }
  /** `members` is absent for a plain `Enum8` in the mapping: the table then decides. */
  | { kind: "Enum"; bits: 8 | 16; members?: ReadonlyMap<string, number> }
  | { kind: "DateTime"; zone?: string }
  /** `precision` in digits of a fraction of the second, 0..9. */
  | { kind: "DateTime64"; precision: number; zone?: string }
  /** `precision` in digits, 1..76; `scale` of them after the point. */
  | { kind: "Decimal"; precision: number; scale: number }
  | ArrayType
  | { kind: "Nullable" | "LowCardinality"; of: ColumnType }
  | { kind: "Map"; key: ColumnType; value: ColumnType }
  | TupleType
  | JsonType;

/** `alias`: how ClickHouse calls it, as `Ring`. */
export interface ArrayType {
  kind: "Array";
  of: ColumnType;
  alias?: string;
}

/** Of one of its types, or NULL; in the order of their texts, as ClickHouse prints them. `alias`: `Geometry`. */
export interface VariantType {
  kind: "Variant";
  types: readonly ColumnType[];
  alias?: string;
}

/** At least one element; `names` has as many entries as `elements`, or is absent. */
export interface TupleType {
  kind: "Tuple";
  elements: readonly ColumnType[];
  names?: readonly string[];
  /** How ClickHouse calls it: `Point`. */
  alias?: string;
}

export interface JsonType {
  kind: "JSON";
  /** `max_dynamic_paths` and `max_dynamic_types`, where they are given. */
  limits: Map<string, number>;
  /** The types of typed paths; the names of a path are joined with dots. */
  paths: Map<string, ColumnType>;
  /** Skipped paths: one path, or those that match a pattern, which is kept quoted, as it was written. */
  skips: ({ path: string } | { pattern: string })[];
}

/** Why a text is not a column type that can be written: completes "column_type <text> ...". */
export interface ColumnTypeProblem {
  problem: string;
}

/** The type within `Nullable` and `LowCardinality`, which change how a value is stored, but not its kind. */
export function bare(type: ColumnType): ColumnType {
  return type.kind === "Nullable" || type.kind === "LowCardinality" ? bare(type.of) : type;
}

/** Whether a null is written to the column as NULL: `Nullable(T)`, `LowCardinality(Nullable(T))` or a Variant. */
export function isNullable(type: ColumnType): boolean {
  return type.kind === "Variant" || type.kind === "Nullable" || (type.kind === "LowCardinality" && isNullable(type.of));
}

/** Whether the type contains JSON, a tuple, or what ClickHouse infers from a value, which ClickHouse reads by settings. */
export function isStructured(type: ColumnType): boolean {
  switch (type.kind) {
    case "JSON":
    case "Tuple":
    case "Variant":
    case "Dynamic":
      return true;
    case "Array":
    case "Nullable":
    case "LowCardinality":
      return isStructured(type.of);
    case "Map":
      return isStructured(type.value);
    default:
      return false;
  }
}

/** The type in ClickHouse's spelling. It is printed from the parsed form, so it is safe in a statement. */
export function columnTypeText(type: ColumnType): string {
  switch (type.kind) {
    case "Int":
    case "UInt":
    case "Float":
      return `${type.kind}${type.bits}`;
    case "FixedString":
      return type.length === undefined ? "FixedString" : `FixedString(${type.length})`;
    case "Enum":
      return type.members === undefined ? `Enum${type.bits}` : `Enum${type.bits}(${membersText(type.members)})`;
    case "DateTime":
      return type.zone === undefined ? "DateTime" : `DateTime('${type.zone}')`;
    case "DateTime64":
      return `DateTime64(${type.precision}${type.zone === undefined ? "" : `, '${type.zone}'`})`;
    case "Decimal":
      return `Decimal(${type.precision}, ${type.scale})`;
    case "Time64":
      return `Time64(${type.precision})`;
    case "Dynamic":
      return type.most === undefined ? "Dynamic" : `Dynamic(max_types=${type.most})`;
    case "Variant":
      return type.alias ?? `Variant(${type.types.map(columnTypeText).join(", ")})`;
    case "Array":
      return type.alias ?? `Array(${columnTypeText(type.of)})`;
    case "Nullable":
    case "LowCardinality":
      return `${type.kind}(${columnTypeText(type.of)})`;
    case "Map":
      return `Map(${columnTypeText(type.key)}, ${columnTypeText(type.value)})`;
    case "Tuple":
      return (
        type.alias ?? `Tuple(${type.elements.map((of, at) => named(type.names?.[at], columnTypeText(of))).join(", ")})`
      );
    case "JSON":
      return jsonText(type);
    default:
      return type.kind;
  }
}

function named(name: string | undefined, type: string): string {
  return name === undefined ? type : `${nameText(name)} ${type}`;
}

function jsonText({ limits, paths, skips }: JsonType): string {
  const parameters = [
    ...[...limits].map(([name, value]) => `${name}=${value}`),
    ...[...paths].map(([path, type]) => named(path, columnTypeText(type))),
    ...skips.map((skip) => ("path" in skip ? `SKIP ${nameText(skip.path)}` : `SKIP REGEXP ${skip.pattern}`)),
  ];
  return parameters.length === 0 ? "JSON" : `JSON(${parameters.join(", ")})`;
}

function membersText(members: ReadonlyMap<string, number>): string {
  return [...members].map(([name, value]) => `'${name.replace(/[\\']/g, "\\$&")}' = ${value}`).join(", ");
}

/** Keywords that cannot be unquoted names. */
const words = /^(?:skip|max_dynamic_\w+|null|not|all|any|distinct|table|select|from|cast|default|as|in)$/i;

/** The name as part of a statement: quoted, unless it is safe without quotes. */
function nameText(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !words.test(name) ? name : `\`${name.replace(/[\\`]/g, String.raw`\$&`)}\``;
}
