import type { Budget } from "./budget.ts";
import { Duration, Time } from "./time.ts";
import { isByte, unnamedByte } from "./named.ts";
import { areIntegers, fits64, kindOf, wrapped } from "./values.ts";

/** Ends the evaluation with an error at its operator or call. */
export type Fail = (detail: string) => never;

export type Arithmetic = "+" | "-" | "*" | "/" | "%" | "**";

type Operation = (a: unknown, b: unknown, fail: Fail, budget: Budget) => unknown;

/**
 * Two integers give an integer that wraps at 64 bits, except `/` and `**`, which always give a float; an integer and a
 * float give a float. nil or mixed kinds are an error; a division by zero is not.
 */
export const arithmetic: Readonly<Record<Arithmetic, Operation>> = {
  "+": (a, b, fail, budget) => {
    if (typeof a === "number" && typeof b === "number") return a + b;
    if (typeof a === "string" && typeof b === "string") {
      budget.make(a.length + b.length);
      return a + b;
    }
    if (areIntegers(a, b)) return wrapped((a as bigint) + (b as bigint));
    if (isNumber(a) && isNumber(b)) return Number(a) + Number(b);
    return shifted(a, b) ?? ofBytes("+", a, b, fail, budget);
  },
  "-": (a, b, fail, budget) => {
    if (areIntegers(a, b)) return wrapped((a as bigint) - (b as bigint));
    if (isNumber(a) && isNumber(b)) return Number(a) - Number(b);
    return distance(a, b) ?? ofBytes("-", a, b, fail, budget);
  },
  "*": (a, b, fail, budget) => {
    if (areIntegers(a, b)) return wrapped((a as bigint) * (b as bigint));
    if (isNumber(a) && isNumber(b)) return Number(a) * Number(b);
    return scaled(a, b) ?? ofBytes("*", a, b, fail, budget);
  },
  "/": (a, b, fail, budget) => {
    return isNumber(a) && isNumber(b) ? Number(a) / Number(b) : ofBytes("/", a, b, fail, budget);
  },
  "%": (a, b, fail, budget) => {
    if (!areIntegers(a, b)) return ofBytes("%", a, b, fail, budget);
    return b === 0n ? fail("the remainder of a division by zero") : (a as bigint) % (b as bigint);
  },
  "**": (a, b, fail, budget) => {
    return isNumber(a) && isNumber(b) ? power(Number(a), Number(b)) : ofBytes("**", a, b, fail, budget);
  },
};

const operands: Readonly<Record<Arithmetic, string>> = {
  "+": "two numbers, two texts, or a time and a duration",
  "-": "two numbers, times or durations, or a time and a duration",
  "*": "two numbers, or a number and a duration",
  "/": "two numbers",
  "%": "two integers",
  "**": "two numbers",
};

/** With the integers that bytes are; fails where neither operand is a byte. */
function ofBytes(operator: Arithmetic, a: unknown, b: unknown, fail: Fail, budget: Budget): unknown {
  if (isByte(a) || isByte(b)) return arithmetic[operator](unnamedByte(a), unnamedByte(b), fail, budget);
  const areFloats = operator === "%" && isNumber(a) && isNumber(b);
  const hint = areFloats ? "; the numbers of an event are floats: write int(…) around them" : "";
  return fail(mismatch(operands[operator], a, b) + hint);
}

export function negated(value: unknown, fail: Fail): unknown {
  if (typeof value === "number") return -value;
  if (typeof value === "bigint") return fits64(value) ? wrapped(-value) : -Number(value);
  return isByte(value) ? -value.value : fail(`expected a number, found ${kindOf(value)}`);
}

export function mismatch(expected: string, a: unknown, b: unknown): string {
  return `expected ${expected}, found ${kindOf(a)} and ${kindOf(b)}`;
}

/** 1 to any power is 1, as in IEEE 754; JavaScript returns NaN for infinite powers. */
function power(base: number, exponent: number): number {
  return Math.abs(base) === 1 && !Number.isFinite(exponent) && !(Number.isNaN(exponent) && base === -1)
    ? 1
    : base ** exponent;
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function shifted(a: unknown, b: unknown): unknown {
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.nanoseconds + b.nanoseconds);
  if (a instanceof Time && b instanceof Duration) return new Time(a.nanoseconds + b.nanoseconds, a.zone);
  if (a instanceof Duration && b instanceof Time) return new Time(a.nanoseconds + b.nanoseconds, b.zone);
  return undefined;
}

function distance(a: unknown, b: unknown): unknown {
  if (a instanceof Time && b instanceof Time) return new Duration(a.nanoseconds - b.nanoseconds);
  if (a instanceof Time && b instanceof Duration) return new Time(a.nanoseconds - b.nanoseconds, a.zone);
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.nanoseconds - b.nanoseconds);
  return undefined;
}

/** A duration times an integer is a duration, times a float the float of its nanoseconds. */
function scaled(a: unknown, b: unknown): unknown {
  const [left, right] = [factor(a), factor(b)];
  if (left === undefined || right === undefined) return undefined;
  return typeof left === "bigint" && typeof right === "bigint"
    ? new Duration(left * right)
    : Number(left) * Number(right);
}

function factor(value: unknown): bigint | number | undefined {
  if (value instanceof Duration) return value.nanoseconds;
  if (typeof value === "bigint" && !fits64(value)) return Number(value);
  return isNumber(value) ? value : undefined;
}
