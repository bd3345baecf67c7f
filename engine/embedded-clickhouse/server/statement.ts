import { raise } from "./exception.ts";
import { type InsertWithData, insertWithData } from "./insert.ts";
import { Reader, type Token, tokens, upper } from "./tokens.ts";

/**
 * The statement of a request. The data of an insert never becomes part of the executed text, because the engine would
 * run what follows an empty line in it: the data is written to a file, which the statement names.
 */
export type Statement = InsertWithData | PlainStatement;

export interface PlainStatement {
  kind: "plain";
  sql: string;
  /** Whether it leaves settings, database and temporary tables of its session unchanged. */
  leavesSessionUnchanged: boolean;
  /** Whether it only reads. */
  readsOnly: boolean;
  /** Whether a table with a deduplication log may be there after it that was not there before. */
  mayMakeTable: boolean;
  /** The format of the answer, if the statement names one. */
  format: string | undefined;
}

const reading: ReadonlySet<string> = new Set("( SELECT WITH SHOW DESCRIBE DESC EXPLAIN EXISTS".split(" "));
const writing: ReadonlySet<string> = new Set("INSERT OPTIMIZE TRUNCATE ALTER DROP RENAME".split(" "));
/** Statements that make no table, nor a deduplication log: all others may, also those that are newer than this list. */
const keeping: ReadonlySet<string> = new Set("INSERT SET USE OPTIMIZE TRUNCATE DROP DELETE UPDATE KILL".split(" "));

/**
 * Reads the statement of a request. The text of an insert ends where its data begins, so `bytes` may also contain data.
 *
 * @throws Exception 62 for more than one statement, as a server does; 78 and 358 for files on the server's machine.
 */
export function parse(bytes: Buffer): Statement {
  // Latin-1 makes one character of each byte, so that offsets are byte offsets; keywords and quotes are ASCII.
  const text = bytes.toString("latin1");
  refuseOwnDatabases(text);
  const reader = new Reader(text);
  return (reader.accepts("INSERT") ? insertWithData(reader) : undefined) ?? plain(text);
}

const changing: ReadonlySet<string> = new Set(
  "INSERT CREATE REPLACE ALTER DROP UNDROP TRUNCATE RENAME EXCHANGE OPTIMIZE ATTACH DETACH DELETE UPDATE".split(" "),
);
/** What follows the tables that a statement changes. */
const afterTargets: ReadonlySet<string> = new Set("( SELECT WITH AS VALUES FORMAT ENGINE SETTINGS WHERE ;".split(" "));
const ownDatabases: ReadonlySet<string> = new Set(["system", "information_schema"]);

/** Tables of these databases say what ClickHouse is and does; Sluice reads them to decide about its own. */
function refuseOwnDatabases(text: string): void {
  let before: Token | undefined;
  for (const token of tokens(text)) {
    const word = upper(token);
    if (before === undefined ? !changing.has(word) : afterTargets.has(word)) return;
    const name = before?.text.replaceAll(/[`"]/g, "").toLowerCase() ?? "";
    if (word === "." && ownDatabases.has(name)) {
      throw raise("ACCESS_DENIED", `Tables of ${name} cannot be changed: use a database of your own.`);
    }
    before = token;
  }
}

function plain(text: string): PlainStatement {
  const own = alone([...tokens(text)]);
  const words = own.map(upper);
  if (words.some((word, i) => word === "INTO" && words[i + 1] === "OUTFILE")) {
    throw raise("INTO_OUTFILE_NOT_ALLOWED", "INTO OUTFILE is not allowed.");
  }
  if (words[0] === "KILL" && words.includes("SYNC")) {
    throw raise("NOT_IMPLEMENTED", "KILL with SYNC is not supported: the engine would never answer. Use ASYNC.");
  }
  refuseHiddenData(text, own, words);
  const first = words[0] ?? "";
  // Before a bracket it is the function of that name.
  const format = words.findLastIndex((word, i) => word === "FORMAT" && words[i + 1] !== "(");
  return {
    kind: "plain",
    sql: Buffer.from(text.slice(0, own.at(-1)?.end), "latin1").toString(),
    leavesSessionUnchanged: reading.has(first) || writing.has(first),
    readsOnly: reading.has(first) && (first === "EXPLAIN" || !words.includes("INSERT")),
    mayMakeTable: !reading.has(first) && !keeping.has(first) && words[1] !== "TEMPORARY",
    format: format > 0 ? own[format + 1]?.text : undefined,
  };
}

/** The tokens of the statement, if it is the only one. */
function alone(all: Token[]): Token[] {
  const stop = all.findIndex((token) => upper(token) === ";");
  const own = stop < 0 ? all : all.slice(0, stop);
  const second = all.slice(own.length).find((token) => upper(token) !== ";");
  if (!own[0]) throw raise("SYNTAX_ERROR", "Syntax error: failed at position 1 (end of query): Empty query.");
  if (second) {
    const at = `failed at position ${second.start + 1} (${second.text.slice(0, 40)})`;
    throw raise("SYNTAX_ERROR", `Syntax error (Multi-statements are not allowed): ${at}.`);
  }
  return own;
}

/** Text that the engine could read as inline data of an insert must not contain an empty line, which ends such data. */
function refuseHiddenData(text: string, own: readonly Token[], words: readonly string[]): void {
  const insert = words.indexOf("INSERT");
  const data = own.find((_, i) => insert >= 0 && i > insert && (words[i] === "FORMAT" || words[i] === "VALUES"));
  if (data && text.includes("\n\n", data.end)) {
    const at = text.indexOf("\n\n", data.end);
    throw raise("SYNTAX_ERROR", `Syntax error: failed at position ${at + 1} (an empty line). Expected no empty line.`);
  }
}
