import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Event } from "../../../engine/event/event.ts";
import type { KeyMemory } from "../../../engine/core/key-memory.ts";
import type { Transform, TransformResult } from "../../../engine/core/transform.ts";
import { DeclaredFields } from "../../../engine/transforms/declared-fields/declared-fields.ts";
import { DedupTransform } from "../../../engine/transforms/dedup/dedup.ts";
import { Fingerprints } from "../../../engine/keys/fingerprint.ts";
import { RememberedKeys } from "../../../engine/transforms/dedup/remembered-keys.ts";
import { FilterTransform } from "../../../engine/transforms/filter/filter.ts";
import { StatelessTransform } from "../../../engine/transforms/stateless/stateless.ts";
import type { SchemaField } from "../../../schemas/pipeline.ts";
import { asParsed, asReceived, batchesFor } from "../../fuzz/scanned-events.ts";

const fields: SchemaField[] = [
  { name: "id", type: "int" },
  { name: "name", type: "string" },
  { name: "a", type: "array" },
  { name: "b", type: "map" },
  { name: "user.id", type: "string" },
];

function memory(): KeyMemory {
  return new RememberedKeys({ storage: Infinity, memory: Infinity });
}

function stateless(...expressions: [expression: string, output_type: string][]): StatelessTransform {
  const list = expressions.map(([expression, output_type], index) => ({
    output_name: `o${index}`,
    expression,
    output_type,
  }));
  return new StatelessTransform(list, fields);
}

const makers: [string, () => Transform & { reads: readonly string[] }][] = [
  ["a filter", () => new FilterTransform(`id > 10 and name contains "a" or len(a) == 1`, fields)],
  ["a filter without fields", () => new FilterTransform("now().Year() > 1900", fields)],
  ["a filter that looks into a map", () => new FilterTransform(`b.id == 1 or user.id startsWith "a"`, fields)],
  ["a filter of the whole event", () => new FilterTransform(`"name" in $env and $env.id != 7`, fields)],
  ["a filter with a variable", () => new FilterTransform("let number = id; number < 500000", fields)],
  ["dedup by a number", () => new DedupTransform("id", 60_000, memory(), new Fingerprints(Buffer.alloc(16, 1)))],
  ["dedup by a text", () => new DedupTransform("name", 60_000, memory(), new Fingerprints(Buffer.alloc(16, 1)))],
  ["dedup by a path", () => new DedupTransform("user.id", 60_000, memory(), new Fingerprints(Buffer.alloc(16, 1)))],
  [
    "dedup by several fields",
    () => new DedupTransform(["id", "user.id", "b.id"], 60_000, memory(), new Fingerprints(Buffer.alloc(16, 1))),
  ],
  [
    "dedup by what may be missing",
    () => new DedupTransform("ID", 60_000, memory(), new Fingerprints(Buffer.alloc(16, 1))),
  ],
  [
    "stateless",
    () =>
      stateless(
        ["id", "int"],
        ["id + 1", "float"],
        ["upper(name)", "string"],
        ["b", "map"],
        ["a", "array"],
        ["user", "map"],
      ),
  ],
  ["stateless with the whole event", () => stateless(["toJSON($env)", "string"], ["keys($env)", "[]string"])],
  ["stateless with a field within a map", () => stateless(["user.id", "string"], ["b?.id ?? name", "string"])],
];

function seen({ passed, dropped, rejected, waiting = [] }: TransformResult): unknown {
  return {
    passed: passed.map((event) => [event.position, event.record]),
    rejected: rejected.map(({ original_message, ...rejection }) => [rejection, original_message.trim()]),
    waiting,
    dropped,
  };
}

function expectAlike(_title: string, make: () => Transform & { reads: readonly string[] }): void {
  const met = { noted: 0, passed: 0 };
  fc.assert(
    fc.property(batchesFor(fields), (batch) => {
      const [one, other] = [make(), make()];
      const ingestor = new DeclaredFields(fields, { keys: one.reads, rows: () => undefined });
      const received = ingestor.apply(asReceived(batch)).passed;
      const parsed = new DeclaredFields(fields).apply(asParsed(batch)).passed;
      const context = { clock: 1000, batch: 1 };
      const found = one.apply(received, context);
      expect(seen(found)).toEqual(seen(other.apply(parsed, context)));
      met.noted += received.filter((event: Event) => event.notes !== undefined).length;
      met.passed += found.passed.length;
    }),
    { numRuns: 25, seed: 3 },
  );
  expect(met.noted).toBeGreaterThan(60);
  expect(met.passed).toBeGreaterThan(0);
}

describe("an event whose fields are noted becomes what a parsed one becomes", () => {
  const differing = ["a filter", "dedup by several fields", "stateless", "stateless with the whole event"];

  test.each(makers.filter(([title]) => differing.includes(title)))("by %s", expectAlike);

  test.each(makers.filter(([title]) => !differing.includes(title)))("by %s", { tags: ["rest"] }, expectAlike);
});
