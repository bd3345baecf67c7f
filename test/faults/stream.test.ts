import { expect, test } from "vitest";
import { killAppender } from "./stream-kills.ts";

test("five kills of a program that appends: every push that was answered is there, and none in part", async () => {
  const report = await killAppender({ kills: 5, seed: Date.now() % 2 ** 31 });
  expect(report).toMatchObject({ kills: 5, broken: [] });
  expect(report.pushes).toBeGreaterThan(5);
});
