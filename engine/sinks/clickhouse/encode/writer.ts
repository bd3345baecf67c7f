import type { Value } from "./values.ts";

/**
 * Writes values of one scalar column type as JSON that ClickHouse reads back as exactly that value. Ranges are checked
 * here, because ClickHouse stores 300 in a UInt8 as 44 in silence.
 */
export interface Writer {
  /** JSON text, or undefined if the value does not fit. */
  write: (value: Value) => string | undefined;
  /** What fits, or what would have fitted in a value's place: completes "expected ...". */
  expected: string | ((value: unknown) => string);
  /** JSON text that stands for null and missing values in a column that holds no NULL; undefined if there is none. */
  zero: string | undefined;
}

/** What makes a text differ from its JSON, besides the quotes, or no text at all. */
const special = /["\\\p{Cc}\p{Surrogate}]/u;
const loneSurrogate = /\p{Surrogate}/u;

/** Shorter texts are looked at letter by letter: a pattern takes longer to begin. */
const short = 64;

/** A text as JSON. Lone surrogates are no text: ClickHouse refuses them. */
export function quoted(stored: string | undefined): string | undefined {
  if (stored === undefined) return undefined;
  if (isShortAscii(stored) || !special.test(stored)) return `"${stored}"`;
  return loneSurrogate.test(stored) ? undefined : JSON.stringify(stored);
}

/** Whether a text is short, and of letters that JSON writes as they are. */
function isShortAscii(text: string): boolean {
  if (text.length > short) return false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charCodeAt(at);
    if (letter < 0x20 || letter > 0x7e || letter === 0x22 || letter === 0x5c) return false;
  }
  return true;
}

/** A writer of strings: `convert` gives the text to store. */
export function textWriter(
  expected: string,
  convert: (value: string) => string | undefined,
  zero: string | undefined,
): Writer {
  return {
    write: (value) => quoted(typeof value === "string" ? convert(value) : undefined),
    expected,
    zero,
  };
}
