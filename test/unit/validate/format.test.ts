import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { format } from "../../../reconciler/validate/formats/format.ts";
import { validate } from "../../../reconciler/desired/load.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";

const folder = new URL("../../golden/validate/", import.meta.url);
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => ({ path: name, bytes: readFileSync(new URL(name, folder)) }));

test.each(files)("the text about $path is the one on record", async (file) => {
  const text = format({ problems: validate([file]), files: [file.path] }, "text");
  await expect(text).toMatchFileSnapshot(new URL(`${file.path}.txt`, folder).pathname);
});

test("good files have a summary of their own", () => {
  expect(format({ problems: [], files: ["a.yaml", "b.yaml"] }, "text")).toBe("2 files checked: 0 errors, 0 warnings\n");
});

test("JSON says the same with counts", () => {
  const problems = validate([fileOf(goodPipeline.replace("v3", "v1"))]);
  expect(JSON.parse(format({ problems, files: ["orders.yaml"] }, "json"))).toEqual({
    files: 1,
    errors: 1,
    warnings: 0,
    infos: 0,
    problems,
  });
});
