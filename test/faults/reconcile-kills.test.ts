import { expect, test } from "vitest";
import { brokenWhileReconciling, killWhileReconciling } from "./reconcile-kills.ts";

test(
  "a kill in the middle of changes: what is asked for is reached, nothing is done twice, no event is lost",
  { timeout: 240_000 },
  async () => {
    const report = await killWhileReconciling({ kills: 1, ofEach: 1, steps: ["during stop"], seed: 1 });
    expect(brokenWhileReconciling(report)).toEqual([]);
    expect(report.kills).toBe(1);
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
