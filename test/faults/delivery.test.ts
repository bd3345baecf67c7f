/** @module-tag rest */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Delivery } from "./delivery.ts";
import { broken } from "./delivery-report.ts";
import type { Step } from "./steps.ts";
import { variantOf } from "./variants.ts";

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);

/** The steps at which something is under way, or a file goes. Before and after them `crash.test.ts` kills at random. */
const kills: readonly (readonly [step: Step, variant: string])[] = [
  ["after prepare", "dedup + stateless, 10 % repeats"],
  ["during the insert", "plain"],
  ["after the insert", "stateless, 3 inserts in flight"],
  ["after trim", "plain"],
];

describe(`every event answered 202 is there exactly once (FAULTS_SEED=${seed})`, () => {
  let delivery: Delivery | undefined;

  beforeAll(async () => {
    const names = new Set(kills.map(([, name]) => name));
    delivery = await Delivery.start(seed, [...names].map(variantOf));
  });
  afterAll(() => delivery?.clean());

  test.each(kills)("killed %s: %s", { timeout: 120_000 }, async (step, name) => {
    expect(broken(await delivery!.killAt(step, variantOf(name), 5))).toEqual([]);
  });
});
