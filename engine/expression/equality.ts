import type { Budget } from "./budget.ts";
import { Duration, Time } from "./time.ts";
import { isMap, sizeOf, pairs, own, hasKey } from "./values.ts";

/**
 * `==`: numbers by value, whatever their kind; arrays item by item; maps strictly, so that `{"a": 1}` and `{"a": 1.0}`
 * differ; different kinds are unequal and never an error.
 */
export function equal(a: unknown, b: unknown, budget: Budget): boolean {
  if (a === b) return true;
  if (typeof a === "bigint" || typeof b === "bigint") return sameNumber(a, b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && equalItems(a, b, budget, equal);
  return equalObjects(a, b, budget);
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
  if (a instanceof Time || a instanceof Duration) return equal(a, b, budget);
  if (!isMap(a) || !isMap(b) || a instanceof Map !== b instanceof Map) return false;
  const size = sizeOf(a);
  if (size !== sizeOf(b)) return false;
  budget.step(size);
  return pairs(a).every(([key, value]) => hasKey(b, key) && identical(value, own(b, key), budget));
}
