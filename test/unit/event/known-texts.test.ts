import * as fc from "fast-check";
import { expect, test } from "vitest";
import { KnownTexts } from "../../../engine/event/fields.ts";
import { runsOf } from "../../support/cases.ts";

test("a text is what the bytes spell, however often it came, and whatever came before", () => {
  const texts = new KnownTexts();
  const few = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 6 });
  fc.assert(
    fc.property(
      fc.oneof(few, fc.string({ unit: "binary-ascii", maxLength: 40 })),
      fc.nat({ max: 3 }),
      (text, before) => {
        const bytes = Buffer.from(`${"x".repeat(before)}${text}yyy`);
        expect(texts.of(bytes, before, before + text.length)).toBe(text);
      },
    ),
    { numRuns: runsOf(5000) },
  );
});
