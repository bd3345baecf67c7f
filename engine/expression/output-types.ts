import type { Fail } from "./arithmetic.ts";
import { LONGEST_INTEGER, readFloat } from "./functions/numbers.ts";
import { rfc3339 } from "./json.ts";
import { timeText } from "./layouts.ts";
import { plainNumber } from "./printing.ts";
import { Duration, Time } from "./time.ts";
import { isMap, kindOf, pairs, put } from "./values.ts";
import type { TextMap } from "./values.ts";

/**
 * Turns the value of an expression into what a record holds: nil, bool, number, text, array or map; a bigint only where
 * an integer lies outside the range that a number keeps exactly.
 */
export type Conversion = (value: unknown, fail: Fail) => unknown;

/** The conversion of an `output_type` by its names (specification, expressions, section 6); undefined for an unknown one. */
export function conversion(outputType: string): Conversion | undefined {
  return byName.get(outputType);
}

/** Every name of an output type. */
export function outputTypes(): string[] {
  return [...byName.keys()];
}

const toText: Conversion = (value, fail) => {
  if (typeof value === "string") return value;
  if (value === null) return "";
  if (typeof value === "boolean" || value instanceof Duration) return value.toString();
  if (typeof value === "number" || typeof value === "bigint") return plainNumber(value);
  return value instanceof Time ? timeText(value) : fail(misfit("string", value));
};

const toInteger: Conversion = (value, fail) => {
  switch (typeof value) {
    case "number":
      return Math.abs(value) < 2 ** 63
        ? Math.trunc(value) + 0
        : fail("output_type int: the number does not fit 64 bits");
    case "bigint":
      return narrowed(value);
    case "boolean":
      return value ? 1 : 0;
    case "string":
      return integerText(value, fail);
    default:
      return value === null ? 0 : fail(misfit("int", value));
  }
};

const toUnsigned: Conversion = (value, fail) => {
  const whole = toInteger(value, fail) as number | bigint;
  return whole < 0 ? fail("output_type uint expects a number of 0 or more, found a negative one") : whole;
};

const toFloat: Conversion = (value, fail) => {
  if (value === null) return 0;
  const isNumeric = typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
  const found = isNumeric ? Number(value) : typeof value === "string" ? readFloat(value) : undefined;
  if (found === undefined) return fail(misfit("float64", value));
  return Number.isFinite(found) ? found : fail("output_type float64 has no NaN and no infinity");
};

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((word) => [word, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((word) => [word, false] as const),
]);

const toBool: Conversion = (value, fail) => {
  if (typeof value === "boolean") return value;
  if (value === null) return false;
  if (typeof value === "number" || typeof value === "bigint") return Number(value) !== 0;
  const truth = typeof value === "string" ? truths.get(value) : undefined;
  return truth ?? fail(misfit("bool", value));
};

const toTexts: Conversion = (value, fail) => {
  if (value === null) return null;
  if (!Array.isArray(value)) return fail(misfit("[]string", value));
  return Array.from(value as readonly unknown[], (item) => toText(item, fail));
};

/** As it is, made of what JSON can say. */
const unchanged: Conversion = (value, fail) => {
  if (typeof value === "number") return Number.isFinite(value) ? value : fail("a record has no NaN and no infinity");
  if (typeof value === "bigint") return narrowed(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Time) return rfc3339(value);
  if (value instanceof Duration) return narrowed(value.nanoseconds);
  if (Array.isArray(value)) return Array.from(value as readonly unknown[], (item) => unchanged(item, fail));
  if (!isMap(value)) return fail(`a record has no values of kind ${kindOf(value)}`);
  const made: TextMap = {};
  for (const [key, item] of pairs(value)) {
    if (typeof key !== "string") return fail(`a record has texts as keys, found ${kindOf(key)}`);
    put(made, key, unchanged(item, fail));
  }
  return made;
};

const byName: ReadonlyMap<string, Conversion> = new Map<string, Conversion>([
  ...["string", "bytes", "datetime"].map((name) => [name, toText] as const),
  ...["int", "int8", "int16", "int32", "int64", "integer"].map((name) => [name, toInteger] as const),
  ...["uint", "uint8", "uint16", "uint32", "uint64"].map((name) => [name, toUnsigned] as const),
  ...["float", "float32", "float64", "number"].map((name) => [name, toFloat] as const),
  ...["bool", "boolean"].map((name) => [name, toBool] as const),
  ...["array", "map", "object"].map((name) => [name, unchanged] as const),
  ["[]string", toTexts],
]);

function misfit(outputType: string, value: unknown): string {
  const found = typeof value === "string" ? "a text that says none" : kindOf(value);
  return `output_type ${outputType} cannot be made of this: found ${found}`;
}

/** A number where it is exact. */
function narrowed(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const written = /^([+-]?)(0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|0|[1-9][\d_]*)(?:\.\d*)?$/;

/** A fraction is cut off; `0x`, `0b`, `0o` and a leading 0 say the base. The empty text is 0. */
function integerText(text: string, fail: Fail): number | bigint {
  if (text === "") return 0;
  const found = written.exec(text);
  if (found === null) return fail(misfit("int", text));
  const [, sign = "", digits = ""] = found;
  if (digits.length > LONGEST_INTEGER) return fail("output_type int: the number does not fit 64 bits");
  const size = BigInt(digits.replaceAll("_", "").replace(/^0(?=\d)/, "0o"));
  const value = sign === "-" ? -size : size;
  return BigInt.asIntN(64, value) === value
    ? narrowed(value)
    : fail("output_type int: the number does not fit 64 bits");
}
