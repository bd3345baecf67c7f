import { mayHoldWide, parseExactly } from "./exact-json.ts";
import type { KnownTexts } from "./known-texts.ts";

const [quote, minus, point, letterT, letterF, letterN, zero] = Buffer.from('"-.tfn0') as unknown as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

/** Digits that a double holds exactly, whatever they are. */
const exactDigits = 15;
const powersOfTen = Array.from({ length: exactDigits + 1 }, (_, exponent) => 10 ** exponent);

/**
 * The value of JSON that lies in bytes, as a parse of the whole event would give it: whole numbers outside the safe
 * range are bigints. The bytes have been walked. `texts` are given where they spell a text letter by letter.
 */
export function valueOf(bytes: Buffer, start: number, end: number, texts: KnownTexts | undefined): unknown {
  switch (bytes[start]) {
    case quote:
      return texts === undefined ? parsed(bytes, start, end) : texts.of(bytes, start + 1, end - 1);
    case letterT:
      return true;
    case letterF:
      return false;
    case letterN:
      return null;
    default:
      return shortNumber(bytes, start, end) ?? parsed(bytes, start, end);
  }
}

/** A number of a few digits, with or without a point; undefined for what else there may be. */
function shortNumber(bytes: Buffer, start: number, end: number): number | undefined {
  const isNegative = bytes[start] === minus;
  const first = isNegative ? start + 1 : start;
  if (end - first > exactDigits) return undefined;
  let digits = 0;
  let behind = 0;
  let isBehind = 0;
  for (let at = first; at < end; at += 1) {
    const byte = bytes[at]!;
    const digit = byte - zero;
    if (digit >= 0 && digit <= 9) {
      digits = digits * 10 + digit;
      behind += isBehind;
    } else if (byte === point) isBehind = 1;
    else return undefined;
  }
  // Both are exact, so that their quotient is the double next to the number, which is what a parse gives.
  const size = behind === 0 ? digits : digits / powersOfTen[behind]!;
  return isNegative ? -size : size;
}

function parsed(bytes: Buffer, start: number, end: number): unknown {
  const text = bytes.toString("utf8", start, end);
  return mayHoldWide(bytes.subarray(start, end)) ? parseExactly(text) : (JSON.parse(text) as unknown);
}
