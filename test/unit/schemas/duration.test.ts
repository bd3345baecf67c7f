import * as fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalDuration, durationMs, parseDuration, printDuration } from "../../../schemas/index.ts";

test.each([
  ["1h", "1h0m0s", 3_600_000],
  ["24h", "24h0m0s", 86_400_000],
  ["60s", "1m0s", 60_000],
  ["500ms", "500ms", 500],
  ["0", "0s", 0],
  ["0d", "0s", 0],
  ["1d12h", "36h0m0s", 129_600_000],
  ["2d6h30m", "54h30m0s", 196_200_000],
  ["1.5h", "1h30m0s", 5_400_000],
  [".5s", "500ms", 500],
  ["1.s", "1s", 1000],
  ["90s", "1m30s", 90_000],
  ["1h0.25s", "1h0m0.25s", 3_600_250],
  ["1500us", "1.5ms", 1.5],
  ["1µs", "1µs", 0.001],
  ["7ns", "7ns", 0.000_007],
  ["+5s", "5s", 5000],
  ["-90s", "-1m30s", -90_000],
])("%s is printed %s and lasts %d ms", (text, canonical, ms) => {
  expect(canonicalDuration(text)).toBe(canonical);
  expect(durationMs(text)).toBe(ms);
});

test.each([
  "",
  " 1s",
  "1",
  "s",
  "1.5d",
  ".5d",
  "1 s",
  "1s ",
  "1x",
  "1S",
  "soon",
  "--1s",
  "1e3s",
  "9999999999h",
  `${"1".repeat(70)}s`,
])('"%s" is no duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
  expect(() => durationMs(text)).toThrow(RangeError);
});

test("what is printed means the same, and is printed the same again", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (nanoseconds) => {
      const text = printDuration(nanoseconds);
      expect(parseDuration(text)).toBe(nanoseconds);
      expect(canonicalDuration(text)).toBe(text);
    }),
  );
});
