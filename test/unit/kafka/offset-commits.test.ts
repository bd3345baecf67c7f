import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OffsetCommits } from "../../../engine/sources/kafka/group/offset-commits.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function commits(): { made: [string, number][][]; commits: OffsetCommits } {
  const made: [string, number][][] = [];
  return { made, commits: new OffsetCommits(async (offsets) => void made.push([...offsets])) };
}

test("Batches of a tenth of a second share a commit: the first goes at once, the others with the newest offsets a tenth later", async () => {
  const { made, commits: all } = commits();
  for (let offset = 1; offset <= 50; offset += 1) {
    all.add("orders/0", offset);
    all.add("orders/1", offset * 2);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(made).toEqual([
    [
      ["orders/0", 1],
      ["orders/1", 2],
    ],
  ]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(made.slice(1)).toEqual([
    [
      ["orders/0", 50],
      ["orders/1", 100],
    ],
  ]);
});

test("The end of the source waits for no tenth: what waits is committed at once", async () => {
  const { made, commits: all } = commits();
  all.add("orders/0", 1);
  await vi.advanceTimersByTimeAsync(1);
  all.add("orders/0", 2);
  const flushed = all.flushed();
  await vi.advanceTimersByTimeAsync(1);
  await flushed;
  expect(made).toEqual([[["orders/0", 1]], [["orders/0", 2]]]);
});

test("After a commit that fails, the next one has the newest offsets", async () => {
  const made: number[] = [];
  const all = new OffsetCommits(async (offsets) => {
    made.push(...offsets.values());
    if (made.length === 1) throw new Error("the coordinator is not available");
  });
  all.add("orders/0", 1);
  await vi.advanceTimersByTimeAsync(1);
  all.add("orders/0", 2);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(made).toEqual([1, 2]);
});
