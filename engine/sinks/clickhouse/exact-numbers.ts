import { randomUUID } from "node:crypto";

/** Marks digits that were taken out of a number; drawn anew in each process, so that no event can carry it. */
const mark = `${randomUUID()}:`;

/** A whole number of 16 digits or more, or a string, which is skipped as one. */
const longWhole = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/**
 * Parses JSON with whole numbers beyond 2^53 as bigints: JSON.parse rounds them, and ids of that length are common.
 * Slower than JSON.parse, so it serves only the events that need it. Throws a RangeError where nesting or escapes
 * exhaust the stack, which JSON.parse alone survives. `text` must be valid JSON.
 */
export function parseExact(text: string): Record<string, unknown> {
  const marked = text.replace(longWhole, (token) => (token.startsWith('"') ? token : `"${mark}${token}"`));
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  ) as Record<string, unknown>;
}
