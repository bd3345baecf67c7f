import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Delivery } from "./delivery.ts";
import { broken } from "./delivery-report.ts";
import { variantOf, variants } from "./variants.ts";

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);

describe(`every event answered 202 is there exactly once (FAULTS_SEED=${seed})`, () => {
  let delivery: Delivery | undefined;

  beforeAll(async () => {
    delivery = await Delivery.start(seed, variants);
  });
  afterAll(() => delivery?.clean());

  test.each([
    ["before prepare", "dedup, 10 % repeats"],
    ["after prepare", "dedup + stateless, 10 % repeats"],
    ["during the insert", "plain"],
    ["after the insert", "stateless, 3 inserts in flight"],
    ["after commit", "dedup"],
    ["after trim", "dedup + stateless"],
  ] as const)("killed %s: %s", { timeout: 90_000 }, async (step, name) => {
    expect(broken(await delivery!.killAt(step, variantOf(name), 5))).toEqual([]);
  });

  test("killed at a random moment: all pipelines", { timeout: 120_000 }, async () => {
    const reports = await delivery!.killAtRandom(1);
    expect(reports.flatMap(broken)).toEqual([]);
  });
});
