import { truncated } from "../values/access.ts";
import type { Call, FunctionDefinition } from "./catalog.ts";
import { indexIn, isQuickSearch, lastIndexIn } from "../values/search.ts";
import { bytePosition, lower, trimmed, upper } from "../values/text.ts";
import { arrayOf, bool, integer, text } from "../values/types.ts";
import { int, kindOf, textList } from "../values/values.ts";

type Run = FunctionDefinition["run"];

/** The arguments have been checked against the table: those of kind `string` are texts. */
function onText(change: (value: string) => string): FunctionDefinition {
  return {
    takes: ["string"],
    gives: text,
    run: ({ budget }, value) => {
      budget.make((value as string).length);
      return change(value as string);
    },
  };
}

function onTwo(run: (value: string, other: string) => unknown, gives = bool): FunctionDefinition {
  return {
    takes: ["string", "string"],
    gives,
    run: ({ budget }, value, other) => {
      budget.read((value as string).length);
      return run(value as string, other as string);
    },
  };
}

/** Removes the characters of `set` at both ends. */
function trimSet(value: string, set: string): string {
  const unwanted = new Set(set);
  const characters = Array.from(value);
  let start = 0;
  let end = characters.length;
  while (start < end && unwanted.has(characters[start] ?? "")) start += 1;
  while (end > start && unwanted.has(characters[end - 1] ?? "")) end -= 1;
  return characters.slice(start, end).join("");
}

/**
 * At most `limit` parts, the last with the rest; a negative limit means no limit. Without a separator one part per
 * character.
 */
export function splitText(value: string, separator: string, limit: number, keep = false): string[] {
  if (limit === 0) return [];
  const most = limit < 0 ? Infinity : limit;
  if (separator === "") return splitCharacters(value, most);
  const parts: string[] = [];
  let start = 0;
  for (
    let at = indexIn(value, separator);
    at !== -1 && parts.length < most - 1;
    at = indexIn(value, separator, start)
  ) {
    parts.push(value.slice(start, keep ? at + separator.length : at));
    start = at + separator.length;
  }
  parts.push(value.slice(start));
  return parts;
}

function splitCharacters(value: string, most: number): string[] {
  const characters = Array.from(value);
  if (characters.length <= most) return characters;
  return [...characters.slice(0, most - 1), characters.slice(most - 1).join("")];
}

function splitting(keep: boolean): Run {
  return ({ budget, fail }, value, separator, limit = -1n) => {
    const parts = splitText(value as string, separator as string, truncated(limit, fail), keep);
    budget.step(parts.length);
    budget.make((value as string).length);
    return textList(parts);
  };
}

/** Up to this product of lengths JavaScript's own `replaceAll` is used, which gives `$` a special meaning. */
const QUICK = 65_536;

/**
 * Replaces the first `limit` occurrences; a negative limit means all. An empty `old` occurs before each character and
 * at the end.
 */
export function replaced({ budget }: Call, value: string, old: string, fresh: string, limit: number): string {
  const isQuick = isQuickSearch(value, old);
  if (limit < 0 && old !== "" && isQuick && value.length * fresh.length <= QUICK && !fresh.includes("$")) {
    budget.make(value.length * (1 + fresh.length));
    return value.replaceAll(old, fresh);
  }
  const parts = old !== "" && isQuick ? value.split(old) : splitText(value, old, -1);
  const places = old === "" ? parts.length + 1 : parts.length - 1;
  const count = limit < 0 ? places : Math.min(limit, places);
  budget.make(value.length + count * fresh.length);
  if (old === "") return interspersed(parts, fresh, count);
  const rest = parts.slice(count + 1).map((part) => old + part);
  return parts.slice(0, count + 1).join(fresh) + rest.join("");
}

function interspersed(characters: readonly string[], fresh: string, count: number): string {
  const changed = characters.map((character, index) => (index < count ? fresh + character : character)).join("");
  return count > characters.length ? changed + fresh : changed;
}

/** The memory limit counts repeated text in full, character by character. */
function repeat({ budget, fail }: Call, value: unknown, times: unknown): unknown {
  const count = truncated(times, fail);
  if (count < 0) return fail("repeat expects a count of 0 or more, found a negative one");
  budget.allocate((value as string).length * count);
  return (value as string).repeat(count);
}

function join({ budget, fail }: Call, items: unknown, separator: unknown = ""): unknown {
  const texts = items as readonly unknown[];
  let length = 0;
  budget.step(texts.length);
  for (const item of texts) {
    if (typeof item !== "string") return fail(`join expects an array of texts, found ${kindOf(item)} in it`);
    length += item.length + (separator as string).length;
  }
  budget.make(length);
  return texts.join(separator as string);
}

/** The functions of texts. */
export const textFunctions: Readonly<Record<string, FunctionDefinition>> = {
  trim: {
    takes: ["string", "string"],
    optional: 1,
    gives: text,
    run: ({ budget }, value, set) => {
      budget.make((value as string).length);
      return set === undefined ? trimmed(value as string) : trimSet(value as string, set as string);
    },
  },
  trimPrefix: {
    takes: ["string", "string"],
    optional: 1,
    gives: text,
    run: (_, value, prefix = " ") => {
      const whole = value as string;
      return whole.startsWith(prefix as string) ? whole.slice((prefix as string).length) : whole;
    },
  },
  trimSuffix: {
    takes: ["string", "string"],
    optional: 1,
    gives: text,
    run: (_, value, suffix = " ") => {
      const whole = value as string;
      return whole.endsWith(suffix as string) ? whole.slice(0, whole.length - (suffix as string).length) : whole;
    },
  },
  upper: onText(upper),
  lower: onText(lower),
  split: { takes: ["string", "string", "position"], optional: 1, gives: arrayOf(text), run: splitting(false) },
  splitAfter: { takes: ["string", "string", "position"], optional: 1, gives: arrayOf(text), run: splitting(true) },
  replace: {
    takes: ["string", "string", "string", "position"],
    optional: 1,
    gives: text,
    run: (call, value, old, fresh, limit = -1n) => {
      return replaced(call, value as string, old as string, fresh as string, truncated(limit, call.fail));
    },
  },
  repeat: { takes: ["string", "position"], gives: text, run: repeat },
  join: { takes: ["array", "string"], optional: 1, gives: text, run: join },
  indexOf: onTwo((value, other) => int(bytePosition(value, indexIn(value, other))), integer),
  lastIndexOf: onTwo((value, other) => int(bytePosition(value, lastIndexIn(value, other))), integer),
  hasPrefix: onTwo((value, other) => value.startsWith(other)),
  hasSuffix: onTwo((value, other) => value.endsWith(other)),
};
