import { type Token, tokens } from "./lexer.ts";

/** Walks over the tokens of a statement with one token of foresight, and never further than it is asked to. */
export class Reader {
  readonly text: string;
  readonly #tokens: Generator<Token, undefined>;
  #next: Token | undefined;

  constructor(text: string) {
    this.text = text;
    this.#tokens = tokens(text);
    this.#next = this.#tokens.next().value;
  }

  /** The token that `take` gives. */
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

  /** Takes a bracket and everything up to the one that closes it; false where there is none. */
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
