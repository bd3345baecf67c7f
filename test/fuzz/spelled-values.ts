import * as fc from "fast-check";
import type { FieldType } from "../../schemas/pipeline.ts";
import { anyCharacter } from "../support/any-character.ts";

/** Texts that stand where JSON has a value: spelled as usual, oddly, or as no JSON at all. */
export type Spelling = fc.Arbitrary<string>;

/** A column that events' own bytes may fill, the values that usually feed it, and others that come near. */
export interface SpelledColumn {
  type: FieldType;
  column_type: string;
  usual: Spelling;
  odd: Spelling;
}

const quoted = (text: string): string => JSON.stringify(text);
const oneOf = (letters: string): Spelling => fc.constantFrom(...letters.split(""));
const joined = (...parts: Spelling[]): Spelling => fc.tuple(...parts).map((list) => list.join(""));
const digits = (most: number): Spelling => fc.string({ unit: oneOf("0123456789"), minLength: 1, maxLength: most });
const finite = { noNaN: true, noDefaultInfinity: true };

const edgesOfBits = fc
  .tuple(
    fc.constantFrom(7n, 8n, 15n, 16n, 31n, 32n, 53n, 63n, 64n),
    fc.constantFrom(-1n, 1n),
    fc.bigInt({ min: -2n, max: 2n }),
  )
  .map(([bits, sign, by]) => String(sign * 2n ** bits + by));
const wholes = fc.oneof(edgesOfBits, joined(fc.constantFrom("", "-", "+", "0", "-0"), digits(24)));
const shortWholes = fc.integer({ min: -(10 ** 12), max: 10 ** 12 }).map(String);

function wholesOf(bits: bigint, isSigned: boolean): Spelling {
  const [min, max] = isSigned ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n];
  return fc.bigInt({ min, max }).map(String);
}

const decimals = fc.oneof(
  fc.double({ ...finite, min: -1e30, max: 1e30 }).map(String),
  fc.integer({ min: -1e6, max: 1e6 }).map((whole) => String(whole / 1000)),
  joined(shortWholes, fc.constantFrom(".0", ".00")),
);
const exponents = joined(fc.constantFrom("e", "E+", "e-"), digits(3));
const numbers = fc.oneof(
  fc.double(finite).map(String),
  joined(
    fc.constantFrom("", "-"),
    digits(17),
    fc.constantFrom("", "."),
    digits(18),
    fc.oneof(fc.constant(""), exponents),
  ),
  fc.constantFrom("0", "-0", "0.0", "-0.0", "1.0", "1.50", "1e3", "1e400", "01", "1.", ".5", "NaN", "Infinity", "0x1"),
);

const goodEscapes = fc.constantFrom("\\/", "\\u00e9", "\\u0000", "\\ud83d\\ude00", "\\uFFFF", "\\n", '\\"', "\\\\");
const goodTexts = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }).map(quoted),
  fc.string({ unit: anyCharacter, maxLength: 20 }).map(quoted),
  fc.array(fc.oneof(oneOf("aé "), goodEscapes)).map((parts) => `"${parts.join("")}"`),
);
const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`);
const notAllowed = fc.constantFrom("\u0000", "\u001f", "\n", "\t", '"', "\\", "\\x", "\\u12", "\\ude00\\ud83d");
const pieces = fc.oneof(
  { weight: 20, arbitrary: oneOf("abc 019-:.TZ/'`{}[],\u007f\u0080\u2028\ufeff") },
  { weight: 4, arbitrary: oneOf('"\\/bfnrt').map((letter) => `\\${letter}`) },
  { weight: 4, arbitrary: fc.oneof(goodEscapes, anyUnit) },
  { weight: 1, arbitrary: notAllowed },
);
const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => `"${parts.join("")}"`);

const moment = (first: string, last: string): Spelling =>
  fc.date({ noInvalidDate: true, min: new Date(first), max: new Date(last) }).map((date) => date.toISOString());
const days = (first: string, last: string): Spelling => moment(first, last).map((time) => `"${time.slice(0, 10)}"`);
const fractions = fc.oneof(
  fc.constant(""),
  fc.string({ unit: oneOf("0159"), minLength: 1, maxLength: 9 }).map((all) => `.${all}`),
);

/** Times in UTC from 1970 on. */
function timesUntil(last: string): Spelling {
  return fc
    .tuple(moment("1970-01-01", last), fractions)
    .map(([time, fraction]) => `"${time.slice(0, 19)}${fraction}Z"`);
}

const edgesOfTime = fc
  .constantFrom(
    ..."1970-01-01T00:00:00Z 1969-12-31T23:59:59Z 2106-02-07T06:28:14Z 2106-02-07T06:28:15Z 2106-02-07T06:28:16Z".split(
      " ",
    ),
    ..."2262-04-11T23:47:15Z 2262-04-11T23:47:16Z 2299-12-31T23:59:58Z 2299-12-31T23:59:59Z 2300-01-01T00:00:00Z".split(
      " ",
    ),
    ..."2024-02-29T23:59:59Z 2023-02-29T00:00:00Z 2024-06-31T00:00:00Z 2024-05-31T24:00:00Z 2024-05-31T23:60:00Z".split(
      " ",
    ),
  )
  .map(quoted);
