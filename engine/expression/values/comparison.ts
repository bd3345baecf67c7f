import { type Fail, mismatch } from "./arithmetic.ts";
import { Named } from "./named.ts";
import { Duration, Time } from "./time.ts";
import { compareTexts, hasKey, isMap, kindOf, own, pairs, sizeOf } from "./values.ts";
import type { Budget } from "./budget.ts";

/**
 * Below, at or above zero as `a` is less than, equal to or greater than `b`; NaN if one of them is NaN. Defined between
 * two numbers, texts, times or durations; a month, a weekday or a byte counts as its number. Anything else, nil too, is an
 * error.
 */
export function ordered(a: unknown, b: unknown, fail: Fail): number {
  if ((typeof a === "number" || typeof a === "bigint") && (typeof b === "number" || typeof b === "bigint")) {
    return a < b ? -1 : a > b ? 1 : a >= b ? 0 : Number.NaN;
  }
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (a instanceof Time && b instanceof Time) return sign(a.nanoseconds - b.nanoseconds);
  if (a instanceof Duration && b instanceof Duration) return sign(a.nanoseconds - b.nanoseconds);
  if (a instanceof Named || b instanceof Named) return orderedNamed(a, b, fail);
  return fail(mismatch("two numbers, texts, times or durations", a, b));
}

function orderedNamed(a: unknown, b: unknown, fail: Fail): number {
  if (a instanceof Named && b instanceof Named && a.kind !== b.kind)
    return fail(mismatch("two months or two weekdays", a, b));
  return ordered(a instanceof Named ? a.value : a, b instanceof Named ? b.value : b, fail);
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}

export type Comparator = "<" | "<=" | ">" | ">=";

/** The result of each operator, from the result of `ordered`. */
export const orderTests: Readonly<Record<Comparator, (order: number) => boolean>> = {
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/**
 * `==`: numbers by value, whatever their kind; arrays item by item; maps strictly, so that `{"a": 1}` and `{"a": 1.0}`
 * differ; different kinds are unequal and never an error.
 */
export function equal(a: unknown, b: unknown, budget: Budget): boolean {
  if (a === b) return true;
  if (a instanceof Named || b instanceof Named) return equalNamed(a, b);
  if (typeof a === "bigint" || typeof b === "bigint") return sameNumber(a, b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && equalItems(a, b, budget, equal);
  return equalObjects(a, b, budget);
}

function equalNamed(a: unknown, b: unknown): boolean {
  if (a instanceof Named && b instanceof Named) return a.kind === b.kind && a.value === b.value;
  const [named, other] = a instanceof Named ? [a, b] : [b as Named, a];
  return other === named.value || sameNumber(named.value, other);
}

function sameNumber(a: unknown, b: unknown): boolean {
  if (typeof a === "bigint" && typeof b === "number") return Number(a) === b;
  return typeof a === "number" && typeof b === "bigint" && a === Number(b);
}

function equalObjects(a: object, b: object, budget: Budget): boolean {
  if (a instanceof Time) return b instanceof Time && a.nanoseconds === b.nanoseconds;
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds;
  return identical(a, b, budget);
}

type Same = (a: unknown, b: unknown, budget: Budget) => boolean;

function equalItems(a: readonly unknown[], b: readonly unknown[], budget: Budget, same: Same): boolean {
  if (a.length !== b.length) return false;
  budget.step(a.length);
  return a.every((item, index) => same(item, b[index], budget));
}

/** Deep equality in which kinds count. */
function identical(a: unknown, b: unknown, budget: Budget): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && equalItems(a, b, budget, identical);
  if (a instanceof Time || a instanceof Duration || a instanceof Named) return equal(a, b, budget);
  if (!isMap(a) || !isMap(b) || a instanceof Map !== b instanceof Map) return false;
  const size = sizeOf(a);
  if (size !== sizeOf(b)) return false;
  budget.step(size);
  return pairs(a).every(([key, value]) => hasKey(b, key) && identical(value, own(b, key), budget));
}

/** The sign that `order` gives to a comparison: 1 for `asc`, -1 for `desc`. */
export function sortDirection(order: unknown, fail: Fail): 1 | -1 {
  if (order === "asc") return 1;
  return order === "desc" ? -1 : fail(`expected "asc" or "desc" as the order, found another ${kindOf(order)}`);
}
