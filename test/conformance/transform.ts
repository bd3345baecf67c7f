import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Event } from "../../engine/event/event.ts";
import type { BatchContext, Transform, TransformResult } from "../../engine/core/transform.ts";
import type { SchemaField } from "../../schemas/pipeline.ts";
import { runsOf } from "../support/cases.ts";
import { anyCharacter } from "../support/any-character.ts";

/** What the transforms under test are made for. */
export const fields: readonly SchemaField[] = [
  { name: "id", type: "int" },
  { name: "name", type: "string" },
  { name: "tags", type: "array" },
  { name: "more", type: "map" },
];

const context: BatchContext = { clock: Date.UTC(2024, 4, 6), batch: 1 };

/** Events that fit the fields, events that do not, and bytes that are no event at all. */
const texts: fc.Arbitrary<string> = fc.oneof(
  fc
    .record(
      {
        id: fc.oneof(fc.integer(), fc.constantFrom<unknown>(null, "1", 1.5, true)),
        name: fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom<unknown>(null, 7, "\ud800")),
        tags: fc.oneof(fc.array(fc.string()), fc.constantFrom<unknown>("x", {})),
        more: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom<unknown>([], 0)),
        __proto__: fc.constantFrom<unknown>({ id: 1 }, null),
        constructor: fc.constant("x"),
      },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value)),
  fc.integer({ min: 1, max: 30 }).map((digits) => `{"id":${"9".repeat(digits)},"name":"n","tags":[],"more":{}}`),
  fc.constantFrom(
    "",
    "null",
    "[]",
    "1",
    '"text"',
    "{",
    "{}{}",
    '{"id":1e400,"name":"","tags":[],"more":{}}',
    `{"id":1,"name":"n","tags":${"[".repeat(5000)}${"]".repeat(5000)},"more":{}}`,
    `{"id":1,"name":"${"x".repeat(100_000)}","tags":[],"more":{}}`,
    '{"__proto__":{"id":1},"id":2,"name":"n","tags":[],"more":{}}',
    '{"id":1,"id":2,"name":"n","tags":[],"more":{}}',
  ),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
);

const batches = fc.array(texts, { maxLength: 12 });

function eventsOf(list: readonly string[]): Event[] {
  return list.map((text, index) => new Event(2 * index + 3, 1000 + index, Buffer.from(text)));
}

/** What can be seen of a result; a replay does not know which drops had to wait. */
function seen({ passed, dropped, rejected, waiting = [] }: TransformResult): unknown {
  return {
    passed: passed.map(({ position, receivedAt, text }) => ({ position, receivedAt, text })),
    dropped: dropped + waiting.length,
    rejected,
  };
}

type Property = (events: Event[], result: TransformResult, list: string[]) => void;

/** Holds a property against what a new transform makes of many batches. */
function checkEach(make: () => Transform, property: Property): void {
  const transform = make();
  fc.assert(
    fc.property(batches, (list) => {
      const events = eventsOf(list);
      property(events, transform.apply(events, context), list);
    }),
    { numRuns: runsOf(180) },
  );
}

/**
 * What every transform of a source's events does, whatever it is for. `make` gives one for the fields above. One that
 * `remembers` sees an event's neighbours, and a replay tells it what it kept.
 */
export function transformSuite(name: string, make: () => Transform, { remembers = false } = {}): void {
  describe(name, () => {
    test("each event is in exactly one of passed, dropped and rejected, and nothing is thrown", () => {
      checkEach(make, (events, { passed, dropped, rejected, waiting = [] }) => {
        expect(dropped).toBeGreaterThanOrEqual(0);
        const settled = [...passed, ...rejected, ...waiting].map(({ position }) => position);
        expect(new Set(settled).size).toBe(settled.length);
        expect(settled.length + dropped).toBe(events.length);
        expect(events.map(({ position }) => position)).toEqual(expect.arrayContaining(settled));
      });
    });

    test("events that pass keep their order, their place and their time", () => {
      checkEach(make, (events, { passed }) => {
        const places = events.map(({ position, receivedAt }) => `${position} ${receivedAt}`);
        const kept = passed.map(({ position, receivedAt }) => places.indexOf(`${position} ${receivedAt}`));
        expect(kept).not.toContain(-1);
        expect(kept).toEqual(kept.toSorted((a, b) => a - b));
      });
    });

    test("a rejection holds the event's text, a reason of the closed set and a sentence", () => {
      checkEach(make, (events, { rejected }) => {
        for (const { position, original_message, reason, component, error } of rejected) {
          expect(original_message).toBe(events.find((event) => event.position === position)!.text);
          expect(["parse_error", "transform_error"]).toContain(reason);
          expect(["ingestor", "dedup"]).toContain(component);
          expect(error).toMatch(/^(?:failed to validate data|filter|stateless): ./);
        }
      });
    });

    test("a replay gives the same, from the same object and from a new one", () => {
      const again = make();
      const first = make();
      checkEach(make, (_events, result, list) => {
        const kept = new Set(result.passed.map(({ position }) => position));
        const replay = remembers ? { ...context, kept } : context;
        expect(seen(first.apply(eventsOf(list), replay))).toEqual(seen(result));
        expect(seen(again.apply(eventsOf(list), replay))).toEqual(seen(result));
      });
    });

    if (!remembers) {
      test("an event does not see its neighbours", () => {
        const alone = make();
        checkEach(make, (_events, result, list) => {
          const one = list.map((_text, index) => alone.apply([eventsOf(list)[index]!], context));
          expect(
            seen({
              passed: one.flatMap(({ passed }) => passed),
              dropped: one.reduce((sum, { dropped }) => sum + dropped, 0),
              rejected: one.flatMap(({ rejected }) => rejected),
            }),
          ).toEqual(seen(result));
        });
      });
    }

    test("no event is no work", () => {
      expect(seen(make().apply([], context))).toEqual({ passed: [], dropped: 0, rejected: [] });
    });
  });
}
