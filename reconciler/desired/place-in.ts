import type { Path, PipelineConfig } from "../../schemas/index.ts";
import type { Place } from "../validate/problem.ts";
import type { Document } from "./document.ts";

/** Other spellings of a key in a file. */
const aliases: Readonly<Record<string, string>> = { max_age: "maxAge", max_bytes: "maxBytes", max_msgs: "maxMsgs" };

/** What an entry of a list is known by; the first key that it has counts, with its type and source where it has them. */
const names = ["column_name", "output_name", "name", "source_id", "type"] as const;

/**
 * Finds where the fields of a canonical config are written in the document that it was made from: lists may stand in
 * another order there, keys in another spelling, and what was filled in by default is placed at what encloses it.
 */
export function placeIn(document: Document, config: PipelineConfig): (path: Path) => Place {
  return (path) => {
    const written: (string | number)[] = [];
    let canonical: unknown = config;
    let value: unknown = document.value;
    for (const segment of path) {
      const key: string | number = Array.isArray(value)
        ? indexOf(value, entry(canonical, segment))
        : spelling(value, segment);
      written.push(key);
      canonical = entry(canonical, segment);
      value = entry(value, key);
    }
    return document.place(written);
  };
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

/** The index of the entry that became `wanted`; -1, which is nowhere, if there is none. */
function indexOf(entries: readonly unknown[], wanted: unknown): number {
  if (typeof wanted !== "object" || wanted === null) return entries.indexOf(wanted);
  const name = names.find((one) => entry(wanted, one) !== undefined) ?? "type";
  const keys = name === "source_id" ? ["source_id", "type"] : [name, "source_id"];
  return entries.findIndex((one) => keys.every((key) => nameOf(one, key) === entry(wanted, key)));
}

/** The output_name of a join's field is its name unless the file says otherwise. */
function nameOf(one: unknown, key: string): unknown {
  return entry(one, key) ?? (key === "output_name" ? entry(one, "name") : undefined);
}
