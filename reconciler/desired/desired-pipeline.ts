import type { Path, PipelineConfig } from "../../schemas/index.ts";
import { placeAt, variablesAt } from "../language/places.ts";
import type { DesiredPipeline } from "./desired-state.ts";
import type { ReadPipeline } from "./read-file.ts";

/** A pipeline that was read, with the answers to where its fields are written. */
export function desiredPipeline({ start, places, ...read }: ReadPipeline): DesiredPipeline {
  const { config, document } = read;
  const written = (path: Path): Path => writtenPath(document, config, path);
  return {
    ...read,
    place: (path) => (path.length === 0 ? start : { file: read.file, ...placeAt(places, document, written(path)) }),
    // Every difference asks, and most files have none.
    variables: (path) => (places.variables.length === 0 ? [] : variablesAt(places, document, written(path))),
  };
}

/** Other spellings of a key in a file. */
const aliases: Readonly<Record<string, string>> = { max_age: "maxAge", max_bytes: "maxBytes", max_msgs: "maxMsgs" };

/**
 * The keys that identify an entry of a list; the first that it has counts, with its type and source where it has them.
 */
const names = ["column_name", "output_name", "name", "source_id", "type"] as const;

/**
 * Where a field of a canonical config is written in the document that it was made from: lists may stand in another order
 * there, and keys in another spelling. A default leads to nothing below the mapping that encloses it.
 */
function writtenPath(document: unknown, config: PipelineConfig, path: Path): Path {
  const written: (string | number)[] = [];
  let canonical: unknown = config;
  let value = document;
  for (const segment of path) {
    const key: string | number = Array.isArray(value)
      ? indexOf(value, entry(canonical, segment))
      : spelling(value, segment);
    written.push(key);
    canonical = entry(canonical, segment);
    value = entry(value, key);
  }
  return written;
}

function entry(holder: unknown, key: string | number): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, key)
    ? (holder as Record<string | number, unknown>)[key]
    : undefined;
}

function spelling(holder: unknown, key: string | number): string | number {
  const alias = aliases[key];
  return alias !== undefined && entry(holder, key) === undefined && entry(holder, alias) !== undefined ? alias : key;
}

/** The index of the entry that became `wanted`; -1 if there is none. */
function indexOf(entries: readonly unknown[], wanted: unknown): number {
  if (typeof wanted !== "object" || wanted === null) return entries.indexOf(wanted);
  const name = names.find((one) => entry(wanted, one) !== undefined) ?? "type";
  const keys = name === "source_id" ? ["source_id", "type"] : [name, "source_id"];
  return indexesBy(keys, entries).get(identityOf(keys.map((key) => entry(wanted, key)))) ?? -1;
}

/** Of lists that were searched, by the keys that identify an entry: a plan may ask for each of ten thousand entries. */
const indexes = new WeakMap<readonly unknown[], Map<string, ReadonlyMap<string, number>>>();

function indexesBy(keys: readonly string[], entries: readonly unknown[]): ReadonlyMap<string, number> {
  const known = indexes.get(entries) ?? new Map<string, ReadonlyMap<string, number>>();
  indexes.set(entries, known);
  const name = keys.join(" ");
  const found = known.get(name) ?? new Map(entries.map(identified(keys)).toReversed());
  known.set(name, found);
  return found;
}

function identified(keys: readonly string[]): (one: unknown, index: number) => [string, number] {
  return (one, index) => [identityOf(keys.map((key) => nameOf(one, key))), index];
}

/** Values that are no text or number, or are missing, are told apart from texts. */
function identityOf(values: readonly unknown[]): string {
  return JSON.stringify(values.map((value) => (value === undefined ? [] : value)));
}

/** The output_name of a join's field is its name unless the file says otherwise. */
function nameOf(one: unknown, key: string): unknown {
  return entry(one, key) ?? (key === "output_name" ? entry(one, "name") : undefined);
}
