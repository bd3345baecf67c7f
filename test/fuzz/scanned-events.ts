import * as fc from "fast-check";
import { Event } from "../../engine/event/event.ts";
import type { FieldType, SchemaField } from "../../schemas/pipeline.ts";
import { anyValue, type Spelling } from "./spelled-values.ts";
import { anyCharacter } from "../support/any-character.ts";

/** A schema, and events for it as bytes: most of them keep to it, or break it in one place. */
export interface ScannedBatch {
  fields: SchemaField[];
  events: Buffer[];
  /** Stands between the events, and behind the last one. */
  between: string;
}

const names = fc.constantFrom(
  ..."id|ID|name|a|b|a.b|a.b.c|user|user.id|ключ|x y|__proto__|constructor|toString|e\u0301|é|".split("|"),
);

const quoted = (text: string): string => JSON.stringify(text);
const letters = fc.string({ unit: fc.constantFrom("a", "B", "7", " ", "-", "~"), maxLength: 40 }).map(quoted);
const texts = fc.oneof(
  { weight: 6, arbitrary: letters },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }).map(quoted) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 12 }).map(quoted) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"\\u00e9"', '"\\/"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\n"', '"1"', '""'),
  },
);
const numbers = fc.oneof(
  fc.integer().map(String),
  fc.integer({ min: -1_000_000, max: 1_000_000 }).map((whole) => String(whole / 1000)),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }).map(String),
  fc
    .tuple(fc.integer({ min: -999, max: 999 }), fc.constantFrom(".0", ".50", "e2", "E-3", ".10e+1"))
    .map((parts) => parts.join("")),
  fc.constantFrom("0", "-0", "0.0", "-0.0", "1e99", "1e400", "-1e400", "9".repeat(41), `0.${"0".repeat(30)}1`),
);

/** Objects and arrays, whose keys are those that are asked for. */
const { nested } = fc.letrec<{ nested: string; value: string }>((tie) => ({
  value: fc.oneof({ depthSize: "small" }, texts, numbers, fc.constantFrom("true", "null"), tie("nested")),
  nested: fc.oneof(
    fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    fc
      .array(fc.tuple(names.map(quoted), tie("value")), { maxLength: 3 })
      .map((members) => `{${members.map((member) => member.join(":")).join(",")}}`),
  ),
}));
const deep = fc.integer({ min: 28, max: 36 }).map((depth) => `${"[".repeat(depth)}${"]".repeat(depth)}`);

const usual: Record<FieldType, Spelling> = {
  string: texts,
  bool: fc.constantFrom("true", "false"),
  int: numbers,
  uint: numbers,
  float: numbers,
  array: fc.oneof(
    deep,
    nested.filter((text) => text.startsWith("[")),
  ),
  map: nested.filter((text) => text.startsWith("{")),
};

function keyOf(name: string): Spelling {
  const plain = quoted(name);
  const escaped = `"\\u${(name.charCodeAt(0) || 0x61).toString(16).padStart(4, "0")}${plain.slice(2)}`;
  return fc.oneof({ weight: 80, arbitrary: fc.constant(plain) }, { weight: 1, arbitrary: fc.constant(escaped) });
}

function memberOf({ name, type }: SchemaField): fc.Arbitrary<[string, string]> {
  const value = fc.oneof({ weight: 40, arbitrary: usual[type] }, { weight: 1, arbitrary: fc.oneof(anyValue, nested) });
  return fc.tuple(keyOf(name), value);
}

/** A field whose name has dots stands as one key, or in an object. */
function membersOf(field: SchemaField): fc.Arbitrary<[string, string]> {
  const dot = field.name.indexOf(".");
  if (dot === -1) return memberOf(field);
  const [head, rest] = [field.name.slice(0, dot), field.name.slice(dot + 1)];
  const inner = membersOf({ ...field, name: rest });
  return fc.oneof(
    memberOf(field),
    inner.map(([key, value]): [string, string] => [quoted(head), `{"more":[],${key}:${value}}`]),
  );
}

