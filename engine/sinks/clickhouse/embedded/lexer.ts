/** One word, quoted name, string, number or sign of a statement; `start` and `end` are offsets into its text. */
export interface Token {
  kind: "word" | "name" | "string" | "sign";
  text: string;
  start: number;
  end: number;
}

const trivia = /(?:[ \t\n\r\f\v\0]+|--[^\n]*|#[ !][^\n]*|\/\*[\s\S]*?(?:\*\/|$))*/y;
const shapes: readonly [Token["kind"], RegExp][] = [
  ["string", /'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*(?:'|$)/y],
  ["name", /"[^"\\]*(?:(?:\\[\s\S]|"")[^"\\]*)*(?:"|$)|`[^`\\]*(?:(?:\\[\s\S]|``)[^`\\]*)*(?:`|$)/y],
  ["string", /\$([A-Za-z0-9_]*)\$[\s\S]*?(?:\$\1\$|$)/y],
  ["word", /[A-Za-z0-9_$\u0080-\uffff]+/y],
];

/**
 * The tokens of a ClickHouse statement, one after the other, without comments. It stops where the caller stops, so
 * that data behind a statement is never looked at. Ill-formed text gives some tokens; the engine is the one to refuse it.
 */
export function* tokens(text: string): Generator<Token, undefined> {
  let at = 0;
  for (;;) {
    trivia.lastIndex = at;
    trivia.exec(text);
    const start = trivia.lastIndex;
    if (start >= text.length) return undefined;
    const token = tokenAt(text, start);
    at = token.end;
    yield token;
  }
}

function tokenAt(text: string, start: number): Token {
  for (const [kind, shape] of shapes) {
    shape.lastIndex = start;
    const found = shape.exec(text);
    if (found) return { kind, text: found[0], start, end: start + found[0].length };
  }
  return { kind: "sign", text: text.charAt(start), start, end: start + 1 };
}
