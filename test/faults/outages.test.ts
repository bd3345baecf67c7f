import { expect, test } from "vitest";
import { brokenBy, suffer } from "./outages.ts";

test(
  "ClickHouse refuses, hangs, is silent, overloaded and slow: every event is there exactly once",
  { timeout: 300_000 },
  async () => {
    const report = await suffer({ each: 0, cut: true, rest: 200 });
    expect(brokenBy(report), JSON.stringify(report)).toEqual([]);
  },
);
