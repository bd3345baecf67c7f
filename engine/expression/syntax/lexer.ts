import { ExpressionError } from "./errors.ts";

export type TokenKind = "name" | "int" | "float" | "text" | "operator" | "end";

export interface Token {
  readonly kind: TokenKind;
  /** The decoded text of a literal, the digits of a number without `_`, otherwise the token as written. */
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** Reserved words: they cannot be names of fields, except after a dot. */
const words = new Set("not in or and matches contains startsWith endsWith let if else".split(" "));

/** Longest first: the lexer takes the first that fits. */
const symbols = "?. ?? == != <= >= && || ** .. ( ) [ ] { } + - * / % ^ < > ! = ? : ; , . # |".split(" ");

const space = /[\s\u0085]+/uy;
const comment = /\/\/[^\n]*|\/\*[^]*?\*\//y;
const name = /[\p{L}_$][\p{L}\p{Nd}_$]*/uy;
const number =
  /0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\d[\d_]*(?:\.(?!\.)[\d_]*)?(?:[eE][+-]?\d[\d_]*)?|\.\d[\d_]*(?:[eE][+-]?\d[\d_]*)?/y;
const quoted = /"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*'/y;
const raw = /`[^`]*`/y;

/** UTF-16 units in one expression. */
export const LONGEST = 1_000_000;

/** Cuts an expression into tokens; the last one is always `end`. Throws ExpressionError. */
export function tokens(source: string): Token[] {
  if (source.length > LONGEST) {
    const detail = `the expression is too long: expected at most ${LONGEST} characters, found ${source.length}`;
    throw new ExpressionError("compile", source, { start: 0, end: 0 }, detail);
  }
  const found: Token[] = [];
  let at = skip(source, 0);
  while (at < source.length) {
    const read = next(source, at);
    found.push(read);
    at = skip(source, read.end);
  }
  found.push({ kind: "end", value: "end of the expression", start: source.length, end: source.length });
  return found;
}

function skip(source: string, start: number): number {
  let at = start;
  for (;;) {
    const blank = match(space, source, at) ?? match(comment, source, at);
    if (blank === undefined) return at;
    at += blank.length;
  }
}

function next(source: string, start: number): Token {
  const digits = match(number, source, start);
  if (digits !== undefined) return numberToken(source, start, digits);
  const word = match(name, source, start);
  if (word !== undefined) return token(words.has(word) ? "operator" : "name", word, start, word);
  const literal = match(quoted, source, start);
  if (literal !== undefined) {
    return { kind: "text", value: unescape(literal, source, start), start, end: start + literal.length };
  }
  const verbatim = match(raw, source, start);
  if (verbatim !== undefined) return token("text", verbatim.slice(1, -1), start, verbatim);
  const symbol = symbols.find((candidate) => source.startsWith(candidate, start));
  if (symbol !== undefined) return token("operator", symbol, start, symbol);
  return refuse(source, start);
}

function token(kind: TokenKind, value: string, start: number, written: string): Token {
  return { kind, value, start, end: start + written.length };
}

function numberToken(source: string, start: number, written: string): Token {
  const rest = match(name, source, start + written.length);
  const value = written.replaceAll("_", "");
  if (rest !== undefined || /^0[xXoObB]$/.test(value)) {
    const end = start + written.length + (rest?.length ?? 0);
    throw new ExpressionError("compile", source, { start, end }, "this is not a number");
  }
  const isFloat = !/^0[xX]/.test(value) && /[.eE]/.test(value);
  return token(isFloat ? "float" : "int", value, start, written);
}

function refuse(source: string, start: number): never {
  const character = String.fromCodePoint(source.codePointAt(start) ?? 0);
  const end = start + character.length;
  const detail =
    character === '"' || character === "'" || character === "`"
      ? "this text is not closed: expected the same quote at its end"
      : source.startsWith("/*", start)
        ? "this comment is not closed: expected */"
        : "this character has no meaning here";
  throw new ExpressionError("compile", source, { start, end }, detail);
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

/** The meaning of a letter after a backslash. */
const oneLetterEscapes: Readonly<Record<string, string>> = {
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
 * The value of a quoted literal, quotes included in `literal`. A surrogate that is written as an escape becomes U+FFFD,
 * even where two of them would form a pair: an escape stands for one whole character.
 */
function unescape(literal: string, source: string, start: number): string {
  const quote = literal.charAt(0);
  const body = literal.slice(1, -1);
  if (!body.includes("\\")) return body.replaceAll("\r", "\n");
  return body.replaceAll("\r", "\n").replaceAll(escape, (...found) => {
    const [written, hex2, hex4, hex8, octal, plain] = found as (string | undefined)[];
    const at = start + 1 + (found[6] as number);
    const code = hex2 ?? hex4 ?? hex8;
    if (code !== undefined) return characterOf(Number.parseInt(code, 16), { source, at, written: written ?? "" });
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
    const value = plain === undefined ? undefined : oneLetterEscape(plain, quote);
    if (value !== undefined) return value;
    throw unknownEscape({ source, at, written: written ?? "" });
  });
}

interface Place {
  source: string;
  at: number;
  written: string;
}

/** Undefined for an invalid escape: a quote may be escaped only within quotes of its kind. */
function oneLetterEscape(letter: string, quote: string): string | undefined {
  if ((letter === "'" || letter === '"') && letter !== quote) return undefined;
  return letter === "`" || letter === "?" ? undefined : oneLetterEscapes[letter];
}

function characterOf(code: number, place: Place): string {
  if (code > 0x10ffff) throw unknownEscape(place);
  return code >= 0xd800 && code <= 0xdfff ? "\ufffd" : String.fromCodePoint(code);
}

function unknownEscape({ source, at, written }: Place): ExpressionError {
  const detail = String.raw`unknown escape: expected \n \t \\ \" or another one-letter escape, \x41, \u0041, \U00000041 or \101`;
  return new ExpressionError("compile", source, { start: at, end: at + written.length }, detail);
}
