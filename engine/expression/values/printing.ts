import { infinite, plainNumber } from "../../event/plain-numbers.ts";
import type { Budget } from "./budget.ts";
import { formatTime, timeText } from "./layouts.ts";
import { Named } from "./named.ts";
import { Duration, Time } from "./time.ts";
import { isMap, kindOf, pairs, wholeOf } from "./values.ts";
import { Timezone } from "./zones.ts";
import type { Fail } from "./arithmetic.ts";

/** A float as `string` prints it: with an exponent of two digits below 1e-4 and from 1e6 on. */
function printedFloat(value: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (value === 0 || (power >= -4 && power < 6)) return plainNumber(value);
  const digits = String(Math.abs(power)).padStart(2, "0");
  return `${mantissa}e${power < 0 ? "-" : "+"}${digits}`;
}

/** The text of a value as `string(…)` gives it: `<nil>`, `1e+06`, `[a b]`, `map[k:v]` with sorted keys. */
export function printed(value: unknown, budget: Budget): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return printedFloat(value);
  if (value === null || value === undefined) return "<nil>";
  const named = textOf(value);
  if (named !== undefined) return named;
  if (Array.isArray(value))
    return collected(
      "[",
      value.map((item) => printed(item, budget)),
      budget,
    );
  if (!isMap(value)) return scalar(value);
  const entries = pairs(value).map(([key, item]) => `${printed(key, budget)}:${printed(item, budget)}`);
  return collected("map[", entries, budget);
}

function scalar(value: unknown): string {
  return typeof value === "boolean" || typeof value === "bigint" ? value.toString() : "";
}

/** The text of a time, duration, time zone, month, weekday or byte; undefined for a value of another kind. */
export function textOf(value: unknown): string | undefined {
  if (value instanceof Time) return timeText(value);
  if (value instanceof Duration) return value.toString();
  if (value instanceof Timezone || value instanceof Named) return value.name;
  return undefined;
}

function collected(open: string, parts: readonly string[], budget: Budget): string {
  budget.step(parts.length + 1);
  const text = `${open}${parts.join(" ")}]`;
  budget.make(text.length);
  return text;
}

/** The text of a value for the arguments of helpers: nil, arrays and maps are empty, numbers have no exponent. */
export function bare(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return typeof value === "number" || typeof value === "bigint" ? plainNumber(value) : (textOf(value) ?? "");
}

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
  const whole = wholeOf(value);
  if (whole !== undefined) return whole.toString();
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
