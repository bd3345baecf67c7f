import { expect, test } from "vitest";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { brokenBy, suffer } from "./outages.ts";

test(
  "ClickHouse refuses, hangs, is silent, overloaded and slow: every event is there exactly once, in bounded memory",
  { timeout: 180_000 },
  async ({ skip }) => {
    requireOrSkip(process.platform === "linux" ? undefined : "memory is read from /proc", skip);
    const report = await suffer({ each: 2_000, cut: true });
    expect(brokenBy(report), JSON.stringify(report)).toEqual([]);
  },
);
