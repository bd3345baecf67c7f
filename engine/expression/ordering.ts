import { mismatch } from "./arithmetic.ts";
import type { Fail } from "./arithmetic.ts";
import type { Comparator } from "./operators.ts";
import { Duration, Time } from "./time.ts";
import { compareTexts } from "./values.ts";

/**
 * Below, at or above zero as `a` stands to `b`; NaN where one of them is not a number that can be ordered. Defined
 * between two numbers, texts, times or durations; anything else, nil too, is an error.
 */
export function ordered(a: unknown, b: unknown, fail: Fail): number {
  if ((typeof a === "number" || typeof a === "bigint") && (typeof b === "number" || typeof b === "bigint")) {
    return a < b ? -1 : a > b ? 1 : a >= b ? 0 : Number.NaN;
  }
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (a instanceof Time && b instanceof Time) return sign(a.nanoseconds - b.nanoseconds);
  if (a instanceof Duration && b instanceof Duration) return sign(a.nanoseconds - b.nanoseconds);
  return fail(mismatch("two numbers, texts, times or durations", a, b));
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}

/** The comparison that an operator makes of the answer of `ordered`. */
export const verdicts: Readonly<Record<Comparator, (order: number) => boolean>> = {
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};
