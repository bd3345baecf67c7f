import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import {
  narrowed,
  offsetAt,
  Places,
  rangeText,
  streamFeed,
  type Chunk,
  type Offset,
  type Place,
} from "../../../engine/core/positions.ts";

const chunk = (feed: string, offsets: number[], last = offsets.at(-1)!): Chunk => {
  return { feed, events: offsets.map((offset) => new Event(offset, 0, Buffer.from("{}"))), last };
};

const taken = (...chunks: Chunk[]): Places => {
  const places = new Places();
  for (const one of chunks) places.take(one);
  return places;
};

describe("places within a batch", () => {
  test("of a stream lead back to its sequences, however many it has had", () => {
    const one = chunk(streamFeed, [2 ** 41 + 7, 2 ** 41 + 8]);
    const { ranges } = taken(one);
    const places = one.events.map(({ position }) => position);
    expect(places.map((place) => offsetAt(ranges, place)?.position)).toEqual([2 ** 41 + 7, 2 ** 41 + 8]);
    expect(narrowed(ranges, places)).toEqual(ranges);
  });

  test("of a stream were its sequences in records of former versions", () => {
    const one = chunk(streamFeed, [7, 8]);
    const ranges = [{ feed: streamFeed, base: 0, first: 7, last: 8, count: 2 }];
    const again = new Places(ranges);
    again.take(one);
    expect(one.events.map(({ position }) => position)).toEqual([7, 8]);
    expect(again.ranges).toEqual(ranges);
  });

  test("of partitions name range and offset, however large both are, and lead back to them", () => {
    const offsets = { a: [5, 9], b: [2 ** 52, 2 ** 52 + 40], c: [0] };
    const chunks = Object.entries(offsets).map(([feed, own]) => chunk(feed, own));
    const { ranges } = taken(...chunks);
    const places = chunks.flatMap(({ events }) => events.map(({ position }) => position));
    expect(new Set(places).size).toBe(5);
    expect(places.every(Number.isSafeInteger)).toBe(true);
    expect(places.map((place) => offsetAt(ranges, place))).toEqual(
      Object.entries(offsets).flatMap(([feed, own]) => own.map((position) => ({ feed, position }))),
    );
  });

  test("are the same when a record is read again, whatever is gone and in whatever order feeds come", () => {
    const before = [chunk("a", [5, 6, 7]), chunk("b", [50, 52])];
    const { ranges } = taken(...before);
    const [a, b] = before.map(({ events }) => events.map(({ position }) => position));
    const again = new Places(ranges);
    const left = [chunk("b", [52]), chunk("a", [6])];
    for (const one of left) again.take(one);
    expect(left.map(({ events }) => events[0]!.position)).toEqual([b![1], a![1]]);
  });
});

test("a range goes on to where it was read, also behind its last event, and where it holds none", () => {
  const { ranges } = taken(chunk("a", [5, 6], 9), chunk("a", [], 12), chunk("b", [], 3));
  expect(ranges).toEqual([
    { feed: "a", base: 5, first: 5, last: 12, count: 2 },
    { feed: "b", base: 3, first: 3, last: 3, count: 0 },
  ]);
});

test("ranges are narrowed to some of their positions, each in its place", () => {
  const chunks = [chunk("a", [5, 6, 7]), chunk("b", [50]), chunk("c", [1, 2, 3])];
  const { ranges } = taken(...chunks);
  const positions = [chunks[0]!.events[1]!, chunks[2]!.events[0]!, chunks[2]!.events[2]!].map(
    (event) => event.position,
  );
  const narrow = narrowed(ranges, positions);
  expect(narrow.map(({ first, last, count }) => [first, last, count])).toEqual([
    [6, 6, 1],
    [50, 49, 0],
    [1, 3, 2],
  ]);
  expect(positions.map((position) => offsetAt(narrow, position)?.position)).toEqual([6, 1, 3]);
});

test("a range is told with its feed, that of a stream without", () => {
  expect(rangeText({ feed: "c/t/0", base: 5, first: 5, last: 9, count: 3 })).toBe("5 to 9 of c/t/0");
  expect(rangeText({ feed: "", base: 0, first: 1, last: 2, count: 2 })).toBe("1 to 2");
});

test("the compiler tells offsets and places apart", () => {
  const [offset, place]: [Offset, Place] = [7, 0];
  const ranges = [{ feed: "a", base: offset, first: offset, last: offset, count: 1 }];
  expect(offsetAt(ranges, place)).toEqual({ feed: "a", position: offset });
  // @ts-expect-error An offset is no place.
  expect(offsetAt(ranges, offset)).toEqual({ feed: "a", position: 14 });
  // @ts-expect-error A place is no offset.
  ranges[0]!.base = place;
});
