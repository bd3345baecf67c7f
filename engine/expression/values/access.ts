import type { Fail } from "./arithmetic.ts";
import type { Budget } from "./budget.ts";
import { equal } from "./comparison.ts";
import { bounds, byteAt, byteSlice } from "./text.ts";
import { byte as namedByte, unnamedByte } from "./named.ts";
import { hasKey, int, isMap, kindOf, own } from "./values.ts";

/** `object.key` and `object[key]`: nil for a missing key of a map, an error for nil and for an index out of range. */
export function member(object: unknown, key: unknown, fail: Fail): unknown {
  if (object === null || object === undefined) {
    return fail(`expected a map or an array before ${described(key)}, found nil; ?. yields nil instead`);
  }
  if (Array.isArray(object)) return item(object, key, fail);
  if (typeof object === "string") return byte(object, key, fail);
  if (isMap(object)) return own(object, usable(object, key, fail));
  return fail(`expected a map or an array before ${described(key)}, found ${kindOf(object)}`);
}

/** The keys of a record are texts, so a key of another kind is an error, not a missing key. */
function usable(map: object, key: unknown, fail: Fail): unknown {
  if (typeof key === "string" || key === null || map instanceof Map) return key;
  return fail(`the key of a map is a text, found ${kindOf(key)}`);
}

function described(key: unknown): string {
  return typeof key === "string" ? "a key" : "an index";
}

function item(array: readonly unknown[], key: unknown, fail: Fail): unknown {
  const index = truncated(key, fail);
  const at = index < 0 ? array.length + index : index;
  return at >= 0 && at < array.length
    ? (array[at] ?? null)
    : fail(`index ${index} is outside an array of ${array.length}`);
}

function byte(text: string, key: unknown, fail: Fail): unknown {
  const index = truncated(key, fail);
  const found = byteAt(text, index);
  return found === undefined ? fail(`index ${index} is outside the text`) : namedByte(found);
}

/** A position: an integer, or a float cut to one. */
export function truncated(given: unknown, fail: Fail): number {
  const value = unnamedByte(given);
  const number = typeof value === "bigint" ? Number(value) : typeof value === "number" ? Math.trunc(value) : undefined;
  if (number === undefined) return fail(`expected a number as a position, found ${kindOf(value)}`);
  return Math.abs(number) < 2 ** 63 ? number : fail("the position does not fit 64 bits");
}

/** `object[from:to]`: the bounds are clamped, negative ones count from the end; texts are cut at bytes. */
export function slice(object: unknown, from: unknown, to: unknown, fail: Fail, budget: Budget): unknown {
  if (!Array.isArray(object) && typeof object !== "string") {
    return fail(`expected an array or a text to slice, found ${kindOf(object)}`);
  }
  const first = from === undefined ? 0 : truncated(from, fail);
  const last = to === undefined ? Infinity : truncated(to, fail);
  if (typeof object === "string") {
    budget.make(object.length);
    return byteSlice(object, first, last);
  }
  const [start, end] = bounds(object.length, first, last);
  budget.step(end - start);
  return object.slice(start, end);
}

/** `needle in container`: finds an item of an array by value, or a key of a map; nothing is in nil. */
export function contained(needle: unknown, container: unknown, fail: Fail, budget: Budget): boolean {
  if (container === null || container === undefined) return false;
  if (Array.isArray(container)) {
    budget.step(container.length);
    return container.some((candidate) => equal(candidate, needle, budget));
  }
  if (isMap(container)) return hasKey(container, usable(container, needle, fail));
  return fail(`expected an array or a map after \`in\`, found ${kindOf(container)}`);
}

/** `from..to`, both included; empty where `to` is below `from`. */
export function range(from: unknown, to: unknown, fail: Fail, budget: Budget): bigint[] {
  const [first, last] = [truncated(from, fail), truncated(to, fail)];
  if (last < first) return [];
  budget.allocate(last - first + 1);
  return Array.from({ length: last - first + 1 }, (_, index) => int(first + index));
}
