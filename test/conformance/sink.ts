import { describe, expect, test, type TestOptions } from "vitest";
import { isEveryCase } from "../support/cases.ts";
import { insertingCases } from "./sink-inserting.ts";
import { openingCases } from "./sink-opening.ts";
import { rowCases } from "./sink-rows.ts";
import { SinkScene, type Fault, type SinkCase, type SinkUnderTest } from "./sink-scene.ts";

const cases: readonly SinkCase[] = [...openingCases, ...rowCases, ...insertingCases];
const sound: Fault = () => ({});

/**
 * What every sink does, whatever it writes to, with its real server (`engine/core/sink.ts`; docs/delivery-protocol.md,
 * Answers). Each case also runs on the same sink with a fault, and must fail then: so it sees what it is about, and `make`
 * reaches the target.
 *
 * `ofFaults`: options of the tests of sinks with a fault.
 */
export function sinkSuite(name: string, make: () => Promise<SinkUnderTest>, ofFaults: TestOptions): void {
  for (const { title, run, faults } of cases) {
    describe(`${name}: ${title}`, () => {
      test("a sound sink passes", () => onScene(make, sound, run));

      const [first, ...others] = Object.entries(faults);
      const tried = isEveryCase ? [first!, ...others] : [first!];
      test.each(tried)("a sink fails that %s", ofFaults, async (_fault, fault) => {
        await expect(onScene(make, fault, run)).rejects.toHaveProperty("name", "AssertionError");
      });
    });
  }
}

async function onScene(make: () => Promise<SinkUnderTest>, fault: Fault, run: SinkCase["run"]): Promise<void> {
  const scene = new SinkScene(await make(), fault);
  try {
    await run(scene);
  } finally {
    await scene.clean();
  }
}
