import { describe, expect, test } from "vitest";
import { RecordedJoin, type RecordedEvent, type RecordedStep } from "../../support/model/recorded-join.ts";

const of = (key: number, value: number): RecordedEvent => ({ key, value });
const step = (clock: number, made: Partial<RecordedStep>): RecordedStep => {
  return { clock, rows: [], lefts: [], rights: [], ...made };
};

/** Left 1 waits and meets right 10; left 2 comes to it; right 11 replaces it within a step; left 3 leaves with its window. */
const good: RecordedStep[] = [
  step(1_000, { lefts: [of(7, 1), of(8, 3)] }),
  step(1_500, { rows: [{ left: of(7, 1), right: of(7, 10) }], rights: [of(7, 10)] }),
  step(2_000, {
    rows: [
      { left: of(7, 2), right: of(7, 10) },
      { left: of(7, 4), right: of(7, 11) },
    ],
    rights: [of(7, 11)],
  }),
  step(3_000, { rights: [of(8, 12)] }),
  step(7_000, { lefts: [of(7, 5)] }),
];

function problemsOf(steps: readonly RecordedStep[]): string[] {
  const join = new RecordedJoin({ left: 2_000, right: 5_000 });
  for (const one of steps) join.step(one);
  return join.problems;
}

/** The good steps, with another one at an index. */
function but(index: number, change: Partial<RecordedStep>): RecordedStep[] {
  return good.map((one, at) => (at === index ? { ...one, ...change } : one));
}

describe("the model of recorded steps", () => {
  test("takes what a join may do", () => {
    expect(problemsOf(good)).toEqual([]);
  });

  test.each<[string, RecordedStep[], string]>([
    ["a row of two keys", but(1, { rows: [{ left: of(7, 1), right: of(8, 10) }] }), "left 1 of key 7 met a right of 8"],
    [
      "a left event that matches twice",
      [...good, step(7_100, { rows: [{ left: of(7, 2), right: of(7, 13) }], rights: [of(7, 13)] })],
      "left 2 matched again, or after its window",
    ],
    [
      "a left event that matches after its window",
      but(3, { rows: [{ left: of(8, 3), right: of(8, 12) }] }),
      "left 3 matched again, or after its window",
    ],
    [
      "a left event that waits where it should have met",
      but(1, { rows: [] }),
      "left events of key 7 wait beside a right",
    ],
    [
      "a left event that is buffered beside its right one",
      but(2, { lefts: [of(7, 6)] }),
      "left 6 waits beside a right",
    ],
    ["a left event that comes twice", [...good, step(7_100, { lefts: [of(7, 1)] })], "left 1 is buffered again"],
    [
      "a right event that was replaced",
      [...good.slice(0, 3), step(2_100, { rows: [{ left: of(7, 9), right: of(7, 10) }] })],
      "right 10 came, or counted, again",
    ],
    [
      "a right event that counts after its window",
      [...good.slice(0, 4), step(7_000, { rows: [{ left: of(7, 9), right: of(7, 11) }] })],
      "right 11 came, or counted, again",
    ],
    [
      "a right event that makes rows and is not buffered",
      but(1, { rights: [] }),
      "a right of key 7 came and is not buffered",
    ],
    [
      "a left event that waited and meets the right one that was there",
      [
        step(0, { rights: [of(7, 10)] }),
        step(1, { lefts: [of(7, 1)] }),
        step(2, { rows: [{ left: of(7, 1), right: of(7, 10) }] }),
      ],
      "left 1 waited beside the right that it met",
    ],
  ])("finds %s", (_title, steps, problem) => {
    expect(problemsOf(steps).join("\n")).toContain(problem);
  });
});
