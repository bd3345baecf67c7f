import type { Fail } from "./arithmetic.ts";
import type { Budget } from "./budget.ts";
import { formatTime } from "./layouts.ts";
import { Duration, Time } from "./time.ts";
import { isMap, kindOf, pairs } from "./values.ts";

const escapes: Readonly<Record<string, string>> = {
  "<": String.raw`\u003c`,
  ">": String.raw`\u003e`,
  "&": String.raw`\u0026`,
  "\u2028": String.raw`\u2028`,
  "\u2029": String.raw`\u2029`,
};

/** JSON with two spaces of indentation and sorted keys; `< > &` are escaped, so that it may stand in HTML. */
export function writeJson(value: unknown, budget: Budget, fail: Fail, indent = "\n"): string {
  budget.step(1);
  if (typeof value === "string") return quotedText(value, budget);
  if (typeof value === "number")
    return Number.isFinite(value) ? JSON.stringify(value) : fail("JSON has no NaN and no infinity");
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value instanceof Duration) return value.nanoseconds.toString();
  if (value instanceof Time) return `"${rfc3339(value)}"`;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    return enclosed(
      "[",
      "]",
      value.map((item) => writeJson(item, budget, fail, inner)),
      indent,
    );
  }
  if (!isMap(value)) return fail(`toJSON cannot write a value of kind ${kindOf(value)}`);
  const members = pairs(value).map(([key, item]) => {
    if (typeof key !== "string") return fail(`JSON has texts as keys, found ${kindOf(key)}`);
    return `${quotedText(key, budget)}: ${writeJson(item, budget, fail, inner)}`;
  });
  return enclosed("{", "}", members, indent);
}

function quotedText(text: string, budget: Budget): string {
  budget.make(text.length);
  return JSON.stringify(Buffer.from(text).toString()).replaceAll(
    /[<>&\u2028\u2029]/g,
    (found) => escapes[found] ?? found,
  );
}

function enclosed(open: string, close: string, parts: readonly string[], indent: string): string {
  return parts.length === 0 ? open + close : `${open}${indent}  ${parts.join(`,${indent}  `)}${indent}${close}`;
}

/** `2006-01-02T15:04:05.999Z` */
export function rfc3339(time: Time): string {
  return formatTime(time, "2006-01-02T15:04:05.999999999Z07:00");
}
