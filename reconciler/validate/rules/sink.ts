import { didYouMean, found, printable, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { fieldType, optionalFields, sinkFeeds } from "./feeds.ts";
import { mustBeDuration, mustDiffer, mustNameField } from "./references.ts";
import { canFeed, geometries, isProblem, parseColumnType, storesNull } from "../../../engine/language.ts";

/** Rules of `sink` (docs/reference/pipeline.md). */
export const sinkRules: readonly Rule[] = [mappingPresent, mappingNames, columnNames, delay];

function* mappingPresent(document: View): Iterable<Problem> {
  const mapping = document.get("sink", "mapping");
  const isEmpty = !mapping.exists || (Array.isArray(mapping.value) && mapping.value.length === 0);
  if (!document.get("sink").exists || !isEmpty) return;
  const suggestion = "add an entry with name, column_name and column_type for each column";
  yield mapping.problem("MAPPING_EMPTY", {
    expected: "one entry for each column that is written",
    found: "nothing",
    suggestion,
  });
}

function* mappingNames(document: View): Iterable<Problem> {
  for (const feed of sinkFeeds(document)) {
    for (const entry of document.get("sink", "mapping").items()) yield* mustNameField(entry.get("name"), feed);
  }
}

function* columnNames(document: View): Iterable<Problem> {
  const names = document
    .get("sink", "mapping")
    .items()
    .map((entry) => entry.get("column_name"));
  yield* mustDiffer(names, "DUPLICATE_NAME", "each column_name once");
}

function* delay(document: View): Iterable<Problem> {
  yield* mustBeDuration(document.get("sink", "max_delay_time"));
}

/** The sink's rules of column types: which it can write, and which fields can feed them. */
export const columnRules: readonly Rule[] = [columnTypes, createdColumns, nullsOfCreated];

/** Characters of a type that are searched. */
const longestType = 1000;

/** The types that are suggested for a misspelled one. */
const sizes = [8, 16, 32, 64, 128, 256];
const others = [
  "Float32",
  "Float64",
  "BFloat16",
  "Bool",
  "String",
  "UUID",
  "Date",
  "Date32",
  "DateTime",
  "DateTime64",
  "Time",
  "Time64",
  "IPv4",
  "IPv6",
  "JSON",
  "Dynamic",
  ...geometries.keys(),
];
const names = [...sizes.flatMap((bits) => [`Int${bits}`, `UInt${bits}`]), ...others];

function* columnTypes(document: View): Iterable<Problem> {
  const feeds = sinkFeeds(document);
  const read = new Map<string, ReturnType<typeof parseColumnType>>();
  for (const entry of document.get("sink", "mapping").items()) {
    const type = entry.get("column_type");
    if (type.isBlank) continue;
    const text = type.text ?? "";
    const column = read.get(text) ?? parseColumnType(text);
    read.set(text, column);
    const name = entry.get("name").text ?? "";
    const fields = new Set(feeds.map((feed) => fieldType(feed, name)));
    if (isProblem(column)) yield unusable(type, column.problem);
    else for (const field of fields) if (field !== undefined) yield* mustFit(type, name, canFeed(field, column));
  }
}

/** The engine's message continues after the text of the type. */
function unusable(type: View, problem: string): Problem {
  const [says = "", instead] = problem.split("; ");
  return type.problem("COLUMN_TYPE", {
    expected: "a column type that can be written",
    found: `${found(type.value, type.path)}, which ${says}`,
    suggestion: didYouMean(type.value, names) ?? instead,
  });
}

function* mustFit(type: View, name: string, fits: true | string): Iterable<Problem> {
  if (fits === true) return;
  const expected = `a column type that field "${printable(name)}" can feed`;
  yield type.problem("COLUMN_MISMATCH", { expected, found: found(type.value, type.path), suggestion: fits });
}

/** ClickHouse accepts `FixedString` and `Enum8` without arguments for an existing column, not for a new one. */
function* createdColumns(document: View): Iterable<Problem> {
  const option = ["create_table", "alter_table"].find((name) => document.get("x-sluice", name).value === true);
  if (option === undefined) return;
  for (const entry of document.get("sink", "mapping").items()) {
    const type = entry.get("column_type");
    const [, name = ""] = /\b(FixedString|Enum8|Enum16)\b(?!\s*\()/.exec((type.text ?? "").slice(0, longestType)) ?? [];
    if (name === "") continue;
    yield type.problem("CREATE_TABLE", {
      expected: `a type that is spelled out, because x-sluice.${option} makes the column from it`,
      found: found(type.value, type.path),
      suggestion: name === "FixedString" ? "write its length, such as FixedString(16)" : `write ${name}('a' = 1, …)`,
    });
  }
}

/** With `x-sluice.null: reject` the dead letters are meant. */
function* nullsOfCreated(document: View): Iterable<Problem> {
  const options = document.get("x-sluice");
  if (options.get("create_table").value !== true || options.get("null").value === "reject") return;
  const optional = optionalFields(document);
  if (optional.size === 0) return;
  for (const entry of document.get("sink", "mapping").items()) {
    const [name = "", column_type = ""] = ["name", "column_type"].map((key) => entry.get(key).text);
    const field = optional.get(name);
    const column = field === undefined ? undefined : parseColumnType(column_type);
    if (field === undefined || column === undefined || isProblem(column)) continue;
    if (canFeed(field, column) !== true || storesNull(field, column)) continue;
    const type = entry.get("column_type");
    const [, inner] = /^\s*LowCardinality\((.*)\)\s*$/.exec(column_type.slice(0, longestType)) ?? [];
    const nullable = inner === undefined ? `Nullable(${column_type.trim()})` : `LowCardinality(Nullable(${inner}))`;
    yield type.problem("NULL_REFUSED", {
      expected: `a column that stores something for field "${printable(name)}", which may be null or absent (required: false)`,
      found: found(type.value, type.path),
      suggestion: `write ${printable(nullable)}, or x-sluice.null: reject if dead letters are meant`,
    });
  }
}
