import { ExpressionError } from "./errors.ts";

const simple: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "`": "`",
  "?": "?",
};

const escape = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-3][0-7]{2})|(.)|$)/gsu;

/**
 * The value of a quoted literal, quotes included in `literal`. A surrogate that is written as an escape is U+FFFD, also
 * where two of them would make a pair: an escape stands for one whole character.
 */
export function unescape(literal: string, source: string, start: number): string {
  const quote = literal.charAt(0);
  const body = literal.slice(1, -1);
  if (!body.includes("\\")) return body.replaceAll("\r", "\n");
  return body.replaceAll("\r", "\n").replaceAll(escape, (...found) => {
    const [written, hex2, hex4, hex8, octal, plain] = found as (string | undefined)[];
    const at = start + 1 + (found[6] as number);
    const code = hex2 ?? hex4 ?? hex8;
    if (code !== undefined) return character(Number.parseInt(code, 16), { source, at, written: written ?? "" });
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
    const value = plain === undefined ? undefined : own(plain, quote);
    if (value !== undefined) return value;
    throw unknown({ source, at, written: written ?? "" });
  });
}

interface Place {
  source: string;
  at: number;
  written: string;
}

/** A quote is escaped only within its own kind. */
function own(letter: string, quote: string): string | undefined {
  if ((letter === "'" || letter === '"') && letter !== quote) return undefined;
  return letter === "`" || letter === "?" ? undefined : simple[letter];
}

function character(code: number, place: Place): string {
  if (code > 0x10ffff) throw unknown(place);
  return code >= 0xd800 && code <= 0xdfff ? "\ufffd" : String.fromCodePoint(code);
}

function unknown({ source, at, written }: Place): ExpressionError {
  const detail = String.raw`unknown escape: expected \n \t \\ \" or another one-letter escape, \x41, \u0041, \U00000041 or \101`;
  return new ExpressionError("compile", source, { start: at, end: at + written.length }, detail);
}
