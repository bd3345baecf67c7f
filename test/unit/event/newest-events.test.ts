import { expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import { NewestEvents } from "../../../engine/event/newest-events.ts";

function event(text: string, origin?: string): Event {
  const bytes = Buffer.from(text);
  return new Event(1, 0, bytes, 0, bytes.length, origin);
}

test("the newest are kept in their order, with their origin", () => {
  const newest = new NewestEvents(2);
  newest.add([event("a"), event("b")]);
  newest.add([event("c", "orders")]);
  expect(newest.sample).toEqual({ events: [{ text: "b" }, { text: "c", origin: "orders" }], left_out: 0 });
});

test("a tombstone, and bytes that are no text, are left out and counted", () => {
  const newest = new NewestEvents(3);
  const tombstone = new Event(1, 0, Buffer.alloc(0), 0, -1, "orders");
  newest.add([event("a"), tombstone, new Event(2, 0, Buffer.from([0xff]), 0, 1)]);
  expect(newest.sample).toEqual({ events: [{ text: "a" }], left_out: 2 });
});

test("the oldest give way where all together are too large, and one that is too large itself", () => {
  const newest = new NewestEvents(3, 4);
  newest.add(["aa", "bb", "cc"].map((text) => event(text)));
  expect(newest.sample).toEqual({ events: [{ text: "bb" }, { text: "cc" }], left_out: 1 });
  newest.add([event("dd")]);
  expect(newest.sample).toEqual({ events: [{ text: "cc" }, { text: "dd" }], left_out: 1 });
  newest.add([event("large")]);
  expect(newest.sample).toEqual({ events: [], left_out: 3 });
  newest.add(["ee", "ff"].map((text) => event(text)));
  expect(newest.sample).toEqual({ events: [{ text: "ee" }, { text: "ff" }], left_out: 1 });
});

test("those of another one are added", () => {
  const [all, other] = [new NewestEvents(3), new NewestEvents(2)];
  all.add([event("a"), event("b")]);
  other.add([event("c"), event("d")]);
  all.addAll(other);
  expect(all.sample.events).toEqual([{ text: "b" }, { text: "c" }, { text: "d" }]);
});
