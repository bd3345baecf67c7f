import type { Fail } from "./values/arithmetic.ts";
import type { Budget } from "./values/budget.ts";
import { LONGEST_INTEGER, readFloat } from "./functions/numbers.ts";
import { plainNumber } from "../event/plain-numbers.ts";
import { isByte } from "./values/named.ts";
import { rfc3339, textOf } from "./values/printing.ts";
import { Time } from "./values/time.ts";
import { isMap, kindOf, pairs, put, sizeOf, type TextMap, wholeOf } from "./values/values.ts";

/** The context of a conversion: its error function, and the budget that all outputs of a record share. */
export interface Converting {
  readonly fail: Fail;
  readonly budget: Budget;
}

/**
 * Converts the value of an expression to a value of a record: nil, bool, number, text, array or map; a bigint only for
 * an integer outside the range that a number keeps exactly. Nil stays nil: what a column stores for it is decided where
 * the row is made. Throws BudgetExceeded.
 */
export type Conversion = (value: unknown, converting: Converting) => unknown;

/** The most levels of arrays and maps in an output: as in an event, and as every later stage can write. */
export const DEEPEST_OUTPUT = 100;

/** The conversion of an `output_type` by its names (docs/reference/expressions.md, output_type); undefined for an unknown one. */
export function conversion(outputType: string): Conversion | undefined {
  return byName.get(outputType);
}

/** Every name of an output type. */
export function outputTypes(): string[] {
  return [...byName.keys()];
}

const toText: Conversion = (value, { fail, budget }) => {
  if (typeof value === "string") {
    budget.make(value.length);
    return value;
  }
  if (value === null) return null;
  if (typeof value === "boolean") return value.toString();
  if (typeof value === "number" || typeof value === "bigint") return plainNumber(value);
  return textOf(value) ?? fail(misfit("string", value));
};

/** The conversion to integers of 64 bits from `least` to `most`. */
function integers(outputType: string, least: bigint, most: bigint): Conversion {
  const low = Number(least);
  const checked = (value: bigint, fail: Fail): number | bigint => {
    if (value >= least && value <= most) return narrowed(value);
    return fail(`output_type ${outputType}: the number is outside ${least} to ${most}`);
  };
  return (value, { fail }) => {
    if (value === null) return null;
    switch (typeof value) {
      case "number": {
        const whole = Math.trunc(value) + 0;
        if (Number.isSafeInteger(whole) && whole >= low) return whole;
        if (!Number.isFinite(whole)) return fail(`output_type ${outputType} has no NaN and no infinity`);
        return checked(BigInt(whole), fail);
      }
      case "bigint":
        return checked(value, fail);
      case "boolean":
        return value ? 1 : 0;
      case "string":
        return checked(integerText(value, outputType, fail), fail);
      default: {
        const whole = wholeOf(value);
        return whole === undefined ? fail(misfit(outputType, value)) : checked(whole, fail);
      }
    }
  };
}

const toInteger = integers("int", -(2n ** 63n), 2n ** 63n - 1n);
const toUnsigned = integers("uint", 0n, 2n ** 64n - 1n);

const toFloat: Conversion = (value, { fail }) => {
  if (value === null) return null;
  if (value === "") return 0;
  const found = floatOf(value);
  if (found === undefined) return fail(misfit("float64", value));
  return Number.isFinite(found) ? found : fail("output_type float64 has no NaN and no infinity");
};

function floatOf(value: unknown): number | undefined {
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return Number(value);
  if (typeof value === "string") return readFloat(value);
  const whole = wholeOf(value);
  return whole === undefined ? undefined : Number(whole);
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((word) => [word, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((word) => [word, false] as const),
]);

const toBool: Conversion = (value, { fail }) => {
  if (typeof value === "boolean") return value;
  if (value === null) return null;
  if (typeof value === "number" || typeof value === "bigint") return Number(value) !== 0;
  if (isByte(value)) return value.value !== 0n;
  const truth = typeof value === "string" ? truths.get(value) : undefined;
  return truth ?? fail(misfit("bool", value));
};

const toTexts: Conversion = (value, converting) => {
  if (value === null) return null;
  if (!Array.isArray(value)) return converting.fail(misfit("[]string", value));
  converting.budget.step(value.length);
  return Array.from(value as readonly unknown[], (item) => toText(item, converting) ?? "");
};

/** Unchanged, but with values of JSON only. */
const unchanged: Conversion = (value, converting) => asJson(value, converting, 0);

function asJson(value: unknown, converting: Converting, depth: number): unknown {
  const { fail, budget } = converting;
  if (typeof value === "number") return Number.isFinite(value) ? value : fail("a record has no NaN and no infinity");
  if (typeof value === "bigint") return narrowed(value);
  if (typeof value === "string") budget.make(value.length);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Time) return rfc3339(value);
  const whole = wholeOf(value);
  if (whole !== undefined) return narrowed(whole);
  if (depth === DEEPEST_OUTPUT) return fail(`a record nests at most ${DEEPEST_OUTPUT} levels`);
  if (Array.isArray(value)) {
    budget.step(value.length);
    return Array.from(value as readonly unknown[], (item) => asJson(item, converting, depth + 1));
  }
  if (!isMap(value)) return fail(`a record has no values of kind ${kindOf(value)}`);
  const made: TextMap = {};
  budget.step(sizeOf(value));
  for (const [key, item] of pairs(value)) {
    if (typeof key !== "string") return fail(`a record has texts as keys, found ${kindOf(key)}`);
    budget.make(key.length);
    put(made, key, asJson(item, converting, depth + 1));
  }
  return made;
}

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
  const found = typeof value === "string" ? "a text that cannot be converted" : kindOf(value);
  return `output_type ${outputType} cannot be made of this: found ${found}`;
}

/** A number if that is exact, else the bigint. */
function narrowed(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Each underscore stands before a digit, as in an integer of Go. */
const written =
  /^([+-]?)(0[xX](?:_?[\da-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?\d)*)(?:\.\d*)?$/;

/** A fraction is cut off; `0x`, `0b`, `0o` and a leading 0 set the base. The empty text is 0. */
function integerText(text: string, outputType: string, fail: Fail): bigint {
  if (text === "") return 0n;
  const found = written.exec(text);
  if (found === null) return fail(misfit(outputType, text));
  const [, sign = "", digits = ""] = found;
  if (digits.length > LONGEST_INTEGER) return fail(`output_type ${outputType}: the number does not fit 64 bits`);
  const size = BigInt(digits.replaceAll("_", "").replace(/^0(?=\d)/, "0o"));
  return sign === "-" ? -size : size;
}
