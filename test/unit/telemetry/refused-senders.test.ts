import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RefusalsOfPipeline } from "../../../engine/telemetry/refused-senders.ts";
import { keptLog } from "../../support/engine.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const full = { reason: "disk_full", message: "the disk is full: make room" } as const;
const wrong = { reason: "malformed", message: 'expected a JSON object, found "secret"' } as const;

test("the refusals of a minute are one line, a warning where the operator can do something", () => {
  const log = keptLog();
  const refusals = new RefusalsOfPipeline("orders", log);
  for (const refusal of [wrong, wrong, full]) refusals.add(refusal);
  vi.advanceTimersByTime(1_000);
  const sentence = "Requests of senders are refused.";
  const fields = { pipeline_id: "orders", malformed: 2, disk_full: 1, last: full.message };
  expect(log.lines).toEqual([{ level: "warn", fields, sentence }]);
  refusals.add(wrong);
  vi.advanceTimersByTime(59_000);
  expect(log.lines).toHaveLength(1);
  vi.advanceTimersByTime(1_000);
  // What was said about the bytes of a request stays out of the log.
  expect(log.lines[1]).toEqual({ level: "info", fields: { pipeline_id: "orders", malformed: 1 }, sentence });
});

test("what the operator can change is shown until five minutes after the last one", () => {
  const refusals = new RefusalsOfPipeline("orders", keptLog());
  refusals.add(wrong);
  expect(refusals.shown).toBeUndefined();
  const since = new Date().toISOString();
  refusals.add(full);
  vi.advanceTimersByTime(299_000);
  refusals.add(full);
  expect(refusals.shown).toEqual({ reason: "disk_full", count: 2, since, text: full.message });
  vi.advanceTimersByTime(299_000);
  expect(refusals.shown).toMatchObject({ count: 2 });
  vi.advanceTimersByTime(1_000);
  expect(refusals.shown).toBeUndefined();
  refusals.add(full);
  expect(refusals.shown).toMatchObject({ count: 1, since: new Date().toISOString() });
});
