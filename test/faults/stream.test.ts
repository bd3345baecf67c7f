/** @module-tag rest */
import { expect, test } from "vitest";
import { killAppender } from "./stream-kills.ts";

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);

test(`three kills of a program that appends: every push that was answered is there, and none in part (FAULTS_SEED=${seed})`, async () => {
  const report = await killAppender({ kills: 3, seed });
  expect(report).toMatchObject({ kills: 3, broken: [] });
  expect(report.pushes).toBeGreaterThan(3);
});
