import type { FieldType } from "../../../schemas/pipeline.ts";
import { bare } from "./column-type.ts";
import type { ColumnType } from "./column-type.ts";
import type { RowBody } from "./row-body.ts";

/** Adds a value to a row as the converter of its column would write it, or adds nothing and says so. */
export type DirectWrite = (value: unknown, body: RowBody) => boolean;

/** For values that are never usual. */
export const noDirectWrite: DirectWrite = () => false;

/**
 * What writes the usual values of a pair of types straight to bytes: most values of most rows that are made. It is for
 * speed alone, and leaves everything that is not usual to the converter.
 */
export function directWrite(source: FieldType, column: ColumnType): DirectWrite {
  const type = bare(column);
  switch (`${source} ${type.kind}`) {
    case "string String":
      return (value, body) => typeof value === "string" && body.addShortText(value);
    case "bool Bool":
      return writeTruth;
    case "int Int":
    case "int UInt":
    case "uint Int":
    case "uint UInt":
      return writeWhole(type as Extract<ColumnType, { bits: number }>);
    case "int Float":
    case "uint Float":
    case "float Float":
      return (value, body) => Number.isInteger(value) && body.addShortWhole(value as number);
    default:
      return noDirectWrite;
  }
}

const [yes, no] = [Buffer.from("true"), Buffer.from("false")];

function writeTruth(value: unknown, body: RowBody): boolean {
  if (typeof value !== "boolean") return false;
  body.addShort(value ? yes : no);
  return true;
}

function writeWhole({ kind, bits }: { kind: string; bits: number }): DirectWrite {
  const [low, high] = kind === "Int" ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
  return (value, body) =>
    Number.isInteger(value) &&
    (value as number) >= low &&
    (value as number) <= high &&
    body.addShortWhole(value as number);
}
