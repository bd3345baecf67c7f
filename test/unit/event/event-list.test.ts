import { expect, test } from "vitest";
import { Event, EventList } from "../../../engine/event/event.ts";

/** Events of a few letters each, in buffers of `each` events. */
function eventsOf(count: number, each: number): Event[] {
  return Array.from({ length: count }, (_, index) => index).flatMap((first) =>
    first % each === 0 ? inOneBuffer(first, Math.min(each, count - first)) : [],
  );
}

function inOneBuffer(first: number, count: number): Event[] {
  const texts = Array.from({ length: count }, (_, index) => `{"id":${first + index}}`);
  const bytes = Buffer.from(texts.join("\n"));
  let end = -1;
  return texts.map((text, index) => {
    const start = end + 1;
    end = start + text.length;
    return new Event(3 * (first + index), 1_700_000_000_000 + index, bytes, start, end);
  });
}

const told = ({ position, receivedAt, text }: Event): [number, number, string] => [position, receivedAt, text];

test.each([
  ["none", 0, 1],
  ["one", 1, 1],
  ["each in a buffer of its own", 700, 1],
  ["many in few buffers", 1_000, 300],
  ["all in one buffer", 600, 600],
])("gives back the events that it was given: %s", (_, count, each) => {
  const events = eventsOf(count, each);
  const list = EventList.of(events);
  expect(list.length).toBe(count);
  expect([...list].map(told)).toEqual(events.map(told));
  expect(events.map((__, index) => told(list.at(index)))).toEqual(events.map(told));
  expect(events.map((__, index) => list.positionAt(index))).toEqual(events.map(({ position }) => position));
});

test("gives a part of them, across buffers and beyond its end", () => {
  const events = eventsOf(20, 6);
  const list = EventList.of(events);
  for (const [first, last] of [
    [0, 20],
    [5, 7],
    [6, 12],
    [11, 19],
    [17, 30],
    [4, 4],
    [0, 1],
  ] as const) {
    expect(list.slice(first, last).map(told)).toEqual(events.slice(first, last).map(told));
  }
});

test("leaves out positions, and is itself where there are none", () => {
  const list = EventList.of(eventsOf(10, 4));
  expect([...list.without(new Set([0, 12, 27, 5]))].map(({ position }) => position)).toEqual([3, 6, 9, 15, 18, 21, 24]);
  expect(list.without(new Set())).toBe(list);
});

test("takes no event that has no bytes to be kept by", () => {
  expect(() => EventList.of([new Event(1, 0, { id: 1 })])).toThrow("expected an event with the bytes");
});
