import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/core/batch.ts";

describe("an event of bytes", () => {
  const text = '{"id":9007199254740993,"name":"é"}';
  const event = new Event(7, 1000, Buffer.from(text));

  test("is a view of them", () => {
    expect([event.text, event.size, event.bytes.toString()]).toEqual([text, Buffer.byteLength(text), text]);
    expect(event.received).toBe(event.bytes);
  });

  test("has a value with every digit", () => {
    expect(event.value).toEqual({ id: 9007199254740993n, name: "é" });
  });
});

describe("an event that a transform made", () => {
  const event = new Event(7, 1000, Buffer.from('{"id":1}')).with({ id: 18446744073709551615n, name: "é" });
  const text = '{"id":18446744073709551615,"name":"é"}';

  test("keeps the place and the time of its origin", () => {
    expect([event.position, event.receivedAt]).toEqual([7, 1000]);
  });

  test("has the text, the bytes and the size of its value", () => {
    expect([event.text, event.size, event.bytes.toString()]).toEqual([text, Buffer.byteLength(text), text]);
    expect(event.value).toEqual({ id: 18446744073709551615n, name: "é" });
  });

  test("has bytes, and yet none that were received", () => {
    expect([event.bytes.length, event.received]).toEqual([event.size, undefined]);
  });
});
