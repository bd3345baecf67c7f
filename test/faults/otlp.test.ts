import { expect, test } from "vitest";
import { killUnderExporters } from "./otlp-kills.ts";

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);

test(
  `a kill under exporters: what was acknowledged is there once (FAULTS_SEED=${seed})`,
  { timeout: 240_000 },
  async () => {
    const { reports } = await killUnderExporters({ kills: 1, exporters: 6, mostRecords: 20, seed });
    expect(reports.map(({ variant, broken }) => ({ variant, broken }))).toEqual([
      { variant: "plain", broken: [] },
      { variant: "dedup", broken: [] },
    ]);
    for (const { acknowledged, rows } of reports) {
      expect(acknowledged).toBeGreaterThan(0);
      expect(rows).toBeGreaterThan(acknowledged);
    }
    expect(Math.max(...reports.map(({ unclear }) => unclear))).toBeGreaterThan(0);
  },
);
