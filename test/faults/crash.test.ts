import { expect, test } from "vitest";
import { crash } from "./crash.ts";

test(
  "a kill of ClickHouse and one of all: every event answered 202 is there exactly once",
  { timeout: 240_000 },
  async () => {
    const report = await crash({ kills: 1, rest: 40 });
    expect(report).toMatchObject({ kills: 1, lost: [], doubled: [], strangers: [] });
    expect(report.rows + report.deadLetters).toBeGreaterThanOrEqual(report.accepted);
    expect(report.deadLetters).toBeGreaterThan(0);
  },
);
