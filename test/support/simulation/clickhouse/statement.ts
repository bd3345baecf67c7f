import { compileSelect, NotUnderstood } from "./select.ts";
import type { CompiledSelect } from "./select.ts";

/** Where an INSERT writes to. */
export type InsertTarget =
  | { kind: "table"; database: string; name: string }
  | { kind: "temporary"; name: string }
  | { kind: "types"; columns: { name: string; type: string }[] };

/** The statements that a sink sends. */
export type Statement =
  | { kind: "insert"; into: InsertTarget; columns: string[] }
  | { kind: "select"; run: CompiledSelect }
  | { kind: "create database"; name: string }
  | {
      kind: "create table";
      database: string;
      name: string;
      columns: { name: string; type: string }[];
      engine: string;
      settings: Record<string, string>;
    }
  | { kind: "create temporary"; name: string; as: { database: string; name: string } }
  | { kind: "drop temporary"; name: string }
  | { kind: "set"; settings: Record<string, string> };

const id = "(`(?:[^`\\\\]|\\\\.|``)+`|\\w+)";
const literal = "'((?:[^'\\\\]|\\\\.|'')*)'";
const insert = new RegExp(
  `^INSERT INTO (?:FUNCTION null\\(${literal}\\)|(?:${id}\\.)?${id}) \\((.*)\\) FORMAT JSONEachRow$`,
  "s",
);
const createDatabase = new RegExp(`^CREATE DATABASE IF NOT EXISTS ${id}$`, "s");
const createTable = new RegExp(
  `^CREATE TABLE IF NOT EXISTS ${id}\\.${id} \\((.*)\\) ENGINE = (\\w+) ORDER BY tuple\\(\\) SETTINGS ([^()]*)$`,
  "s",
);
const createTemporary = new RegExp(`^CREATE TEMPORARY TABLE ${id} AS ${id}\\.${id} ENGINE = Null$`, "s");
const dropTemporary = new RegExp(`^DROP TEMPORARY TABLE ${id}$`, "s");
const select = /^(SELECT .*)\s+FORMAT JSONEachRow\s*$/s;

const parsed = new Map<string, Statement>();

/** Reads a statement. Throws `NotUnderstood`. The same text is read once. */
export function parseStatement(text: string): Statement {
  let statement = parsed.get(text);
  if (statement === undefined) parsed.set(text, (statement = parse(text)));
  return statement;
}

function parse(text: string): Statement {
  return (
    parseInsert(text) ??
    parseSelect(text) ??
    parseCreation(text) ??
    parseSet(text) ??
    fail(`a statement of another kind: ${text}`)
  );
}

function fail(text: string): never {
  throw new NotUnderstood(text);
}

function parseInsert(text: string): Statement | undefined {
  const [, types, database, name, list] = insert.exec(text) ?? [];
  if (list === undefined) return undefined;
  const columns = splitList(list).map(unquoted);
  if (types !== undefined)
    return { kind: "insert", into: { kind: "types", columns: columnsOf(unescaped(types)) }, columns };
  const table = unquoted(name!);
  if (database === undefined) return { kind: "insert", into: { kind: "temporary", name: table }, columns };
  return { kind: "insert", into: { kind: "table", database: unquoted(database), name: table }, columns };
}

function parseSelect(text: string): Statement | undefined {
  const query = select.exec(text)?.[1];
  return query === undefined ? undefined : { kind: "select", run: compileSelect(query) };
}

function parseCreation(text: string): Statement | undefined {
  const database = createDatabase.exec(text)?.[1];
  if (database !== undefined) return { kind: "create database", name: unquoted(database) };
  const dropped = dropTemporary.exec(text)?.[1];
  if (dropped !== undefined) return { kind: "drop temporary", name: unquoted(dropped) };
  const copy = createTemporary.exec(text);
  if (copy !== null) {
    const [name, ofDatabase, ofTable] = copy.slice(1).map(unquoted);
    return { kind: "create temporary", name: name!, as: { database: ofDatabase!, name: ofTable! } };
  }
  const table = createTable.exec(text);
  if (table === null) return undefined;
  const [inDatabase, name, columns, engine, settings] = table.slice(1);
  return {
    kind: "create table",
    database: unquoted(inDatabase!),
    name: unquoted(name!),
    columns: columnsOf(columns!),
    engine: engine!,
    settings: settingsOf(settings!),
  };
}

function parseSet(text: string): Statement | undefined {
  return text.startsWith("SET ") ? { kind: "set", settings: settingsOf(text.slice(4)) } : undefined;
}

function settingsOf(text: string): Record<string, string> {
  const pairs = splitList(text).map((pair) => /^(\w+) = '?(.*?)'?$/s.exec(pair) ?? fail(`a setting: ${pair}`));
  return Object.fromEntries(pairs.map(([, name, value]) => [name!, value!]));
}

function columnsOf(text: string): { name: string; type: string }[] {
  const form = new RegExp(`^${id} (.*)$`, "s");
  return splitList(text).map((column) => {
    const [, name, type] = form.exec(column) ?? fail(`a column: ${column}`);
    return { name: unquoted(name!), type: type! };
  });
}

/** Splits at the commas that stand in no brackets and no quotes. */
function splitList(text: string): string[] {
  const parts: string[] = [];
  let [depth, start, quote] = [0, 0, ""];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]!;
    if (quote !== "") {
      if (letter === "\\") at += 1;
      else if (letter === quote) quote = "";
    } else if (letter === "'" || letter === "`") quote = letter;
    else if (letter === "(") depth += 1;
    else if (letter === ")") depth -= 1;
    else if (letter === "," && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return [...parts, text.slice(start).trim()];
}

function unquoted(name: string): string {
  return name.startsWith("`") ? name.slice(1, -1).replace(/\\(.)|``/gs, (_, one?: string) => one ?? "`") : name;
}

function unescaped(text: string): string {
  return text.replace(/\\(.)|''/gs, (_, one?: string) => one ?? "'");
}
