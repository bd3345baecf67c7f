import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import type { Signal } from "../../../engine/core/push.ts";
import { DeclaredFields } from "../../../engine/transforms/declared-fields/declared-fields.ts";
import { mostBytes } from "../../../engine/sources/otlp/rows/json-bytes.ts";
import { MalformedRequest, OversizedRequest } from "../../../engine/sources/otlp/protobuf/wire.ts";
import { rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { type Part, requestOf, rowTexts, wireOf } from "./requests.ts";

/** A field whose content has its length before it. */
function given(id: number, ...content: (number | Uint8Array)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => (typeof part === "number" ? Buffer.of(part) : part)));
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.of((id << 3) | 2, ...length, rest), bytes]);
}

/** A request for logs whose only record has this content. */
const logOf = (...content: (number | Uint8Array)[]) => given(1, given(2, given(2, ...content)));

/** Groups inside one another, each field 40. */
const groups = (depth: number) => Buffer.from(`${"c302".repeat(depth)}${"c402".repeat(depth)}`, "hex");
/** The content of a value of arrays inside one another. */
const arrays = (depth: number) => {
  let value: Buffer = Buffer.alloc(0);
  for (let level = 0; level < depth; level += 1) value = given(5, given(1, value));
  return value;
};

const row = (...content: (number | Uint8Array)[]) =>
  JSON.parse(rowTexts("logs", logOf(...content))[0]!) as Record<string, unknown>;
const pair = (key: string, value: string) =>
  [given(1, Buffer.from(key)), given(2, given(1, Buffer.from(value)))] as const;

describe("bytes that are no request are refused, with the place and what was expected", () => {
  test.each<[string, Buffer, string]>([
    ["a text instead of a message", Buffer.from("hello, world"), "byte"],
    [
      "a length beyond the end",
      Buffer.of(0x0a, 5, 0),
      "byte 2: expected content of at most the 1 bytes left, found 5 bytes",
    ],
    ["a length beyond 2^31", Buffer.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f), "expected a length of at most 5 bytes"],
    ["a length that is cut off", Buffer.of(0x0a), "expected a length, found the end of its message"],
    ["a length beyond its message", given(1, 0x12, 3), "expected content of at most the 0 bytes left, found 3 bytes"],
    ["field number 0", Buffer.of(0x02, 0), "expected a field number from 1, found 0"],
    [
      "a kind of field that there is not",
      Buffer.of(0x0f, 0),
      "expected a kind of field that protobuf has, found kind 7",
    ],
    ["a time that is cut off", logOf(0x09, 1, 2, 3), "expected a value of 8 bytes, found 3 bytes"],
    ["a number without an end", logOf(0x10, ...Array<number>(11).fill(0xff)), "a whole number of at most 10 bytes"],
    ["a number that is cut off", logOf(0x10, 0xff), "expected a whole number, found the end of its message"],
    ["a tag without an end", logOf(...Array<number>(9).fill(0xff)), "a field's tag of at most 5 bytes"],
    ["a group without an end", logOf(0xa3, 6), "expected a field's tag, found the end of its message"],
    ["the end of another group", logOf(0xc3, 2, 0xcc, 2), "expected the end of group 40, found that of group 41"],
    ["the end of a group alone", logOf(0x0c), "expected a kind of field that protobuf has, found kind 4"],
    ["a malformed value that is not used", given(1, given(1, given(1, given(2, 0x0a, 9)))), "content of at most"],
    ["a malformed value that is replaced", logOf(given(5, given(5, 0x0a, 9), given(1))), "content of at most"],
    ["groups without an end", Buffer.alloc(1_000_000, (1 << 3) | 3), "at most 100 messages inside one another"],
    ["arrays whose lengths do not fit", logOf(arrays(60).subarray(2)), "expected"],
    ["arrays too deep", logOf(given(5, arrays(60))), "at most 100 messages inside one another"],
  ])("%s", (_title, body, expected) => {
    for (const signal of ["logs", "traces", "metrics"] satisfies Signal[]) {
      if (signal !== "logs" && expected !== "byte") continue;
      const attempt = () => rowsOf(signal, body, "protobuf", 5);
      expect(attempt).toThrow(MalformedRequest);
      expect(attempt).toThrow(expected);
    }
  });
});

