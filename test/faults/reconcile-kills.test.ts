import { expect, test } from "vitest";
import { brokenWhileReconciling, killWhileReconciling } from "./reconcile-kills.ts";

const one = { kills: 1, ofEach: 1, rest: 200, seed: 1 };

test("a leader that is killed with a standby waiting: it carries the change on", { timeout: 240_000 }, async () => {
  const report = await killWhileReconciling({ ...one, steps: ["after update"], withStandby: true });
  expect(brokenWhileReconciling(report)).toEqual([]);
});

test(
  "a kill in the middle of changes: what is asked for is reached, nothing is done twice, no event is lost",
  { tags: ["rest"], timeout: 240_000 },
  async () => {
    const report = await killWhileReconciling({ ...one, steps: ["during stop"] });
    expect(brokenWhileReconciling(report)).toEqual([]);
    expect(report.kills).toBe(1);
  },
);
