import type { Mapping, SchemaField } from "../../../schemas/pipeline.ts";
import { bare, columnTypeText } from "./column-type.ts";
import type { ColumnType } from "./column-type.ts";
import type { RowWalks, Walk } from "../../core/raw-json.ts";
import { rawWalk } from "./raw-values.ts";

/** Names that are spelled in one way in JSON, and mean one key: no dot, no escape. */
const plainName = /^[^."\\\p{Cc}\p{Surrogate}]+$/u;

/**
 * The walks over the values of a mapping, by the keys that they stand behind; undefined where no event's own bytes can be
 * its row. ClickHouse fills a column from the key of its name, so each field has to be called like its column, and to
 * have a walk for all of `types`: the type that the mapping says, and the one that the table has.
 */
export function rawColumns(
  mapping: readonly Mapping[],
  schema: readonly SchemaField[],
  types: (entry: Mapping) => readonly ColumnType[],
): RowWalks | undefined {
  const walks = new Map<string, Walk>();
  for (const entry of mapping) {
    const field = schema.find(({ name }) => name === entry.name);
    if (field === undefined || entry.name !== entry.column_name || !plainName.test(entry.name)) return undefined;
    const different = new Map(types(entry).map((type) => [columnTypeText(bare(type)), type]));
    const found = [...different.values()].map((type) => rawWalk(field.type, type));
    if (found.includes(undefined)) return undefined;
    walks.set(entry.name, (found as Walk[]).reduce(both));
  }
  return walks;
}

function both(one: Walk, other: Walk): Walk {
  return (bytes, at) => {
    const end = one(bytes, at);
    return end !== 0 && other(bytes, at) === end ? end : 0;
  };
}
