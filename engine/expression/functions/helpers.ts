import { type Call, catalog, type Catalog, type FunctionDefinition } from "./catalog.ts";
import { formatTime, parseTime } from "../values/layouts.ts";
import { bare, printed } from "../values/printing.ts";
import { indexIn } from "../values/search.ts";
import { lower, trimmed, upper } from "../values/text.ts";
import { Time } from "../values/time.ts";
import { arrayOf, bool, float, integer, text, type Type, unknown } from "../values/types.ts";
import { fits64, int, isMap, pairs, textList, TextList, wholeOf } from "../values/values.ts";
import { builtins } from "./builtins.ts";
import { readFloat } from "./numbers.ts";
import { queryHelpers, userAgentHelpers } from "./web-helpers.ts";
import { replaced, splitText } from "./texts.ts";

/** Times as `parseISO8601` accepts them. */
const isoLayouts = ["2006-01-02 15:04:05.000000", "2006-01-02T15:04:05Z", "2006-01-02T15:04:05Z07:00"];

/** A helper converts its arguments to text first; it ignores further ones. */
function onTexts(
  count: 1 | 2 | 3,
  gives: Type,
  run: (call: Call, a: string, b: string, c: string) => unknown,
): FunctionDefinition {
  return {
    takes: Array.from({ length: count }, () => "any" as const),
    rest: "any",
    gives,
    run: (call, a, b, c) => {
      const first = bare(a);
      call.budget.make(first.length);
      return run(call, first, bare(b), bare(c));
    },
  };
}

/** An empty text has no part, prefix or suffix, not even the empty text. */
function unlessEmpty(test: (value: string, other: string) => boolean): FunctionDefinition {
  return onTexts(2, bool, (_, value, other) => value !== "" && test(value, other));
}

function toInt({ fail }: Call, value: unknown): bigint {
  const known = wholeOf(value);
  if (known !== undefined) return known;
  if (typeof value === "bigint") return fits64(value) ? value : fail("toInt: the number does not fit 64 bits");
  const written = bare(value);
  const digits = /^[+-]?0*(\d{1,19})$/.test(written);
  const whole = digits ? BigInt(written.replace("+", "")) : floorOf(readFloat(written) ?? 0);
  return whole !== undefined && fits64(whole) ? whole : fail("toInt: the number does not fit 64 bits");
}

/** Rounded down; undefined where it is no finite number. */
function floorOf(value: number): bigint | undefined {
  return Number.isFinite(value) ? BigInt(Math.floor(value)) : undefined;
}

function toFloat(_: Call, value: unknown): number {
  const known = wholeOf(value);
  if (known !== undefined) return Number(known);
  return readFloat(bare(value)) ?? 0;
}

function toDate(_: Call, value: unknown): unknown {
  if (value instanceof Time) return formatTime(new Time(value.nanoseconds), "2006-01-02");
  if (typeof value !== "number" && typeof value !== "bigint") return 0n;
  const milliseconds = Math.trunc(Number(value)) * 1000;
  return Math.abs(milliseconds) <= 8.64e15 ? formatTime(Time.fromMilliseconds(milliseconds), "2006-01-02") : 0n;
}

function parseIso({ budget }: Call, value: unknown): bigint {
  if (value instanceof Time) return int(value.unix);
  const written = bare(value);
  budget.make(written.length);
  for (const layout of isoLayouts) {
    const found = parseTime(written, layout);
    if (found !== undefined) return int(found.unix);
  }
  return 0n;
}

/** The first argument that is neither nil nor "", or the first such item where the first argument is an array. */
function waterfall({ budget }: Call, ...args: unknown[]): string {
  const [first] = args;
  const candidates = Array.isArray(first) && !(first instanceof TextList) ? (first as readonly unknown[]) : args;
  budget.step(candidates.length);
  const found = candidates.find((candidate) => candidate !== null && candidate !== "");
  return found === undefined ? "" : printed(found, budget);
}

/** Whether `test` holds for any key of a map and any item of a list. */
function anyKey(test: (key: string, item: string) => boolean): FunctionDefinition {
  return {
    takes: ["any", "any"],
    rest: "any",
    gives: bool,
    run: ({ budget }, map, list) => {
      if (!isMap(map) || !Array.isArray(list)) return false;
      const names = pairs(map).map(([key]) => bare(key));
      budget.step(names.length * list.length + 1);
      return (list as readonly unknown[]).some((item) => names.some((name) => test(name, bare(item))));
    },
  };
}

function keys({ budget }: Call, map: unknown): unknown {
  if (!isMap(map)) return [];
  const found = pairs(map).map(([key]) => key);
  budget.step(found.length);
  return found;
}

function join({ budget }: Call, list: unknown, separator: unknown): string {
  if (!Array.isArray(list)) return "";
  budget.step(list.length);
  const texts = Array.from(list as readonly unknown[], bare);
  budget.make(texts.reduce((sum, item) => sum + item.length, texts.length * bare(separator).length));
  return texts.join(bare(separator));
}

const one = { takes: ["any"], rest: "any" } as const;
const two = { takes: ["any", "any"], rest: "any" } as const;

const ownHelpers: Readonly<Record<string, FunctionDefinition>> = {
  parseISO8601: { ...one, gives: integer, run: parseIso },
  toDate: { ...one, gives: unknown, run: toDate },
  containsStr: unlessEmpty((value, part) => indexIn(value, part) !== -1),
  hasPrefix: unlessEmpty((value, prefix) => value.startsWith(prefix)),
  hasSuffix: unlessEmpty((value, suffix) => value.endsWith(suffix)),
  upper: onTexts(1, text, (_, value) => upper(value)),
  lower: onTexts(1, text, (_, value) => lower(value)),
  trim: onTexts(1, text, (_, value) => trimmed(value)),
  split: onTexts(2, unknown, ({ budget }, value, separator) => {
    if (value === "") return "";
    const parts = splitText(value, separator, -1);
    budget.step(parts.length);
    return textList(parts);
  }),
  join: { ...two, gives: text, run: join },
  replace: onTexts(3, text, (call, value, old, fresh) => {
    return value === "" ? "" : replaced(call, value, old, fresh, -1);
  }),
  toInt: { ...one, gives: integer, run: toInt },
  toFloat: { ...one, gives: float, run: toFloat },
  toString: onTexts(1, text, (_, value) => value),
  keys: { ...one, gives: arrayOf(unknown), run: keys },
  waterfall: { ...one, gives: text, run: waterfall },
  hasKeyPrefix: anyKey((name, prefix) => name.startsWith(prefix)),
  hasAnyKey: anyKey((name, key) => key !== "" && name === key),
};

/** All functions of stateless transforms: the builtins, and the helpers, which replace builtins of the same name. */
export const helpers: Catalog = new Map([...builtins, ...catalog(ownHelpers, queryHelpers, userAgentHelpers)]);