const oddTimes = fc
  .tuple(
    moment("1890-01-01", "2310-01-01"),
    fc.constantFrom("T", " "),
    fc.constantFrom("", ".", ".5", ".1234567890"),
    fc.constantFrom("Z", "", "+02:00", "z"),
  )
  .map(([time, between, fraction, zone]) => `"${time.slice(0, 19).replace("T", between)}${fraction}${zone}"`);
const times = fc.oneof(oddTimes, edgesOfTime);
const anyDays = days("1890-01-01", "2310-01-01");

const uuids = fc.tuple(fc.uuid(), fc.boolean()).map(([text, isUpper]) => quoted(isUpper ? text.toUpperCase() : text));
const members = fc.constantFrom('"a"', '"b c"', '"é"', '""', '"q\\""');
const truths = fc.constantFrom("true", "false");
const words = fc.constantFrom("true", "false", "null", "nil", "True", '"a"', '"A"', '"\\u0061"', '"NULL"', '"\\\\N"');
const nested = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value));

const textKeys = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom("http.method", "user.id", "a", "b c", "ключ", "é", "__proto__") },
  { weight: 1, arbitrary: fc.constantFrom("", "1", "10", "01", "1a", "A") },
  { weight: 1, arbitrary: fc.string({ maxLength: 4 }) },
);

/** Objects on one line, in which a key may stand twice. */
function maps(keys: Spelling, values: Spelling): Spelling {
  return fc
    .tuple(fc.array(fc.tuple(keys, values), { maxLength: 6 }), fc.constantFrom("", " "))
    .map(([pairs, gap]) => `{${pairs.map(([key, value]) => `${key}:${gap}${value}`).join(`,${gap}`)}}`);
}

const textMaps = fc
  .uniqueArray(fc.tuple(textKeys, goodTexts), { maxLength: 6, selector: ([key]) => key })
  .map((pairs) => `{${pairs.map(([key, value]) => `${quoted(key)}:${value}`).join(",")}}`);
const oddMaps = maps(fc.oneof(textKeys.map(quoted), goodTexts), fc.oneof(goodTexts, texts, words));

/** Any value at all. */
export const anyValue: Spelling = fc.oneof(wholes, numbers, texts, times, anyDays, uuids, words, nested);

function column(type: FieldType, column_type: string, usual: Spelling, odd: Spelling): SpelledColumn {
  return { type, column_type, usual, odd };
}

const [until2106, until2262, until2299] = ["2106-02-07", "2262-04-11", "2299-12-31"].map(timesUntil) as [
  Spelling,
  Spelling,
  Spelling,
];

export const columns: readonly SpelledColumn[] = [
  ...[8n, 16n, 32n, 64n].flatMap((bits) => [
    column("int", `Int${bits}`, wholesOf(bits, true), wholes),
    column("uint", `Nullable(UInt${bits})`, wholesOf(bits, false), wholes),
  ]),
  column("int", "LowCardinality(Int64)", wholesOf(64n, true), wholes),
  column("int", "Int128", shortWholes, wholes),
  column("int", "Float64", shortWholes, wholes),
  column("float", "Float64", decimals, numbers),
  column("float", "Float32", decimals, numbers),
  column("float", "LowCardinality(Nullable(Float32))", decimals, numbers),
  column("bool", "Nullable(Bool)", truths, words),
  column("string", "String", goodTexts, texts),
  column("string", "LowCardinality(String)", goodTexts, texts),
  column("string", "LowCardinality(Nullable(String))", goodTexts, words),
  column("string", "Nullable(FixedString(9))", fc.string({ maxLength: 9 }).map(quoted), goodTexts),
  column("string", "UUID", uuids, texts),
  column("string", "Enum8('a' = 1, 'b c' = -2, 'é' = 3, '' = 0, 'q\"' = 4)", members, words),
  column("string", "DateTime", until2106, times),
  column("string", "DateTime('America/New_York')", until2106, times),
  column("int", "DateTime", wholesOf(32n, false), wholes),
  column("float", "LowCardinality(DateTime)", wholesOf(32n, false), numbers),
  column("map", "Map(String, String)", textMaps, oddMaps),
  column("map", "Map(LowCardinality(String), String)", textMaps, oddMaps),
  column("map", "Map(String, LowCardinality(Nullable(String)))", textMaps, oddMaps),
  ...[0, 1, 3, 6, 8, 9].map((digitsBehind) => column("string", `DateTime64(${digitsBehind})`, until2262, times)),
  column("string", "DateTime64(3, 'Asia/Tokyo')", until2299, times),
  column("string", "Date", days("1970-01-01", "2149-06-05"), anyDays),
  column("string", "Nullable(Date32)", days("1900-01-01", "2299-12-30"), anyDays),
];