describe("what is unusual but right is taken", () => {
  test.each<[string, (number | Uint8Array)[], Part]>([
    ["unknown fields of each kind", [0xc0, 2, 1, 0xc1, 2, Buffer.alloc(8), given(13, 1), 0xc5, 2, Buffer.alloc(4)], {}],
    ["a group, with fields and a group in it", [0xc3, 2, 0x08, 1, 0xcb, 2, 0xcc, 2, 0xc4, 2], {}],
    ["a known field of another kind", [0x0d, 1, 2, 3, 4], { timestamp: "1970-01-01T00:00:00.005Z" }],
    ["a number in more bytes than it needs", [0x10, 0x89, 0x80, 0], { severity_number: 9 }],
    ["the last of several numbers", [0x10, 1, 0x10, 2], { severity_number: 2 }],
    ["a value in two pieces", [given(5, given(5, given(1))), given(5, given(5, given(1)))], { body: "[null,null]" }],
    ["the last of several kinds of value", [given(5, given(5, given(1)), given(1, 0x61))], { body: "a" }],
    ["a value behind which an array came again", [given(5, given(5, given(1)), given(1), given(5))], { body: "[]" }],
    ["a pair whose value comes first", [given(6, pair("k", "v")[1], pair("k", "v")[0])], { attributes: { k: "v" } }],
    ["a pair in which both come twice", [given(6, ...pair("a", "1"), ...pair("b", "2"))], { attributes: { b: "2" } }],
    ["a length in more bytes than it needs", [0x1a, 0x81, 0x80, 0, 0x61], { severity_text: "a" }],
  ])("%s", (_title, content, expected) => {
    expect(row(...content)).toMatchObject(expected);
  });

  test.each<[string, (number | Uint8Array)[], Buffer]>([
    ["a text", [given(3, 0x61, 0xff, 0x0a, 0x62)], Buffer.from("a\xff\\nb", "latin1")],
    [
      "keys",
      [given(6, given(1, 0xfe), pair("", "1")[1]), given(6, given(1, 0xff), pair("", "2")[1])],
      Buffer.from('{"\xfe":"1","\xff":"2"}', "latin1"),
    ],
    ["a text within a list", [given(5, given(5, given(1, given(1, 0xf0, 0x9f))))], Buffer.from([0xf0, 0x9f])],
  ])("%s that is not UTF-8, whose row is a dead letter with the very bytes", (_what, content, kept) => {
    const { bytes } = rowsOf("logs", logOf(...content), "protobuf", 5);
    expect(bytes.includes(kept)).toBe(true);
    const { passed, rejected } = new DeclaredFields([]).apply([new Event(1, 0, bytes)]);
    expect(passed).toEqual([]);
    expect(rejected[0]!.encoding).toBe("base64");
    expect(Buffer.from(rejected[0]!.original_message, "base64")).toEqual(bytes);
  });

  test("groups inside one another, as many as protobuf libraries read", () => {
    expect(row(groups(98))).toBeDefined();
    expect(() => row(groups(99))).toThrow("at most 100 messages inside one another");
  });
});

const none = (count: number): Part[] => Array.from({ length: count }, () => ({}));

function expectRefusal(signal: Signal, body: Buffer): void {
  expect(body.length).toBeLessThan(4 << 20);
  expect(() => rowsOf(signal, body, "protobuf", 5)).toThrow(
    expect.objectContaining({
      constructor: OversizedRequest,
      message: expect.stringContaining(
        "send fewer records in a request, or fewer attributes on their resource",
      ) as string,
    }),
  );
}

describe("rows that would take too many bytes are refused", () => {
  const long = { attributes: [{ key: "k", value: { stringValue: "x".repeat(1_000_000) } }] };

  const longMetric = { name: "x".repeat(1_000_000), gauge: { dataPoints: none(80) } };

  test.each<[string, Signal, Buffer]>([
    ["a long resource on each of many records", "logs", wireOf("logs", requestOf("logs", none(80), long))],
    ["a long scope", "traces", wireOf("traces", requestOf("traces", none(80), undefined, long))],
    ["a long metric", "metrics", wireOf("metrics", requestOf("metrics", [longMetric]))],
    ["a million records", "logs", given(1, given(2, Buffer.from("1200".repeat(1_000_000), "hex")))],
  ])("%s", (_title, signal, body) => expectRefusal(signal, body));

  test("a million events", { tags: ["rest"] }, () =>
    expectRefusal("traces", given(1, given(2, given(2, Buffer.from("5a00".repeat(1_000_000), "hex"))))),
  );

  test("as many as are allowed are taken", () => {
    const { bytes, ends } = rowsOf("logs", wireOf("logs", requestOf("logs", none(60), long)), "protobuf", 5);
    expect(ends).toHaveLength(60);
    expect(bytes.length).toBeGreaterThan(60_000_000);
    expect(bytes.length).toBeLessThanOrEqual(mostBytes);
  });

  test("what makes no rows takes no bytes: 100,000 scopes under a long resource", () => {
    const resource = given(1, given(1, given(1, 0x6b), given(2, given(1, Buffer.alloc(1_000_000, "x")))));
    const body = given(1, resource, Buffer.from("1200".repeat(100_000), "hex"));
    expect(rowsOf("logs", body, "protobuf", 5).ends).toEqual([]);
  });
});
