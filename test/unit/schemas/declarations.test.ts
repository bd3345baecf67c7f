import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { declarations } from "../../../schemas/declarations.ts";

test("pipeline-v3.d.ts is what the schema gives: else run `npm run schemas`", async () => {
  const committed = await readFile(new URL("../../../schemas/pipeline-v3.d.ts", import.meta.url), "utf8");
  expect(await declarations()).toBe(committed);
});
