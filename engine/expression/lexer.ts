import { ExpressionError } from "./errors.ts";
import { unescape } from "./escapes.ts";

export type TokenKind = "name" | "int" | "float" | "text" | "operator" | "end";

export interface Token {
  readonly kind: TokenKind;
  /** The decoded text of a literal, the digits of a number without `_`, otherwise the token as written. */
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** Names that are operators or statements, and so never the name of a field (except behind a dot). */
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
