/** @module-tag rest */
import { describe, expect, test } from "vitest";
import type { Fault } from "./fault.ts";
import { brokenBy } from "./verdict.ts";
import type { Evidence } from "./verdict.ts";
import type { Witnessed } from "./witnessed-engine.ts";

const fault: Fault = {
  name: "a fault",
  told: "Timeout",
  calls: ["stop kept-1"],
  interrupts: ["kept-1"],
  begin: () => () => undefined,
};
const good: Evidence = { calls: [], ended: 100, refused: [], leaks: [], down: [], hasConverged: true };

const called = (call: Witnessed["call"], pipeline_id: string, at = 200): Witnessed => ({
  call,
  pipeline_id,
  at,
  result: "success",
});

describe("what is held against a fault", () => {
  test("nothing where every promise was kept", () => {
    const calls = [called("tag", "edited"), called("stop", "kept-1")];
    expect(brokenBy(fault, { ...good, calls, refused: ["kept-1: 503"] })).toEqual([]);
  });

  test.each<[string, Partial<Evidence>]>([
    ["it did not converge to the newest commit", { hasConverged: false }],
    ["unexpected calls: delete kept-2", { calls: [called("delete", "kept-2")] }],
    ["called twice with effect: tag edited", { calls: [called("tag", "edited"), called("tag", "edited")] }],
    ["changed before the fault ended: tag edited", { calls: [called("tag", "edited", 50)] }],
    ["events were refused: kept-2: 503", { refused: ["kept-2: 503", "kept-1: 503"] }],
    ["not running at the end: kept-3", { down: ["kept-3"] }],
    ["a secret stands in the log", { leaks: ["the log"] }],
  ])("%s", (text, evidence) => {
    expect(brokenBy(fault, { ...good, ...evidence })).toEqual([text]);
  });

  test("a terminate, also where the fault may cause it", () => {
    const calls = [called("terminate", "kept-1")];
    expect(brokenBy({ ...fault, calls: ["terminate kept-1"] }, { ...good, calls })).toEqual(["terminate was used"]);
  });
});
