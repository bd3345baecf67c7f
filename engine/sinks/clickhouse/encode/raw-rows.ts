import type { Mapping, SchemaField } from "../../../../schemas/pipeline.ts";
import { bare, type ColumnType, columnTypeText, isNullable } from "../columns/column-type.ts";
import type { RowWalks, Walk } from "../../../event/raw-json.ts";
import { rawWalk } from "./raw-values.ts";
import type { Event } from "../../../event/event.ts";
import { EventScan } from "../../../event/scan.ts";
import type { RowBody } from "./row-body.ts";
import { configuredType } from "../columns/column-grammar.ts";
import type { NullRule, RealColumn } from "./row-column.ts";

/** Names with one spelling in JSON, which mean one key: no dot, no escape. */
const plainName = /^[^."\\\p{Cc}\p{Surrogate}]+$/u;

/** Types whose zero is written for a missing value, as ClickHouse does for a column without a DEFAULT. */
const zeroed: ReadonlySet<ColumnType["kind"]> = new Set(["Bool", "Int", "UInt", "Float", "String", "Map"]);

/**
 * The walks that check whether the bytes of an event are its row; undefined where they never are. ClickHouse fills a
 * column from the key of the same name, so each field must have the name of its column, and a walk for the type in the
 * mapping and for that in the table.
 */
export function rowWalksOf(
  mapping: readonly Mapping[],
  schema: readonly SchemaField[],
  columns: ReadonlyMap<string, RealColumn>,
  rule: NullRule,
): RowWalks | undefined {
  const walks = new Map<string, Walk>();
  const [optional, nullable] = [new Set<string>(), new Set<string>()];
  for (const entry of mapping) {
    const field = schema.find(({ name }) => name === entry.name);
    if (field === undefined || entry.name !== entry.column_name || !plainName.test(entry.name)) return undefined;
    const known = columns.get(entry.column_name);
    const types = [configuredType(entry), ...(known === undefined ? [] : [known.type])];
    const different = new Map(types.map((type) => [columnTypeText(withoutWrappers(type)), type]));
    const found = [...different.values()].map((type) => rawWalk(field.type, type));
    if (found.includes(undefined)) return undefined;
    walks.set(entry.name, (found as Walk[]).reduce(both));
    // The column in the table decides how null and missing values are stored.
    if (isNullable(types.at(-1)!)) nullable.add(entry.name);
    if (known !== undefined && mayBeMissing(known, rule)) optional.add(entry.name);
  }
  return { walks, optional, nullable };
}

/** Whether ClickHouse stores for a key that is missing what the encoder writes for it. */
function mayBeMissing({ type, hasDefault }: RealColumn, rule: NullRule): boolean {
  if (isNullable(type)) return hasDefault === false;
  if (hasDefault === true) return rule === undefined;
  return hasDefault === false && rule !== "reject" && zeroed.has(bare(type).kind);
}

/** The type without Nullable and LowCardinality, which make no difference to a walk, also within a Map. */
function withoutWrappers(type: ColumnType): ColumnType {
  const outer = bare(type);
  return outer.kind === "Map" ? { kind: "Map", key: bare(outer.key), value: bare(outer.value) } : outer;
}

function both(one: Walk, other: Walk): Walk {
  return (bytes, at) => {
    const end = one(bytes, at);
    return end !== 0 && other(bytes, at) === end ? end : 0;
  };
}

/**
 * Copies the bytes of events that are rows already. A copy may differ from an encoded row in its bytes, but gives the
 * same row.
 */
export class RawEvents {
  readonly walks: RowWalks | undefined;
  /** For events that were not scanned with these walks yet. */
  readonly #scan: EventScan;

  /** `walks` are those of `rowWalksOf`. */
  constructor(walks: RowWalks | undefined) {
    this.walks = walks;
    this.#scan = new EventScan({ declared: new Map(), noted: [], rows: walks });
  }

  /** Adds an event to a body as it is, without a line break; false if it has to be encoded. */
  add(event: Event, body: RowBody): boolean {
    const { within, start, end } = event;
    if (this.walks === undefined || within === undefined) return false;
    if (!(event.isRowBy(this.walks) ?? this.#scan.passes(event))) return false;
    body.addBytes(within, start, end);
    return true;
  }
}
