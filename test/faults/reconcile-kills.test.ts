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

test(
  "kills in the middle of a move to another pipeline_id: it ends up with that, once, and with its revisions",
  { tags: ["rest"], timeout: 240_000 },
  async () => {
    const report = await killWhileReconciling({
      ...one,
      kills: 3,
      steps: ["before move", "during move", "after move"],
    });
    expect(brokenWhileReconciling(report)).toEqual([]);
    expect(report.kills).toBe(3);
  },
);