/** What stands before a comma, and behind a comma or a colon. */
const gaps = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom<[string, string]>(["", ""], ["", " "]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<[string, string]>([" ", ""], ["", "\n"], ["", "  "], ["\t", ""], ["\r\n", ""]),
  },
);

/** Bytes that come somewhere into a text, or take a place in it; mostly none. */
const damage = fc.tuple(
  fc.nat(),
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<number[]>([]) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<number[]>(
        [0xff],
        [0xc3],
        [0xed, 0xa0, 0x80],
        [0],
        [0x0a],
        [0x22],
        [0x5c],
        [0x7d],
        [0x2c],
      ),
    },
  ),
  fc.boolean(),
);

const strange = fc.constantFrom(
  "",
  "null",
  "[]",
  "1",
  '"text"',
  "{",
  "}",
  "{}{}",
  "\ufeff{}",
  "{,}",
  '{"":1}',
  " {}",
  "{} ",
  "{}\n",
);

function eventsFor(fields: readonly SchemaField[]): fc.Arbitrary<Buffer> {
  const declared = fc.tuple(...fields.map(membersOf));
  const more = fc.oneof(
    { weight: 3, arbitrary: fc.constant<[string, string][]>([]) },
    { weight: 1, arbitrary: fc.array(fc.tuple(names.map(quoted), fc.oneof(anyValue, nested)), { maxLength: 2 }) },
  );
  const usualOnes = fc
    .tuple(fc.tuple(declared, more), fc.nat(), fc.nat({ max: 30 }), gaps, damage)
    .map(([members, turn, missing, [before, behind], [place, bytes, isInstead]]) => {
      const all = members.flat().filter((_, index) => index !== missing - 20);
      const first = turn % Math.max(1, all.length);
      const ordered = [...all.slice(first), ...all.slice(0, first)];
      const text = Buffer.from(
        `{${ordered.map(([key, value]) => `${key}:${behind}${value}`).join(`${before},${behind}`)}}`,
      );
      const at = place % (text.length + 1);
      const rest = text.subarray(isInstead && bytes.length > 0 ? at + 1 : at);
      return Buffer.concat([text.subarray(0, at), Buffer.from(bytes), rest]);
    });
  return fc.oneof(
    { weight: 40, arbitrary: usualOnes },
    { weight: 1, arbitrary: strange.map((text) => Buffer.from(text)) },
  );
}

/** Events for a schema. */
export function batchesFor(fields: SchemaField[]): fc.Arbitrary<ScannedBatch> {
  return fc.record({
    fields: fc.constant(fields),
    events: fc.array(eventsFor(fields), { minLength: 1, maxLength: 40, size: "max" }),
    between: fc.constantFrom("", "\n", "}", '"', ',"id":1}', "\u0000\u0001\u0002", '{"id":'),
  });
}

const types = fc.constantFrom<FieldType>("string", "bool", "int", "uint", "float", "array", "map");

export const scannedBatches: fc.Arbitrary<ScannedBatch> = fc
  .uniqueArray(fc.record({ name: names, type: types }), { minLength: 1, maxLength: 5, selector: ({ name }) => name })
  .chain(batchesFor);

/** The events as a walk may read them: side by side in one buffer. */
export function asReceived({ events, between }: ScannedBatch): Event[] {
  const bytes = Buffer.concat(events.flatMap((event) => [event, Buffer.from(between)]));
  let start = 0;
  return events.map(({ length }, position) => {
    const event = new Event(position, 1000, bytes, start, start + length);
    start += length + Buffer.byteLength(between);
    return event;
  });
}

const mark = Buffer.from("\ufeff");

/** The same events as only a parse can read them: a space before an event, behind its mark, makes any walk give up. */
export function asParsed({ events }: ScannedBatch): Event[] {
  return events.map((event, position) => {
    const behind = event.subarray(0, mark.length).equals(mark) ? mark.length : 0;
    const spaced = Buffer.concat([event.subarray(0, behind), Buffer.from(" "), event.subarray(behind)]);
    return new Event(position, 1000, spaced);
  });
}
