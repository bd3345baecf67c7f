import { RE2JS } from "re2js";
import { isObject } from "../../schemas/index.ts";

/** The key of a pattern in place of a text: `{ $matches: "^ord-" }`. */
export const patternKey = "$matches";

/** What is wrong with a pattern; undefined where nothing is. */
export function patternError(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Whether a found value is as expected. Of a mapping only the keys that are expected count, at any depth; lists count
 * whole. A text may be given for a whole number beyond the safe range.
 */
export function matches(expected: unknown, found: unknown): boolean {
  if (isObject(expected)) {
    if (Object.hasOwn(expected, patternKey)) return matchesPattern(expected[patternKey], found);
    if (!isObject(found)) return false;
    return Object.keys(expected).every((key) => matches(expected[key], Object.hasOwn(found, key) ? found[key] : null));
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(found) || found.length !== expected.length) return false;
    return expected.every((item, index) => matches(item, found[index]));
  }
  if (isNumber(expected) && isNumber(found)) return expected.toString() === found.toString();
  if (typeof expected === "string" && typeof found === "bigint") return expected === found.toString();
  return (expected ?? null) === (found ?? null);
}

function matchesPattern(expected: unknown, found: unknown): boolean {
  if (typeof expected !== "string" || isObject(found) || Array.isArray(found)) return false;
  return RE2JS.compile(expected).matcher(String(found)).find();
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Which found value each expected one is, by index; `undefined` where there is none left for it. */
export interface Assignment {
  partners: readonly (number | undefined)[];
  /** Found values that nothing expects. */
  left: readonly number[];
}

/** Assigns as many expected values as possible to found ones that match, whatever their order. */
export function assign(expected: readonly unknown[], found: readonly unknown[]): Assignment {
  const holder = new Map<number, number>();
  const place = (index: number, tried: Set<number>): boolean => {
    // One that is free is as good as any: to look for it first keeps equal rows from pushing each other around.
    const free = found.findIndex((value, at) => !holder.has(at) && matches(expected[index], value));
    if (free !== -1) {
      holder.set(free, index);
      return true;
    }
    for (const [at, value] of found.entries()) {
      if (tried.has(at) || !matches(expected[index], value)) continue;
      tried.add(at);
      if (!place(holder.get(at)!, tried)) continue;
      holder.set(at, index);
      return true;
    }
    return false;
  };
  for (const index of expected.keys()) place(index, new Set());
  const partners = new Map(Array.from(holder, ([at, index]) => [index, at]));
  return {
    partners: expected.map((_, index) => partners.get(index)),
    left: [...found.keys()].filter((at) => !holder.has(at)),
  };
}
