import { parseDuration, parseQuantity } from "../../schemas/index.ts";

const units: readonly (readonly [RegExp, string])[] = [
  [/^(ms|msecs?|millis|milliseconds?)$/i, "ms"],
  [/^(s|secs?|seconds?)$/i, "s"],
  [/^(m|mins?|minutes?)$/i, "m"],
  [/^(h|hrs?|hours?)$/i, "h"],
  [/^(d|days?)$/i, "d"],
];

/** What a text or number that is no duration was probably meant to say, such as `36h` for `1.5d` or `30s` for 30. */
export function suggestDuration(value: unknown): string | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*([a-z]*)$/i.exec(String(value).trim());
  if (match === null) return undefined;
  const [, amount = "", word = ""] = match;
  const unit = word === "" ? "s" : units.find(([pattern]) => pattern.test(word))?.[1];
  if (unit === undefined) return undefined;
  // Days are hours here: a fraction of a day has no spelling of its own, and a plain one is not known everywhere.
  const text = unit === "d" ? `${Number(amount) * 24}h` : `${amount}${unit}`;
  return parseDuration(text) === undefined ? undefined : `write "${text}"`;
}

/** What a text that is no quantity was probably meant to say, such as `128Mi` for `128 mi` or `10Gi` for `10 gb`. */
export function suggestQuantity(value: unknown): string | undefined {
  const match = /^(\d{1,18}(?:\.\d{1,9})?)\s*([kmgtpe]?)(i?b?)$/i.exec(String(value).trim());
  if (match === null) return undefined;
  const [, amount = "", prefix = "", binary = ""] = match;
  const unit = binary === "" && prefix.toLowerCase() === "k" ? "k" : prefix.toUpperCase();
  const text = `${amount}${unit}${unit !== "" && binary !== "" ? "i" : ""}`;
  return parseQuantity(text) === undefined ? undefined : `write "${text}"`;
}
