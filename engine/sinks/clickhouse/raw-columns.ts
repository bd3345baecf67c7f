import type { Mapping, SchemaField } from "../../../schemas/pipeline.ts";
import { bare, columnTypeText, isNullable } from "./column-type.ts";
import type { ColumnType } from "./column-type.ts";
import type { RowWalks, Walk } from "../../event/raw-json.ts";
import { rawWalk } from "./raw-values.ts";

/** Names that are spelled in one way in JSON, and mean one key: no dot, no escape. */
const plainName = /^[^."\\\p{Cc}\p{Surrogate}]+$/u;

/** Types whose zero is written for what is missing, and filled in by ClickHouse where a column has no DEFAULT. */
const zeroed: ReadonlySet<ColumnType["kind"]> = new Set(["Bool", "Int", "UInt", "Float", "String", "Map"]);

/**
 * What makes an event the row of a mapping as it is; undefined where no event's own bytes can be its row. ClickHouse fills a
 * column from the key of its name, so each field has to be called like its column, and to have a walk for all of `types`:
 * the type that the mapping says, and behind it the one that the table has. `undefaulted` are the columns that are known
 * to have no DEFAULT.
 */
export function rawColumns(
  mapping: readonly Mapping[],
  schema: readonly SchemaField[],
  types: (entry: Mapping) => readonly ColumnType[],
  undefaulted: ReadonlySet<string>,
): RowWalks | undefined {
  const walks = new Map<string, Walk>();
  const [optional, nullable] = [new Set<string>(), new Set<string>()];
  for (const entry of mapping) {
    const field = schema.find(({ name }) => name === entry.name);
    if (field === undefined || entry.name !== entry.column_name || !plainName.test(entry.name)) return undefined;
    const different = new Map(types(entry).map((type) => [columnTypeText(barest(type)), type]));
    const found = [...different.values()].map((type) => rawWalk(field.type, type));
    if (found.includes(undefined)) return undefined;
    walks.set(entry.name, (found as Walk[]).reduce(both));
    // The type that the table has decides what becomes of null, and of what is missing.
    const real = types(entry).at(-1)!;
    if (isNullable(real)) nullable.add(entry.name);
    if (undefaulted.has(entry.column_name) && (isNullable(real) || zeroed.has(bare(real).kind))) {
      optional.add(entry.name);
    }
  }
  return { walks, optional, nullable };
}

/** The type without what makes no difference to a walk, also within a Map. */
function barest(type: ColumnType): ColumnType {
  const outer = bare(type);
  return outer.kind === "Map" ? { kind: "Map", key: bare(outer.key), value: bare(outer.value) } : outer;
}

function both(one: Walk, other: Walk): Walk {
  return (bytes, at) => {
    const end = one(bytes, at);
    return end !== 0 && other(bytes, at) === end ? end : 0;
  };
}
