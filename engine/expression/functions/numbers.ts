import type { Fail } from "../values/arithmetic.ts";
import type { Call, FunctionDefinition } from "./catalog.ts";
import { ordered } from "../values/comparison.ts";
import { float, integer, isNumber, type Type, unknown } from "../values/types.ts";
import { fits64, kindOf, wholeOf, wrapped } from "../values/values.ts";

/** The most digits of an integer; longer texts are refused unread. */
export const LONGEST_INTEGER = 64;

/** The numbers among the arguments, those of nested arrays included; durations, months, weekdays and bytes are numbers. */
function numbers(call: Call, name: string, args: readonly unknown[], found: unknown[] = []): unknown[] {
  call.budget.step(args.length);
  for (const arg of args) {
    if (Array.isArray(arg)) numbers(call, name, arg, found);
    else if (typeof arg === "number" || typeof arg === "bigint" || wholeOf(arg) !== undefined) found.push(arg);
    else call.fail(`${name} expects numbers and arrays of numbers, found ${kindOf(arg)}`);
  }
  return found;
}

/** The floats of what `numbers` finds: of a duration its nanoseconds. */
function floats(call: Call, name: string, args: readonly unknown[]): number[] {
  return numbers(call, name, args).map((value) => Number(wholeOf(value) ?? value));
}

/** A single value that is neither an array nor a number is its own least and greatest one. */
function extreme(name: "min" | "max"): FunctionDefinition["run"] {
  const wanted = name === "min" ? -1 : 1;
  return (call, ...args) => {
    const [only] = args;
    if (args.length === 1 && !Array.isArray(only)) return only;
    return numbers(call, name, args).reduce<unknown>((best, value) => {
      return best === null || ordered(value, best, call.fail) * wanted > 0 ? value : best;
    }, null);
  };
}

function rounding(round: (value: number) => number): FunctionDefinition {
  return {
    takes: ["number"],
    gives: float,
    run: (_, value) => (typeof value === "bigint" ? Number(value) : round(value as number)),
  };
}

/** Half away from zero. */
function rounded(value: number): number {
  const whole = Math.trunc(value);
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** Nothing is known of the average of what may be an array: the functions that take any value take it. */
const average = (args: readonly Type[]): Type => (args.every(isNumber) ? float : unknown);

const sameNumber = ([type]: readonly Type[]): Type => (type?.kind === "int" ? integer : unknown);

function digitsOf(written: string, fail: Fail): bigint {
  const found = /^([+-]?)(\d+)$/.exec(written);
  if (found === null) return fail("int expects a text of digits, found another text");
  const [, sign = "", padded = ""] = found;
  const digits = padded.replace(/^0+(?=\d)/, "");
  const size = digits.length > LONGEST_INTEGER ? 2n ** 64n : BigInt(digits);
  const value = sign === "-" ? -size : size;
  return fits64(value) ? value : fail("int: the number in the text does not fit 64 bits");
}

/** An integer from a text or a number; the fraction of a number is cut. */
function toInteger({ fail }: Call, value: unknown): bigint {
  const known = wholeOf(value);
  if (known !== undefined) return known;
  if (typeof value === "string") return digitsOf(value, fail);
  if (typeof value === "bigint") return fits64(value) ? value : fail("int: the number does not fit 64 bits");
  const whole = Math.trunc(value as number);
  return Math.abs(whole) < 2 ** 63 ? BigInt(whole) : fail("int: the number does not fit 64 bits");
}

/** Decimal, with an exponent, hexadecimal with one, infinities and NaN. */
function toFloat({ fail }: Call, value: unknown): number {
  if (typeof value !== "string") return Number(wholeOf(value) ?? value);
  const read = readFloat(value);
  return read ?? fail("float expects a text that is a number, found another text");
}

/** The float in a text; undefined if the text is not a number, or too large a number. */
export function readFloat(text: string): number | undefined {
  const sign = text.startsWith("-") ? -1 : 1;
  // An underscore may stand between two digits.
  const plain = text
    .replace(/^[+-]/, "")
    .toLowerCase()
    .replaceAll(/(?<=[\dx])_(?=[\da-f])/g, "");
  if (/^(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/.test(plain)) {
    const value = Number(plain);
    return Number.isFinite(value) ? sign * value : undefined;
  }
  const hex = /^0x([\da-f]*)(?:\.([\da-f]*))?p([+-]?\d+)$/.exec(plain);
  if (hex !== null && plain[2] !== "p") return sign * hexadecimal(hex[1] ?? "", hex[2] ?? "", Number(hex[3]));
  if (plain === "nan") return Number.NaN;
  if (plain === "inf" || plain === "infinity") return sign * Infinity;
  return undefined;
}

function hexadecimal(whole: string, fraction: string, exponent: number): number {
  return Number(`0x0${whole}${fraction}`) * 2 ** (exponent - 4 * fraction.length);
}

/** The functions of numbers. */
export const numberFunctions: Readonly<Record<string, FunctionDefinition>> = {
  abs: {
    takes: ["number"],
    gives: sameNumber,
    run: (_, value) => {
      if (typeof value !== "bigint" || !fits64(value)) return Math.abs(Number(value));
      return wrapped(value < 0n ? -value : value);
    },
  },
  ceil: rounding(Math.ceil),
  floor: rounding(Math.floor),
  round: rounding(rounded),
  max: { takes: ["numbers"], rest: "numbers", gives: unknown, run: extreme("max") },
  min: { takes: ["numbers"], rest: "numbers", gives: unknown, run: extreme("min") },
  mean: {
    takes: ["numbers"],
    rest: "numbers",
    gives: average,
    run: (call, ...args) => {
      const found = floats(call, "mean", args);
      return found.length === 0 ? 0 : found.reduce((total, value) => total + value, 0) / found.length;
    },
  },
  median: {
    takes: ["numbers"],
    rest: "numbers",
    gives: average,
    run: (call, ...args) => {
      const found = floats(call, "median", args);
      return found.length === 0 ? 0 : median(found);
    },
  },
  int: { takes: ["convertible"], gives: integer, run: toInteger },
  float: { takes: ["convertible"], gives: float, run: toFloat },
};

const pair = { takes: ["int", "int"], gives: integer } as const;

function bits(combine: (a: bigint, b: bigint) => bigint): FunctionDefinition {
  return { ...pair, run: (_, a, b) => wrapped(combine(a as bigint, b as bigint)) };
}

/** A shift by 64 or more moves every bit out. */
function shift(move: (value: bigint, places: bigint) => bigint): FunctionDefinition {
  return {
    ...pair,
    run: ({ fail }, value, places) => {
      if ((places as bigint) < 0n) return fail("a shift by a negative number of bits");
      return wrapped(move(value as bigint, (places as bigint) > 64n ? 64n : (places as bigint)));
    },
  };
}

/** The functions of bits of integers; numbers of an event need `int(…)` first. */
export const bitFunctions: Readonly<Record<string, FunctionDefinition>> = {
  bitand: bits((a, b) => a & b),
  bitor: bits((a, b) => a | b),
  bitxor: bits((a, b) => a ^ b),
  bitnand: bits((a, b) => a & ~b),
  bitnot: { takes: ["int"], gives: integer, run: (_, value) => ~(value as bigint) },
  bitshl: shift((value, places) => value << places),
  bitshr: shift((value, places) => value >> places),
  bitushr: shift((value, places) => BigInt.asUintN(64, value) >> places),
};
