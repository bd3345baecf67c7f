import { expect, test } from "vitest";
import { crash } from "./crash.ts";

test(
  "two kills and one of ClickHouse: every event answered 202 is there exactly once",
  { timeout: 120_000 },
  async () => {
    const report = await crash({ kills: 2 });
    expect(report).toMatchObject({ kills: 2, lost: [], doubled: [], strangers: [] });
    expect(report.rows + report.deadLetters).toBeGreaterThanOrEqual(report.accepted);
    expect(report.deadLetters).toBeGreaterThan(0);
  },
);
