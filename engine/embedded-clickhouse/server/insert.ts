import { raise } from "./exception.ts";
import { type Reader, upper } from "./tokens.ts";

/** An insert whose rows are in the request. */
export interface InsertWithData {
  kind: "insert";
  /** The start of the data, in bytes of the request. */
  dataAt: number;
  /** Whether the engine counts the written rows: not for a SELECT from `input`. */
  countsRows: boolean;
  /** The statement that reads the data from the file at `path`, a plain ASCII path. */
  reading(path: string): string;
}

/**
 * Reads an insert after its first word: `[INTO] [TABLE] target [(columns)] [SETTINGS ...] FORMAT name data`, `...
 * VALUES data`, or `... SELECT ... input('columns') ... FORMAT name data`.
 *
 * @returns undefined for an insert whose rows come only from a SELECT.
 * @throws Exception 62 for any other form, 78 for a file of the client.
 */
export function insertWithData(reader: Reader): InsertWithData | undefined {
  reader.accepts("INTO");
  reader.accepts("TABLE");
  target(reader);
  reader.acceptsGroup("(", ")");
  const head = reader.next?.start ?? reader.text.length;
  if (reader.accepts("FROM") && reader.sees("INFILE")) {
    throw raise("UNKNOWN_TYPE_OF_QUERY", "Query has infile and was send directly to server.");
  }
  while (reader.next && !reader.sees("FORMAT", "VALUES", "SELECT", "WITH", ";")) {
    if (!reader.acceptsGroup("(", ")")) reader.take();
  }
  if (reader.sees("SELECT", "WITH")) return insertSelect(reader);
  return withData(
    reader,
    (path, until, format) => {
      const [into, settings] = [reader.text.slice(0, head), reader.text.slice(head, until)];
      return `${into} FROM INFILE ${path} COMPRESSION 'none' ${settings} FORMAT ${format}`;
    },
    true,
  );
}

/** `[database.]table`, each part of which may be a `{name:Identifier}`, or `FUNCTION name(arguments)`. */
function target(reader: Reader): void {
  const isFunction = reader.accepts("FUNCTION");
  do {
    if (!reader.acceptsGroup("{", "}")) reader.take();
  } while (reader.accepts("."));
  if (isFunction) reader.acceptsGroup("(", ")");
}

/** The engine's own `input` sees no rows, so `file` takes its place. */
function insertSelect(reader: Reader): InsertWithData | undefined {
  let input: InputCall | undefined;
  while (reader.next && !reader.sees(";") && !(input && reader.sees("FORMAT"))) {
    const word = reader.take();
    if (word && upper(word) === "INPUT" && reader.sees("(")) input = inputCall(reader, word.start);
  }
  if (!input) return undefined;
  const { start, end, columns } = input;
  return withData(
    reader,
    (path, until, format) => {
      const file = `file(${[path, format, ...columns].join(", ")})`;
      return `${reader.text.slice(0, start)}${file}${reader.text.slice(end, until)}`;
    },
    false,
  );
}

interface InputCall {
  start: number;
  end: number;
  /** Its string literal, if any. */
  columns: string[];
}

function inputCall(reader: Reader, start: number): InputCall {
  reader.take();
  const columns = reader.next?.kind === "string" ? [reader.take()?.text ?? ""] : [];
  const close = reader.take();
  return { start, end: close?.end ?? reader.text.length, columns };
}

/** The end of an insert with data: the FORMAT clause, and the start of the data. */
function withData(
  reader: Reader,
  build: (path: string, until: number, format: string) => string,
  countsRows: boolean,
): InsertWithData {
  const clause = reader.take();
  const format = clause && upper(clause) === "FORMAT" ? reader.take() : clause;
  if (!clause || format?.kind !== "word") {
    const at = (format ?? clause)?.start ?? reader.text.length;
    throw raise(
      "SYNTAX_ERROR",
      `Syntax error: failed at position ${at + 1}. Expected FORMAT and the name of a format.`,
    );
  }
  const name = format === clause ? "Values" : format.text;
  return {
    kind: "insert",
    countsRows,
    dataAt: dataAfter(reader.text, format.end),
    reading: (path) => Buffer.from(build(`'${path}'`, clause.start, name), "latin1").toString(),
  };
}

/** Data starts after the first line break after the format, or after the blanks if there is none. */
function dataAfter(text: string, end: number): number {
  const gap = /[ \t\f]*\r?\n?/y;
  gap.lastIndex = end;
  gap.exec(text);
  return gap.lastIndex;
}
