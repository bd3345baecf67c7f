import { readdirSync, readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { ownSchemas } from "../../../schemas/validators/ajv.ts";

const folder = new URL("../../../schemas/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".schema.json"));
const schemaIn = (file: string): object => JSON.parse(readFileSync(new URL(file, folder), "utf8")) as object;

/** Our own annotations and rules, which draft 7 does not have. */
const keywords = [
  ["x-argument", "x-commands", "x-expected", "x-flag", "x-from", "x-to"],
  ["x-effect", "x-effect-with-dedup", "x-events", "x-events-removed", "x-secret", "x-code", "x-default", "x-rule"],
].flat();

const strict = (): Ajv => {
  const formats = { duration: true, listener: true, moment: true, size: true } as const;
  const loose = { strictRequired: false, allowUnionTypes: true, discriminator: true };
  return new Ajv({ strict: true, ...loose, keywords, formats, logger: false });
};

function expectStrict(file: string): void {
  strict().compile(schemaIn(file));
}

describe("a process that starts does not check the schemas of this repository: each is valid, and strict, here", () => {
  const first = "pipeline-v3.schema.json";

  test(first, () => expectStrict(first));

  test.each(files.filter((file) => file !== first))("%s", { tags: ["rest"] }, expectStrict);

  test("which would show a keyword that is misspelt, and one with a value of another type", () => {
    expect(() => strict().compile({ type: "string", minimumLength: 1 })).toThrow("unknown keyword");
    expect(() => strict().compile({ type: "text" })).toThrow("schema is invalid");
  });
});

test("a document is checked as in strict mode: what is not finite is no number", () => {
  const isNumber = ownSchemas().compile({ type: "number" });
  expect([1, 1.5, Infinity, NaN].filter((value) => isNumber(value))).toEqual([1, 1.5]);
});
