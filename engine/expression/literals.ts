import type { LiteralNode } from "./ast.ts";
import type { Cursor } from "./cursor.ts";

const words: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["nil", null],
]);

const LARGEST = 2n ** 63n - 1n;
/** Enough for the largest in binary, with zeros before it. */
const MOST_DIGITS = 100;

/** Takes the literal that comes next, if one does. */
export function literal(cursor: Cursor): LiteralNode | undefined {
  const { kind, value, start, end } = cursor.current;
  if (kind === "name") {
    const word = words.get(value);
    if (word === undefined) return undefined;
    cursor.take();
    return { kind: "literal", value: word, start, end };
  }
  if (kind !== "text" && kind !== "int" && kind !== "float") return undefined;
  const decoded = kind === "text" ? value : kind === "int" ? integer(cursor, value) : float(cursor, value);
  cursor.take();
  return { kind: "literal", value: decoded, start, end };
}

function integer(cursor: Cursor, digits: string): bigint {
  const value = digits.length > MOST_DIGITS ? undefined : BigInt(digits.toLowerCase());
  if (value !== undefined && value <= LARGEST) return value;
  throw cursor.error(cursor.current, `this integer is too large: the largest is ${LARGEST}`);
}

function float(cursor: Cursor, digits: string): number {
  const value = Number(digits);
  if (Number.isFinite(value)) return value;
  throw cursor.error(cursor.current, "this number is too large");
}
