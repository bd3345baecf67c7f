import type { Call, FunctionDefinition } from "./catalog.ts";
import { equal, ordered, sortDirection } from "../values/comparison.ts";
import { byte, unnamedByte } from "../values/named.ts";
import { byteAt } from "../values/text.ts";
import { arrayOf, itemOf, type Type, unknown } from "../values/types.ts";
import { wholeOf } from "../values/values.ts";

const anyArray = arrayOf(unknown);
const item = ([list]: readonly Type[]): Type => (list === undefined ? unknown : itemOf(list));

/** The item at one end of an array, a byte of a text, nil for anything else. */
function end(index: 0 | -1): FunctionDefinition {
  return {
    takes: ["items"],
    gives: item,
    run: (_, list) => {
      if (Array.isArray(list)) return (list.at(index) as unknown) ?? null;
      const found = typeof list === "string" ? byteAt(list, index) : undefined;
      return found === undefined ? null : byte(found);
    },
  };
}

function take({ budget, fail }: Call, list: unknown, count: unknown): unknown {
  const most = Number(wholeOf(count) ?? count);
  if (most < 0) return fail("take expects a count of 0 or more, found a negative one");
  const taken = (list as readonly unknown[]).slice(0, most);
  budget.step(taken.length);
  return taken;
}

function reverse({ budget }: Call, list: unknown): unknown {
  budget.allocate((list as readonly unknown[]).length);
  return Array.from(list as readonly unknown[]).toReversed();
}

/**
 * Keeps the first of equal items; 1 and 1.0 are equal, wide integers equal only themselves. Scalars are looked up in a
 * set, others are compared one by one.
 */
function uniq({ budget }: Call, list: unknown): unknown {
  const seen = new Set<unknown>();
  const compared: unknown[] = [];
  return Array.from(list as readonly unknown[]).filter((given) => {
    const candidate = unnamedByte(given);
    budget.step(1);
    if (typeof candidate === "object" && candidate !== null) {
      budget.step(compared.length);
      if (compared.some((other) => equal(candidate, other, budget))) return false;
      compared.push(candidate);
      return true;
    }
    const key = typeof candidate === "bigint" && isSafe(candidate) ? Number(candidate) : candidate;
    if (seen.has(key) && !Number.isNaN(key)) return false;
    seen.add(key);
    return true;
  });
}

function isSafe(value: bigint): boolean {
  return Number.isSafeInteger(Number(value));
}

function concat({ budget }: Call, ...lists: unknown[]): unknown {
  const joined: unknown[] = [];
  for (const list of lists as (readonly unknown[])[]) {
    budget.allocate(list.length);
    for (const value of list) joined.push(value);
  }
  return joined;
}

function flatten(call: Call, list: unknown, into: unknown[] = []): unknown[] {
  call.budget.allocate((list as readonly unknown[]).length);
  for (const value of list as readonly unknown[]) {
    if (Array.isArray(value)) flatten(call, value, into);
    else into.push(value);
  }
  return into;
}

/** What is no array has nothing to sort. */
function sort({ budget, fail }: Call, list: unknown, order: unknown = "asc"): unknown {
  const direction = sortDirection(order, fail);
  if (!Array.isArray(list)) return [];
  budget.allocate(list.length);
  return Array.from<unknown>(list).toSorted((a, b) => direction * ordered(a, b, fail));
}

/** The functions of arrays. */
export const arrayFunctions: Readonly<Record<string, FunctionDefinition>> = {
  first: end(0),
  last: end(-1),
  take: { takes: ["array", "count"], gives: ([list]) => list ?? unknown, run: take },
  reverse: { takes: ["array"], gives: anyArray, run: reverse },
  uniq: { takes: ["array"], gives: anyArray, run: uniq },
  concat: { takes: ["array"], rest: "array", gives: anyArray, run: concat },
  flatten: { takes: ["array"], gives: anyArray, run: (call, list) => flatten(call, list) },
  sort: { takes: ["items", "string"], optional: 1, gives: anyArray, run: sort },
};
