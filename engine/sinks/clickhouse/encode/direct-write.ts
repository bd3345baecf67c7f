import type { FieldType } from "../../../../schemas/pipeline.ts";
import { bare } from "../columns/column-type.ts";
import type { ColumnType } from "../columns/column-type.ts";
import { rawWalk } from "./raw-values.ts";
import { constantOf } from "./row-body.ts";
import type { RowBody } from "./row-body.ts";

/** Adds a value to a row exactly as the converter of its column would, or adds nothing and returns false. */
export type DirectWrite = (value: unknown, body: RowBody) => boolean;

/** For pairs of types without a fast path. */
export const noDirectWrite: DirectWrite = () => false;

/**
 * The fast path of a pair of types: writes the usual values, which are most values of most rows, straight to bytes. All
 * others are left to the converter.
 */
export function directWrite(source: FieldType, column: ColumnType): DirectWrite {
  const type = bare(column);
  if (source === "string") return writeText(type);
  switch (`${source} ${type.kind}`) {
    case "bool Bool":
      return writeTruth;
    case "int Int":
    case "int UInt":
      return writeWhole(type as Extract<ColumnType, { bits: number }>);
    case "uint Int":
    case "uint UInt":
      return writeWhole(type as Extract<ColumnType, { bits: number }>, 0);
    case "int Float":
      return (value, body) => Number.isInteger(value) && body.addShortNumber(value as number);
    case "uint Float":
      return (value, body) => Number.isInteger(value) && (value as number) >= 0 && body.addShortNumber(value as number);
    case "float Float":
      return (value, body) => typeof value === "number" && body.addShortNumber(value);
    default:
      return noDirectWrite;
  }
}

/** Strings that pass the walk of their column and are spelled as the converter spells them. */
function writeText(type: ColumnType): DirectWrite {
  if (type.kind === "String") return (value, body) => typeof value === "string" && body.addShortText(value);
  const walk = rawWalk("string", type);
  if (walk === undefined) return noDirectWrite;
  const length = lengthOf(type);
  return (value, body) => {
    if (typeof value !== "string" || (length !== undefined && value.length !== length)) return false;
    const before = body.length;
    if (!body.addShortText(value)) return false;
    if (body.passes(before, walk)) return true;
    body.cutTo(before);
    return false;
  };
}

/** Characters of a time with as many digits as the converter writes; undefined where any length may pass the walk. */
function lengthOf(type: ColumnType): number | undefined {
  const seconds = "2024-05-31T12:30:45Z".length;
  if (type.kind === "DateTime") return seconds;
  if (type.kind !== "DateTime64") return undefined;
  return type.precision === 0 ? seconds : seconds + 1 + type.precision;
}

const [yes, no] = [constantOf("true"), constantOf("false")];

function writeTruth(value: unknown, body: RowBody): boolean {
  if (typeof value !== "boolean") return false;
  body.addConstant(value ? yes : no);
  return true;
}

/** `least`: of the field's type. */
function writeWhole({ kind, bits }: { kind: string; bits: number }, least = -Infinity): DirectWrite {
  const [lowest, high] = kind === "Int" ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
  const low = Math.max(lowest, least);
  return (value, body) => {
    if (!Number.isSafeInteger(value) || (value as number) < low || (value as number) > high) return false;
    body.addWhole(value as number);
    return true;
  };
}
