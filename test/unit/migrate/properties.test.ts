import * as fc from "fast-check";
import { expect, test } from "vitest";
import { migrate, MigrationError } from "../../../reconciler/migrate/migrate.ts";
import { v2Documents as documents } from "./arbitrary-version-2.ts";
import schema from "../../../schemas/pipeline-v2.schema.json" with { type: "json" };
import { runsOf } from "../../support/cases.ts";

test("a decodable document never throws, is not changed, and always gives the same", () => {
  fc.assert(
    fc.property(documents, fc.boolean(), (document, keepBehaviour) => {
      const before = structuredClone(document);
      const made = migrate(document, { keepBehaviour });
      expect(document).toEqual(before);
      expect(migrate(before, { keepBehaviour })).toEqual(made);
      expect(made.config["version"]).toBe("v3");
    }),
    { numRuns: runsOf(75) },
  );
});

test("any JSON gives a v3 document or a MigrationError", () => {
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 6 }),
    fc
      .tuple(documents, fc.constantFrom(...Object.keys(schema.properties)), fc.jsonValue())
      .map(([document, key, value]) => ({ ...document, [key]: value })),
  );
  fc.assert(
    fc.property(odd, (document) => {
      try {
        expect(migrate(document).config["version"]).toBe("v3");
      } catch (error) {
        expect(error).toBeInstanceOf(MigrationError);
        expect((error as MigrationError).obstacles.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: runsOf(150) },
  );
});
