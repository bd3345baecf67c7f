/** @module-tag rest */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Event } from "../../engine/event/event.ts";
import { type TestClickHouse, startClickHouse } from "../support/clickhouse.ts";
import { patient, sinkOn } from "../integration/sink/support.ts";
import type { Wish } from "../integration/sink/support.ts";
import { bothWays } from "../integration/sink/both-ways.ts";
import { checkScan } from "./scan-check.ts";
import { scannedBatches } from "./scanned-events.ts";
import { batches } from "./spelled-events.ts";
import { encoded } from "../support/encoded.ts";
import { seed, triesOf } from "./tries.ts";
import { anyCharacter } from "../support/any-character.ts";

const numRuns = triesOf(20);
const rawRuns = triesOf(10);
const scanRuns = 50 * triesOf(2);
let server: TestClickHouse;

beforeAll(async () => {
  server = await startClickHouse();
  await server.client.command({ query: "CREATE DATABASE d" });
});

afterAll(() => server.stop());

const fields: Wish["fields"] = [
  ["bool", "bool", "Bool"],
  ["i8", "int", "Int8"],
  ["i64", "int", "Int64"],
  ["u64", "uint", "UInt64"],
  ["f32", "float", "Float32"],
  ["f64", "float", "Nullable(Float64)"],
  ["text", "string", "LowCardinality(String)"],
  ["json", "map", "String"],
  ["fixed", "string", "FixedString(5)"],
  ["time", "string", "DateTime64(6)"],
  ["seconds", "float", "DateTime64(9)"],
  ["day", "string", "Date"],
  ["price", "float", "Decimal(12, 4)"],
  ["list", "array", "Array(Nullable(Int16))"],
  ["tags", "map", "Map(String, String)"],
  ["doc", "map", "JSON"],
  ["hinted", "map", "JSON(a UInt8, b.c Nullable(Int128))"],
  ["wide", "int", "Int256"],
  ["pair", "array", "Tuple(Int16, Nullable(String))"],
  ["named", "map", "Tuple(a Int8, b Array(String))"],
];

const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: "grapheme" }),
  fc.constant("\n\nDROP TABLE d.fuzz;\n\n"),
);
const moment = fc
  .date({ noInvalidDate: true, min: new Date("1900-01-01"), max: new Date("2299-12-31") })
  .map((date) => date.toISOString());
const key = fc.oneof(fc.constantFrom("a", "b", "c", "a.b", "b.c", "", "__proto__"), text);
const doc = fc.dictionary(
  key,
  fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: -300, max: 300 }),
    fc.array(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(), fc.boolean())),
    fc.dictionary(key, fc.oneof(text, fc.integer(), fc.dictionary(key, fc.maxSafeInteger()))),
  ),
);
const anything = fc.oneof(
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
  { weight: 1, arbitrary: fc.integer({ min: -300, max: 300 }) },
  { weight: 1, arbitrary: fc.boolean() },
  { weight: 1, arbitrary: fc.oneof(text, moment) },
  { weight: 1, arbitrary: fc.array(fc.integer()) },
  { weight: 1, arbitrary: doc },
  { weight: 1, arbitrary: fc.dictionary(text, fc.oneof(text, fc.integer())) },
);
const event = fc.record(Object.fromEntries(fields.map(([name]) => [name, anything])), { requiredKeys: [] });
const likely = fc.record(
  {
    bool: fc.boolean(),
    i8: fc.integer({ min: -128, max: 127 }),
    i64: fc.maxSafeInteger(),
    u64: fc.maxSafeNat(),
    f32: fc.float({ noNaN: true, noDefaultInfinity: true }),
    f64: fc.double({ noNaN: true, noDefaultInfinity: true }),
    text,
    json: fc.dictionary(text, fc.oneof(text, fc.boolean(), fc.integer(), fc.array(text))),
    time: moment,
    seconds: fc.double({ min: 0, max: 9e9, noNaN: true }),
    list: fc.array(fc.option(fc.integer({ min: -32768, max: 32767 }))),
    tags: fc.dictionary(text, text),
    doc,
    hinted: doc,
    wide: fc.maxSafeInteger(),
    pair: fc.tuple(fc.integer({ min: -300, max: 300 }), fc.option(text)),
    named: fc.record({ a: fc.integer({ min: -128, max: 127 }), b: fc.array(text) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

test(
  "every event becomes a row that ClickHouse takes, or a dead letter",
  { timeout: 120_000 + numRuns * 1_000 },
  async () => {
    const sink = sinkOn(server, { fields, table: "fuzz", create_table: true });
    expect(await sink.open(patient)).toEqual({ kind: "ok" });
    const [seen, sent] = [new Map<string, number>(), { rows: 0, rejected: 0 }];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(event, likely), { minLength: 1, maxLength: 50 }), async (values) => {
        const given = values.map((value, index) => new Event(index, 0, Buffer.from(JSON.stringify(value))));
        const block = encoded(sink, given);
        expect(block.events.length + block.rejected.length).toBe(given.length);
        const token = `fuzz ${seen.size}`;
        expect(await sink.insert(block, token, patient)).toEqual({ kind: "ok" });
        seen.set(token, block.events.length);
        sent.rows += block.events.length;
        sent.rejected += block.rejected.length;
      }),
      { numRuns, seed, endOnFailure: true },
    );
    await sink.close();
    expect(sent.rows).toBeGreaterThan(20);
    expect(sent.rejected).toBeGreaterThan(20);
    expect(await server.query("SELECT toUInt32(count()) AS n FROM d.fuzz")).toEqual([{ n: sent.rows }]);
  },
);

test(
  "an event that is sent as it is becomes the row that it would become if it were encoded",
  { timeout: 120_000 + rawRuns * 1_000 },
  async () => {
    const sent = { asTheyAre: 0, encoded: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(batches, async ({ fields: columns, real, events }) => {
        const [objects, others] = [events.filter(isObject), events.filter((bytes) => !isObject(bytes))];
        const found = await bothWays(server, columns, objects, real);
        expect(found.received).toEqual(found.encoded);
        expect(found.received.answer).toEqual({ kind: "ok" });
        sent.asTheyAre += found.sentAsTheyAre.length;
        sent.encoded += found.received.rows.length - found.sentAsTheyAre.length;
        // What is no JSON is never sent: reading its value is what fails.
        const sink = sinkOn(server, { fields: columns, table: "none" });
        for (const bytes of others) expect(() => encoded(sink, [new Event(1, 0, bytes)])).toThrow();
        sent.refused += others.length;
      }),
      { numRuns: rawRuns, seed, endOnFailure: true },
    );
    expect(sent.asTheyAre).toBeGreaterThan(rawRuns);
    expect(sent.encoded).toBeGreaterThan(rawRuns);
    expect(sent.refused).toBeGreaterThan(rawRuns);
  },
);

test("a walk over the bytes of an event tells what a parse tells", { timeout: 120_000 + scanRuns * 100 }, () => {
  const met = { walked: 0, parsed: 0, refused: 0, rows: 0 };
  fc.assert(
    fc.property(scannedBatches, (batch) => checkScan(batch, met)),
    { numRuns: scanRuns, seed, endOnFailure: true },
  );
  for (const count of Object.values(met)) expect(count).toBeGreaterThan(scanRuns);
});

function isObject(bytes: Buffer): boolean {
  return new Event(1, 0, bytes).record !== undefined;
}
