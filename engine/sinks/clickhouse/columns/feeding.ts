import type { FieldType } from "../../../../schemas/pipeline.ts";
import { bare, columnTypeText } from "./column-type.ts";
import type { ColumnType } from "./column-type.ts";

const numbers: readonly FieldType[] = ["int", "uint", "float"];
const whole: readonly FieldType[] = ["int", "uint", "bool"];
const text: readonly FieldType[] = ["string"];
const anything: readonly FieldType[] = ["string", "bool", "int", "uint", "float", "array", "map"];

/** Which source types may feed which column. */
const feeders: Readonly<Record<ColumnType["kind"], readonly FieldType[]>> = {
  Bool: ["bool"],
  Int: whole,
  UInt: whole,
  Float: numbers,
  BFloat16: numbers,
  Decimal: ["string", ...numbers],
  String: anything,
  FixedString: text,
  UUID: text,
  Enum: ["string", "int", "uint"],
  IPv4: text,
  IPv6: text,
  Date: text,
  Date32: text,
  DateTime: ["string", ...numbers],
  DateTime64: ["string", ...numbers],
  Time: ["string", ...numbers],
  Time64: ["string", ...numbers],
  Array: ["array"],
  Map: ["map"],
  /** With names; without them it is fed like an Array. */
  Tuple: ["map"],
  /** ClickHouse accepts only objects at the top of a JSON column; a string is read as JSON. */
  JSON: ["string", "map"],
  /** ClickHouse infers the type; of an object it would make a tuple of its own for each set of keys. */
  Dynamic: ["string", "bool", ...numbers, "array"],
  /** What one of its types is fed by. */
  Variant: [],
  Nullable: [],
  LowCardinality: [],
};

/** True if a field of type `field` can feed the column, else the reason, without a full stop. */
export function canFeed(field: FieldType, column: ColumnType): true | string {
  const allowed = feedersOf(bare(column));
  if (allowed.includes(field)) return true;
  return `a field of type ${field} cannot feed a column of type ${columnTypeText(column)}: expected ${oneOf(allowed)}`;
}

function feedersOf(type: ColumnType): readonly FieldType[] {
  if (type.kind === "Variant") return anything.filter((field) => type.types.some((of) => canFeed(field, of) === true));
  return type.kind === "Tuple" && type.names === undefined ? feeders.Array : feeders[type.kind];
}

function oneOf(words: readonly string[]): string {
  return words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
