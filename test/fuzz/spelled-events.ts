import * as fc from "fast-check";
import type { Field } from "../integration/sink/support.ts";
import { anyValue, columns } from "./spelled-values.ts";
import type { SpelledColumn, Spelling } from "./spelled-values.ts";

/** A mapping, and events for it as bytes. */
export interface SpelledBatch {
  fields: Field[];
  /** The columns of the table, of which some have a DEFAULT. */
  real: string[];
  events: Buffer[];
}

type Named = SpelledColumn & { name: string; hasDefault: boolean };

const names: Spelling = fc.oneof(
  fc.constantFrom("id", "ID", "Id", "user_id", "ключ", "a b", "__proto__", "x'y", "e"),
  fc.string({ unit: fc.constantFrom("a", "B", "X", "_", "0", "é", "😀", "-", "*"), minLength: 1, maxLength: 6 }),
);

const mappings: fc.Arbitrary<Named[]> = fc.uniqueArray(
  fc
    .tuple(names, fc.constantFrom(...columns), fc.boolean())
    .map(([name, column, hasDefault]) => ({ name, ...column, hasDefault })),
  { minLength: 1, maxLength: 4, selector: ({ name }) => name },
);

function keyOf(name: string): Spelling {
  const plain = JSON.stringify(name);
  const escaped = `"\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${plain.slice(2)}`;
  return fc.oneof(
    { weight: 60, arbitrary: fc.constant(plain) },
    { weight: 1, arbitrary: fc.constant(JSON.stringify(name.toUpperCase())) },
    { weight: 1, arbitrary: fc.constant(escaped) },
  );
}

function memberOf({ name, usual, odd }: Named): fc.Arbitrary<[string, string]> {
  const value = fc.oneof(
    { weight: 30, arbitrary: usual },
    { weight: 3, arbitrary: odd },
    { weight: 1, arbitrary: anyValue },
    { weight: 2, arbitrary: fc.constant("null") },
  );
  return fc.tuple(keyOf(name), value);
}

const others = fc.oneof(
  { weight: 2, arbitrary: fc.constant<[string, string][]>([]) },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.tuple(
        fc.oneof(names, fc.string()).map((name) => JSON.stringify(name)),
        anyValue,
      ),
      { maxLength: 2 },
    ),
  },
);

/** What stands before a comma, and behind a comma or a colon. */
const gaps: fc.Arbitrary<[string, string]> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom<[string, string]>(["", ""], ["", " "]) },
  { weight: 1, arbitrary: fc.constantFrom<[string, string]>(["  ", ""], ["", "\n"], ["", "  "], ["\t", ""]) },
);

/** Bytes that are put into a text somewhere: mostly none. */
const damage = fc.tuple(
  fc.nat(),
  fc.oneof(
    { weight: 15, arbitrary: fc.constant<number[]>([]) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<number[]>([0xff], [0xc3], [0xed, 0xa0, 0x80], [0], [0x0a], [0x22], [0x5c], [0x20]),
    },
  ),
);

/** A DEFAULT that is not what the type has by itself. */
function defaultOf({ type, column_type, hasDefault }: Named): string {
  if (!hasDefault || !["String", "Nullable(UInt8)", "Nullable(Bool)"].includes(column_type)) return column_type;
  return `${column_type} DEFAULT ${type === "string" ? "'x'" : "1"}`;
}

/** Most have each mapped key once, begin with any of them, and hold values that fit. */
function eventsFor(mapping: readonly Named[]): fc.Arbitrary<Buffer> {
  const mapped = fc.tuple(...mapping.map(memberOf));
  const again = fc.oneof(
    { weight: 30, arbitrary: fc.constant<[string, string][]>([]) },
    { weight: 1, arbitrary: mapped.map((members) => members.slice(0, 1)) },
  );
  return fc
    .tuple(fc.tuple(mapped, again, others), fc.nat(), fc.nat({ max: 20 }), gaps, damage)
    .map(([members, turn, missing, [before, behind], [place, inserted]]) => {
      const present = members.flat().filter((_, index) => index !== missing);
      const all = present.map(([key, value]) => `${key}:${behind}${value}`);
      const first = turn % Math.max(1, all.length);
      const bytes = Buffer.from(`{${[...all.slice(first), ...all.slice(0, first)].join(`${before},${behind}`)}}`);
      const at = place % (bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(inserted), bytes.subarray(at)]);
    });
}

export const batches: fc.Arbitrary<SpelledBatch> = mappings.chain((mapping) =>
  fc.array(eventsFor(mapping), { minLength: 1, maxLength: 60, size: "max" }).map((events) => ({
    fields: mapping.map(({ name, type, column_type }): Field => [name, type, column_type]),
    real: mapping.map(defaultOf),
    events,
  })),
);
