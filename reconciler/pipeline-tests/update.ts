import { isDeepStrictEqual } from "node:util";
import { diffLines } from "diff";
import { type Document, isCollection, isMap, isSeq, parseDocument } from "yaml";
import { withLineFeeds } from "../language/source-text.ts";
import { isObject } from "../../schemas/index.ts";
import { countIn, foundIn, type Mismatch, type Section, sections } from "./compare.ts";
import type { Found } from "./outcome.ts";
import type { NamedTest } from "./read-tests.ts";

/** What was found in a test that a file is to expect from now on. */
export interface Update {
  test: NamedTest;
  found: Found;
  mismatches: readonly Mismatch[];
  /** The columns that the mapping writes: those of a new row. */
  columns: readonly string[];
}

/** The text of a file with what was found in place of what it expected. Comments stay where their entries stay. */
export function updated(given: string, updates: readonly Update[], isJson: boolean): string {
  const text = withLineFeeds(given);
  const document = parse(text);
  const strings = isJson ? ({ defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "QUOTE_DOUBLE" } as const) : {};
  const print = (): string => document.toString({ lineWidth: 0, ...strings });
  const before = print();
  for (const update of updates) {
    if (update.test.expect === undefined) expectAll(document, update);
    else for (const section of sections) updateSection(document, section, update);
  }
  return inOwnStyle(text, before, print());
}

/**
 * A text in which only those lines differ from the original that differ between two prints of it; the later print where
 * they do not fit between the others, because the original is indented otherwise.
 */
function inOwnStyle(original: string, before: string, after: string): string {
  const lines = original.split(/(?<=\n)/);
  if (lines.length !== before.split(/(?<=\n)/).length) return after;
  let next = 0;
  const parts = diffLines(before, after).map(({ added, removed, count, value }) => {
    if (added) return value;
    next += count;
    return removed ? "" : lines.slice(next - count, next).join("");
  });
  const text = parts.join("");
  return isDeepStrictEqual(valueOf(text), valueOf(after)) ? text : after;
}

/** Undefined for a text that is no YAML. */
function valueOf(text: string): unknown {
  const document = parse(text);
  return document.errors.length > 0 ? undefined : document.toJS();
}

function parse(text: string): Document.Parsed {
  return parseDocument(text, { intAsBigInt: true, logLevel: "silent" });
}

/** A test that expects nothing yet gets everything. */
function expectAll(document: Document, { test, found, columns }: Update): void {
  const lists = (["rows", "dead_letters", "refused"] as const).flatMap((section): [Section, unknown][] => {
    const entries = foundIn(section, test, found);
    const isNeeded = entries.length > 0 || section === "rows";
    return isNeeded ? [[section, entries.map((entry) => entryOf(section, entry, columns))]] : [];
  });
  const counts = (["filtered", "deduplicated"] as const).flatMap((section): [Section, unknown][] => {
    const count = countIn(section, found);
    return count === 0 ? [] : [[section, count]];
  });
  const node = document.createNode(Object.fromEntries([...lists, ...counts]));
  for (const [section] of lists) {
    const entries = node.get(section, true);
    if (isSeq(entries)) for (const entry of entries.items) if (isCollection(entry)) entry.flow = true;
  }
  document.setIn(["tests", test.index, "expect"], node);
}

function updateSection(document: Document, section: Section, { test, mismatches, columns }: Update): void {
  const path = ["tests", test.index, "expect", section];
  const own = mismatches.filter((mismatch) => mismatch.section === section);
  const missing: number[] = [];
  for (const mismatch of own) {
    if (mismatch.kind === "count") document.setIn(path, mismatch.found);
    else if (mismatch.kind === "different") updateEntry(document, [...path, mismatch.at], mismatch);
    else if (mismatch.kind === "missing") missing.push(mismatch.at);
  }
  for (const at of missing.toReversed()) document.deleteIn([...path, at]);
  for (const mismatch of own)
    if (mismatch.kind === "unexpected") append(document, path, entryOf(section, mismatch.found, columns));
}

/** Only the members that the entry names change. */
function updateEntry(
  document: Document,
  path: readonly (string | number)[],
  { expected, found }: Extract<Mismatch, { kind: "different" }>,
): void {
  if (!isObject(expected) || !isObject(found)) return document.setIn(path, document.createNode(found));
  for (const key of Object.keys(expected)) {
    const value = found[key] ?? null;
    if (isObject(expected[key]) && isObject(value) && isMap(document.getIn([...path, key], true)))
      updateEntry(document, [...path, key], {
        section: "rows",
        kind: "different",
        at: 0,
        expected: expected[key],
        found: value,
      });
    else setValue(document, [...path, key], value);
  }
}

/** A scalar that is as it was keeps its spelling. */
function setValue(document: Document, path: readonly (string | number)[], value: unknown): void {
  const present: unknown = document.getIn(path);
  if (String(present) === String(value) && !isCollection(present) && typeof value !== "object") return;
  document.setIn(path, typeof value === "object" && value !== null ? document.createNode(value) : value);
}

function append(document: Document, path: readonly (string | number)[], entry: unknown): void {
  const node = document.createNode(entry);
  if (isCollection(node)) node.flow = true;
  const present = document.getIn(path, true);
  if (isSeq(present)) {
    // An empty list is written as [], and is one line as long as it is.
    if (present.items.length === 0) present.flow = false;
    present.add(node);
  } else document.setIn(path, document.createNode([node]));
}

/** A new entry: of a row what the mapping writes, of a dead letter what does not differ between versions. */
function entryOf(section: Section, found: unknown, columns: readonly string[]): unknown {
  if (!isObject(found)) return found;
  const kept =
    section === "rows" ? columns : section === "dead_letters" ? ["component", "reason", "original_message"] : undefined;
  return kept === undefined
    ? found
    : Object.fromEntries(kept.filter((key) => Object.hasOwn(found, key)).map((key) => [key, found[key]]));
}
