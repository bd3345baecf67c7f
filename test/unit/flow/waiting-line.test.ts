import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WaitingLine } from "../../../engine/flow/waiting-line.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const lengthOf = (name: string): number => name.length;

/** A line of names with a patience of a second, and what became of those that left it. */
function lineOfNames(gone: ReadonlySet<string>) {
  const left: string[] = [];
  const line = new WaitingLine<string>({ most: 1_000, isGone: (name) => gone.has(name) }, (name, { because }) =>
    left.push(`${name} ${because}`),
  );
  return { line, left };
}

test("what waits has its turn in the order in which it came, but for those that have gone", () => {
  const gone = new Set<string>();
  const { line, left } = lineOfNames(gone);
  for (const name of ["a", "b", "c", "d"]) line.add(name);
  gone.add("b").add("c");
  line.sift();
  expect([line.items, left]).toEqual([
    ["a", "d"],
    ["b gone", "c gone"],
  ]);
  expect([line.take(1), line.take(2), line.length]).toEqual([["a"], ["d"], 0]);
});

test("each leaves when it has waited for as long as it may, and not before", () => {
  const { line, left } = lineOfNames(new Set());
  line.add("a");
  vi.advanceTimersByTime(600);
  line.add("b");
  line.add("c");
  expect(line.take(1)).toEqual(["a"]);
  vi.advanceTimersByTime(999);
  expect(left).toEqual([]);
  vi.advanceTimersByTime(1);
  expect([left, line.length]).toEqual([["b late", "c late"], 0]);
  line.add("d");
  vi.advanceTimersByTime(1_000);
  expect(left).toEqual(["b late", "c late", "d late"]);
});

test("a turn out of the order goes to the least, of several to the first, and the others keep their times", () => {
  const { line, left } = lineOfNames(new Set());
  line.add("bb");
  vi.advanceTimersByTime(400);
  for (const name of ["a", "c", "dd"]) line.add(name);
  expect([line.takeBy(lengthOf), line.takeBy(lengthOf), line.items]).toEqual(["a", "c", ["bb", "dd"]]);
  vi.advanceTimersByTime(600);
  expect([left, line.items]).toEqual([["bb late"], ["dd"]]);
  expect([line.takeBy(lengthOf), line.takeBy(lengthOf)]).toEqual(["dd", undefined]);
});
