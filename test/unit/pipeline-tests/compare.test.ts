import { describe, expect, test } from "vitest";
import { changesBetween } from "../../../reconciler/pipeline-tests/changes.ts";
import { mismatchesOf } from "../../../reconciler/pipeline-tests/compare.ts";
import type { Found, Outcome } from "../../../reconciler/pipeline-tests/outcome.ts";
import type { Expectation, GivenEvent } from "../../../schemas/index.ts";

const nothing: Outcome = { written: 0, filtered: 0, deduplicated: 0, dead_letters: [] };
const letter = {
  component: "ingestor",
  reason: "parse_error",
  error: "field n: expected number",
  original_message: '{"id":3}',
} as const;
const events: GivenEvent[] = [{ event: { id: 1 } }, { text: '{"id":2}' }, { event: { id: 3 } }];

const found: Found = {
  rows: [{ id: 1, n: 5 }],
  outcomes: [
    { ...nothing, written: 1, rows: [{ id: 1, n: 5 }] },
    { ...nothing, filtered: 1 },
    { ...nothing, dead_letters: [letter] },
  ],
};

const mismatches = (expectation: Expectation) =>
  mismatchesOf({ name: "t", file: "t.test.yaml", line: 1, index: 0, events, expect: expectation }, found);

/** The same but for the outcome of one event. */
const but = (index: number, outcome: Partial<Outcome>): Found => ({
  rows: found.rows,
  outcomes: found.outcomes.map((one, of) => (of === index ? { ...one, ...outcome } : one)),
});

/** A row of the first of two events, where the table does not say so. */
const unattributed = (n: number): Found => ({ rows: [{ id: 1, n }], outcomes: [{ ...nothing, written: 1 }, nothing] });

describe("what a test expects", () => {
  test.each<[string, Expectation]>([
    [
      "everything",
      { rows: [{ id: 1 }], filtered: [{ id: 2 }], deduplicated: 0, dead_letters: [{ reason: "parse_error" }] },
    ],
    ["dead letters alone", { dead_letters: [{ original_message: { id: 3 } }] }],
    ["a number of filtered events", { filtered: 1, dead_letters: [{}] }],
  ])("is found: %s", (_title, expectation) => expect(mismatches(expectation)).toEqual([]));

  test("dead letters have to be expected", () => {
    expect(mismatches({})).toMatchObject([
      { section: "dead_letters", kind: "unexpected", found: { reason: "parse_error" } },
    ]);
  });

  test("stands beside what is most like it", () => {
    const dead_letters = [{}];
    expect(mismatches({ rows: [{ id: 9 }, { id: 1, n: 6 }], dead_letters })).toEqual([
      { section: "rows", kind: "missing", at: 0, expected: { id: 9 } },
      { section: "rows", kind: "different", at: 1, expected: { id: 1, n: 6 }, found: { id: 1, n: 5 } },
    ]);
    expect(mismatches({ rows: [], filtered: 0, deduplicated: [{ id: 2 }], dead_letters })).toEqual([
      { section: "rows", kind: "unexpected", found: { id: 1, n: 5 } },
      { section: "filtered", kind: "count", expected: 0, found: 1 },
      { section: "deduplicated", kind: "missing", at: 0, expected: { id: 2 } },
    ]);
  });
});

describe("the outcome of an event", () => {
  const columns = new Set(["id", "n"]);

  test("changes where a row, a drop or an error does", () => {
    expect(changesBetween(found, found, columns)).toEqual([]);
    expect(changesBetween(found, but(0, { rows: [{ id: 1, n: 6 }] }), columns)).toMatchObject([{ event: 0 }]);
    expect(changesBetween(found, but(1, { filtered: 0, deduplicated: 1 }), columns)).toMatchObject([{ event: 1 }]);
    expect(changesBetween(found, but(2, { dead_letters: [] }), columns)).toMatchObject([{ event: 2 }]);
  });

  test("does not change with a column that no mapping writes", () => {
    expect(changesBetween(found, but(0, { rows: [{ id: 1, n: 5, seen: "now" }] }), columns)).toEqual([]);
  });

  test("counts as changed where it wrote a row, and only the table shows that rows differ", () => {
    expect(changesBetween(unattributed(1), unattributed(1), columns)).toEqual([]);
    expect(changesBetween(unattributed(1), unattributed(2), columns)).toMatchObject([{ event: 0 }]);
  });
});
