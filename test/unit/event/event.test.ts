import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";

describe("an event of bytes", () => {
  const text = '{"id":9007199254740993,"name":"é"}';

  test.each([
    ["alone", new Event(7, 1000, Buffer.from(text))],
    ["among others", new Event(7, 1000, Buffer.from(`{}${text}{}`), 2, 2 + Buffer.byteLength(text))],
  ])("is a view of them, %s", (_title, event) => {
    expect([event.text, event.size, event.bytes.toString()]).toEqual([text, Buffer.byteLength(text), text]);
    expect(event.received).toEqual(event.bytes);
    expect(event.value).toEqual({ id: 9007199254740993n, name: "é" });
    expect(event.isTombstone).toBe(false);
  });
});

describe("an event that a transform made", () => {
  const event = new Event(7, 1000, Buffer.from('{"id":1}')).with({ id: 18446744073709551615n, name: "é" });
  const text = '{"id":18446744073709551615,"name":"é"}';

  test("keeps the place and the time of its origin", () => {
    expect([event.position, event.receivedAt]).toEqual([7, 1000]);
  });

  test("has the text and the bytes of its value", () => {
    expect([event.text, event.bytes.toString()]).toEqual([text, text]);
    expect(event.value).toEqual({ id: 18446744073709551615n, name: "é" });
  });

  test("has bytes, and yet none that were received", () => {
    expect([event.within, event.received]).toEqual([undefined, undefined]);
  });

  test.each([
    [{}],
    [{ text: "of some letters", number: 1.25, yes: true, nothing: null, none: "" }],
    [{ wide: 18446744073709551615n, list: [1, "two", [false]], inner: { a: { b: "c" } } }],
  ])("has about the size of its JSON: %s", (value) => {
    const made = new Event(1, 0, value);
    expect(Math.abs(made.size - made.bytes.length)).toBeLessThanOrEqual(20);
  });
});

test("a tombstone is an event without a value", () => {
  const event = new Event(7, 1000, Buffer.from('{"id":1}'), 0, -1);
  expect([event.isTombstone, event.within, event.received, event.record]).toEqual([
    true,
    undefined,
    undefined,
    undefined,
  ]);
  expect([event.text, event.size, event.bytes.length]).toEqual(["", 0, 0]);
});
