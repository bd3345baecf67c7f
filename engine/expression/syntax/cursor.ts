import { ExpressionError } from "./errors.ts";
import type { Span } from "./errors.ts";
import { tokens } from "./lexer.ts";
import type { Token, TokenKind } from "./lexer.ts";

/** Reads the tokens of one expression, one ahead. */
export class Cursor {
  readonly source: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(source: string) {
    this.source = source;
    this.#tokens = tokens(source);
  }

  get current(): Token {
    return this.#peek(0);
  }

  get following(): Token {
    return this.#peek(1);
  }

  /** The end of the previous token. */
  get end(): number {
    return this.#at === 0 ? 0 : this.#peek(-1).end;
  }

  #peek(ahead: number): Token {
    const index = Math.min(this.#at + ahead, this.#tokens.length - 1);
    return this.#tokens[index] as Token;
  }

  /** Whether the current token is the operator, bracket or word `symbol`. */
  is(symbol: string): boolean {
    return this.current.kind === "operator" && this.current.value === symbol;
  }

  take(): Token {
    const token = this.current;
    this.#at += 1;
    return token;
  }

  /** Takes the operator `symbol` if it comes next. */
  accept(symbol: string): boolean {
    if (!this.is(symbol)) return false;
    this.#at += 1;
    return true;
  }

  expect(symbol: string): Token {
    return this.is(symbol) ? this.take() : this.refuse(`expected \`${symbol}\``);
  }

  expectKind(kind: TokenKind, what: string): Token {
    return this.current.kind === kind ? this.take() : this.refuse(`expected ${what}`);
  }

  /** Throws, because the current token is not allowed here. */
  refuse(expected: string): never {
    const found = this.current.kind === "end" ? "the expression ends" : "found this";
    throw this.error(this.current, `${expected}, ${found}`);
  }

  error(span: Span, detail: string): ExpressionError {
    return new ExpressionError("compile", this.source, span, detail);
  }
}
