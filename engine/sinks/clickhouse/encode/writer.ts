import type { Value } from "./values.ts";

/**
 * Writes values of one scalar column type as JSON that ClickHouse reads as exactly that value. Ranges are checked here,
 * because ClickHouse silently stores 300 in a UInt8 as 44.
 */
export interface Writer {
  /** JSON text, or undefined if the value does not fit. */
  write: (value: Value) => string | undefined;
  /** What fits, in general or instead of a given value: completes "expected ...". */
  expected: string | ((value: unknown) => string);
  /** JSON text for null and missing values in a column that is not Nullable; undefined if there is none. */
  zero: string | undefined;
}

/** Characters that need an escape in JSON, and surrogates, which may be lone. */
const special = /["\\\p{Cc}\p{Surrogate}]/u;
const loneSurrogate = /\p{Surrogate}/u;

/** Shorter strings are checked letter by letter: starting a regular expression takes longer. */
const short = 64;

/** A string as JSON. Lone surrogates are not valid text: ClickHouse refuses them. */
export function quoted(stored: string | undefined): string | undefined {
  if (stored === undefined) return undefined;
  if (isShortAscii(stored) || !special.test(stored)) return `"${stored}"`;
  return loneSurrogate.test(stored) ? undefined : JSON.stringify(stored);
}

/** Whether a string is short, and has only letters that JSON writes as they are. */
function isShortAscii(text: string): boolean {
  if (text.length > short) return false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charCodeAt(at);
    if (letter < 0x20 || letter > 0x7e || letter === 0x22 || letter === 0x5c) return false;
  }
  return true;
}

/** A writer of strings: `convert` returns the text to store. */
export function textWriter(
  expected: Writer["expected"],
  convert: (value: string) => string | undefined,
  zero: string | undefined,
): Writer {
  return {
    write: (value) => quoted(typeof value === "string" ? convert(value) : undefined),
    expected,
    zero,
  };
}
