import { expect, test, vi } from "vitest";
import { load } from "../../../reconciler/desired/load.ts";
import type * as Check from "../../../reconciler/validate/check.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";

vi.mock("../../../reconciler/validate/check.ts", async (importOriginal) => {
  const original = await importOriginal<typeof Check>();
  return {
    ...original,
    checkDocument: (document: Parameters<typeof Check.checkDocument>[0]) => {
      if (document.file === "bad.yaml") throw new TypeError("x is undefined");
      return original.checkDocument(document);
    },
  };
});

test("a file on which Sluice itself fails is a problem of that file, whose pipelines are kept; others are read", () => {
  const [bad, good] = [
    fileOf(goodPipeline.replace("orders-eu", "orders-us"), "bad.yaml"),
    fileOf(goodPipeline, "good.yaml"),
  ];
  const { pipelines, problems, refused } = load([bad, good]);
  expect(pipelines.map(({ pipeline_id }) => pipeline_id)).toEqual(["orders-eu"]);
  expect(problems.filter(({ severity }) => severity === "error")).toMatchObject([
    { code: "FAULT", file: "bad.yaml", found: "an error of Sluice itself: TypeError: x is undefined" },
  ]);
  expect(refused).toMatchObject([{ file: "bad.yaml", pipeline_ids: ["orders-us"] }]);
});
