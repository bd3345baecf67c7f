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
 * Yields the tokens of a ClickHouse statement, without comments. It is lazy, so that data after a statement is never
 * read. Malformed text gives some tokens; the engine refuses it later.
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

/** Reads the tokens of a statement with one token of lookahead, and never further. */
export class Reader {
  readonly text: string;
  readonly #tokens: Generator<Token, undefined>;
  #next: Token | undefined;

  constructor(text: string) {
    this.text = text;
    this.#tokens = tokens(text);
    this.#next = this.#tokens.next().value;
  }

  /** The token that `take` returns next. */
  get next(): Token | undefined {
    return this.#next;
  }

  take(): Token | undefined {
    const token = this.#next;
    this.#next = this.#tokens.next().value;
    return token;
  }

  /** Whether the next token is one of these words or signs. */
  sees(...words: string[]): boolean {
    return this.#next !== undefined && words.includes(upper(this.#next));
  }

  /** Takes the next token if it is this word or sign. */
  accepts(word: string): boolean {
    return this.sees(word) && this.take() !== undefined;
  }

  /** Takes a bracket and everything up to its closing bracket; false where there is none. */
  acceptsGroup(open: string, close: string): boolean {
    if (!this.accepts(open)) return false;
    for (let depth = 1; depth > 0;) {
      const token = this.take();
      if (token === undefined) break;
      if (token.kind === "sign") depth += Number(token.text === open) - Number(token.text === close);
    }
    return true;
  }
}

/** A word in capitals, or a sign; empty for quoted names and strings, which are never keywords. */
export function upper(token: Token): string {
  return token.kind === "word" || token.kind === "sign" ? token.text.toUpperCase() : "";
}
