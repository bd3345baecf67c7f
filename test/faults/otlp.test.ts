import { expect, test } from "vitest";
import { killUnderExporters } from "./otlp-kills.ts";

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);

test(
  `two kills under 20 exporters for each pipeline: what was acknowledged is there once (FAULTS_SEED=${seed})`,
  { timeout: 120_000 },
  async () => {
    const { reports } = await killUnderExporters({ kills: 2, seed });
    expect(reports.map(({ variant, broken }) => ({ variant, broken }))).toEqual([
      { variant: "plain", broken: [] },
      { variant: "dedup", broken: [] },
    ]);
    for (const { acknowledged, rows } of reports) {
      expect(acknowledged).toBeGreaterThan(20);
      expect(rows).toBeGreaterThan(acknowledged);
    }
    expect(Math.max(...reports.map(({ unclear }) => unclear))).toBeGreaterThan(0);
  },
);
