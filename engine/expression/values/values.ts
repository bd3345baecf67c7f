import { Named } from "./named.ts";
import { Duration, Time } from "./time.ts";
import { Timezone } from "./zones.ts";

/**
 * The values of expressions, in one place:
 *
 * - nil is `null` (a missing field too; inside a `?.` chain `undefined` marks that the chain has ended),
 * - bool, string and array are JavaScript's own,
 * - **an integer is a bigint**, 64 bits, wrapping: literals, `len`, `int(…)` and what is computed from integers,
 * - **a float is a number**: every number of a record, so `amount % 2` is an error and `int(amount) % 2` is not,
 * - a map is a plain object (a record, a literal) or, where keys need not be texts, a `Map` (`groupBy`, `fromPairs`),
 * - times, durations, time zones, months, weekdays and the bytes of a text have classes of their own.
 *
 * A record may hold a bigint where its integer lies outside the range that a float keeps exactly: an integer of the
 * language where it fits 64 bits, else a float that keeps its digits until something is computed with it.
 */
export type Kind =
  "nil" | "bool" | "int" | "float" | "string" | "array" | "map" | "time" | "duration" | "timezone" | Named["kind"];

export type TextMap = Record<string, unknown>;

/** Texts that a function such as `split` made. It differs from other arrays in how `waterfall` sees it. */
export class TextList extends Array<string> {}

export function textList(texts: readonly string[]): TextList {
  const list = new TextList();
  for (const text of texts) list.push(text);
  return list;
}

export function kindOf(value: unknown): Kind {
  switch (typeof value) {
    case "string":
      return "string";
    case "number":
      return "float";
    case "boolean":
      return "bool";
    case "bigint":
      return fits64(value) ? "int" : "float";
    default:
      return kindOfObject(value);
  }
}

function kindOfObject(value: unknown): Kind {
  if (value === null || value === undefined) return "nil";
  if (Array.isArray(value)) return "array";
  if (value instanceof Time) return "time";
  if (value instanceof Duration) return "duration";
  if (value instanceof Named) return value.kind;
  return value instanceof Timezone ? "timezone" : "map";
}

export function isMap(value: unknown): value is TextMap | Map<unknown, unknown> {
  return typeof value === "object" && value !== null && kindOfObject(value) === "map";
}

const small: readonly bigint[] = Array.from({ length: 1024 }, (_, index) => BigInt(index));

/** An integer of the language from a safe integer. */
export function int(value: number): bigint {
  return small[value] ?? BigInt(value);
}

/** The 64-bit integer that `value` wraps to. */
export function wrapped(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}

export function fits64(value: bigint): boolean {
  return wrapped(value) === value;
}

/** Nanoseconds of a duration, the number of a month, a weekday or a byte; undefined for a value of another kind. */
export function wholeOf(value: unknown): bigint | undefined {
  if (value instanceof Duration) return value.nanoseconds;
  return value instanceof Named ? value.value : undefined;
}

/** Whether two operands are integers of the language, so that the result is one. */
export function areIntegers(a: unknown, b: unknown): boolean {
  return typeof a === "bigint" && typeof b === "bigint" && fits64(a) && fits64(b);
}

/** The value of an own key; nil where there is none. Inherited names such as `constructor` are keys like any other. */
export function own(map: TextMap | Map<unknown, unknown>, key: unknown): unknown {
  if (map instanceof Map) return map.get(key) ?? null;
  return typeof key === "string" && Object.hasOwn(map, key) ? (map[key] ?? null) : null;
}

export function hasKey(map: TextMap | Map<unknown, unknown>, key: unknown): boolean {
  if (map instanceof Map) return map.has(key);
  return typeof key === "string" && Object.hasOwn(map, key);
}

/** Sets an own key, `__proto__` too. */
export function put(map: TextMap, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    map[key] = value;
  }
}

/** Pairs in the order of their keys, so that one record always gives one result. */
export function pairs(map: TextMap | Map<unknown, unknown>): [unknown, unknown][] {
  const found: [unknown, unknown][] = map instanceof Map ? [...map] : Object.entries(map);
  return found.toSorted(([a], [b]) => compareKeys(a, b));
}

export function sizeOf(map: TextMap | Map<unknown, unknown>): number {
  return map instanceof Map ? map.size : Object.keys(map).length;
}

function compareKeys(a: unknown, b: unknown): number {
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  const [left, right] = [keyRank(a), keyRank(b)];
  if (left !== right) return left - right;
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0;
}

/** nil, numbers, texts, bools. */
function keyRank(key: unknown): number {
  if (key === null) return 0;
  return ["bigint", "number", "string", "boolean"].indexOf(typeof key) + 1;
}

/** Orders texts as their UTF-8 bytes are ordered. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return byteOrder(left) - byteOrder(right);
  }
  return a.length - b.length;
}

/** UTF-16 puts the surrogates, which are the highest characters, below U+E000. */
function byteOrder(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit;
}
