import { characters } from "../values/text.ts";

/** The place of a part of an expression: UTF-16 offsets into its text, `end` not included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * `compile`: the expression can never work. `evaluate`: it did not work for this record.
 */
export type Phase = "compile" | "evaluate";

const LONGEST_PART = 80;

/** The cause of a warning about a nested field that is not declared, and that looks like one that is. */
export class MisspeltField extends Error {}

/**
 * The one error type that leaves this folder. The message names the offending part of the expression, what was
 * expected and what kind of value was found, and the place; it never holds a value of the record.
 */
export class ExpressionError extends Error {
  readonly phase: Phase;
  /** The offending sub-expression, shortened. */
  readonly part: string;
  /** The message without part and place. */
  readonly detail: string;
  /** The name of the output that it is the expression of; undefined for a filter. */
  readonly output: string | undefined;
  /** UTF-16 offset of the part in the expression. */
  readonly offset: number;
  /** UTF-16 offset of the end of the part. */
  readonly end: number;
  /** From 1. */
  readonly line: number;
  /** From 1, in characters. */
  readonly column: number;

  readonly #source: string;

  constructor(phase: Phase, source: string, span: Span, detail: string, cause?: unknown, output?: string) {
    const part = shortened(source.slice(span.start, span.end));
    const before = source.slice(0, span.start);
    const line = before.split("\n").length;
    const column = characters(before.slice(before.lastIndexOf("\n") + 1)) + 1;
    const subject = part === "" ? "" : `\`${part}\`: `;
    const owner = output === undefined ? "" : `${output}: `;
    super(`${owner}${subject}${detail} (line ${line}, column ${column})`, cause === undefined ? undefined : { cause });
    this.name = "ExpressionError";
    this.phase = phase;
    this.part = part;
    this.detail = detail;
    this.output = output;
    this.offset = span.start;
    this.end = span.end;
    this.line = line;
    this.column = column;
    this.#source = source;
  }

  /** The same error, with the name of its output. */
  of(output: string): ExpressionError {
    return new ExpressionError(
      this.phase,
      this.#source,
      { start: this.offset, end: this.end },
      this.detail,
      this.cause,
      output,
    );
  }

  /** The same error as a reason to refuse the expression: it came from a record of zero values. */
  onZeroValues(): ExpressionError {
    const detail = `${this.detail}, when every field has its zero value ("", 0, false, [], {})`;
    return new ExpressionError("compile", this.#source, { start: this.offset, end: this.end }, detail);
  }
}

function shortened(part: string): string {
  const text = part.replaceAll(/\s+/g, " ").trim();
  return text.length <= LONGEST_PART ? text : `${text.slice(0, LONGEST_PART)}…`;
}
