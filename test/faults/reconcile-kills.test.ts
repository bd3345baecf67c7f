import { expect, test } from "vitest";
import { brokenWhileReconciling, killWhileReconciling } from "./reconcile-kills.ts";

test(
  "kills in the middle of changes: what is asked for is reached, nothing is done twice, no event is lost",
  { timeout: 240_000 },
  async () => {
    const steps = ["during stop", "after update"] as const;
    const report = await killWhileReconciling({ kills: 2, ofEach: 1, steps, seed: 1 });
    expect(brokenWhileReconciling(report)).toEqual([]);
    expect(report.kills).toBe(2);
  },
);

test("a leader that is killed with a standby waiting: it carries the change on", { timeout: 240_000 }, async () => {
  const report = await killWhileReconciling({
    kills: 1,
    ofEach: 1,
    steps: ["after update"],
    seed: 1,
    withStandby: true,
  });
  expect(brokenWhileReconciling(report)).toEqual([]);
});
