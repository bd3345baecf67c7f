import { expect, test } from "vitest";
import { ArrivalTimes } from "../../../engine/streams/embedded/arrival-times.ts";

test("the oldest is known within a second, and of those of 5,000 seconds within four", () => {
  const times = new ArrivalTimes([{ last: 10, time: 500 }]);
  for (let second = 1; second <= 5_000; second += 1) {
    times.came(10 + 2 * second - 1, second * 1_000);
    times.came(10 + 2 * second, second * 1_000 + 999);
  }
  expect(times.oldestAfter(0)).toBe(500);
  for (const settled of [10, 11, 5_000, 9_000, 10_009]) {
    const next = settled + 1;
    const came = Math.ceil((next - 10) / 2) * 1_000 + (next % 2 === 0 ? 999 : 0);
    expect(times.oldestAfter(settled)).toBeLessThanOrEqual(came);
    expect(times.oldestAfter(settled)).toBeGreaterThan(came - 5_000);
  }
  expect(times.oldestAfter(10_010)).toBeUndefined();
});
