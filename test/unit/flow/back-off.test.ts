import { expect, test } from "vitest";
import { backOff } from "../../../engine/flow/back-off.ts";

test.each([
  [1, 100, 200],
  [2, 200, 400],
  [5, 1_600, 3_200],
  [6, 2_500, 5_000],
  [7, 2_500, 5_000],
  [5_000, 2_500, 5_000],
])("after attempt %i it is from %i to %i ms, with 200 at first and 5,000 at most", (attempt, least, most) => {
  const waits = Array.from({ length: 1_000 }, () => backOff(attempt, 200, 5_000));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(least);
  expect(Math.max(...waits)).toBeLessThanOrEqual(most);
  expect(new Set(waits).size).toBeGreaterThan(1);
});

test.each([
  [[1, 1], 400, 400],
  [[0.8, 1], 320, 400],
  [[0.9, 1.1], 360, 440],
] as const)("with a spread of %j it is from %i to %i ms", (spread, least, most) => {
  const waits = Array.from({ length: 1_000 }, () => backOff(3, 100, 5_000, spread));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(least);
  expect(Math.max(...waits)).toBeLessThanOrEqual(most);
});
