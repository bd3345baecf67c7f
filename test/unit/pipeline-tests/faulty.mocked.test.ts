import { expect, test, vi } from "vitest";
import { casesOf } from "../../../reconciler/pipeline-tests/cases.ts";
import type * as Compare from "../../../reconciler/pipeline-tests/compare.ts";
import type * as TestProblems from "../../../reconciler/pipeline-tests/test-problems.ts";
import { compareTest, runTest } from "../../../reconciler/pipeline-tests/run-tests.ts";
import type { Trials } from "../../../reconciler/pipeline-tests/trials.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";

vi.mock("../../../reconciler/pipeline-tests/test-problems.ts", async (importOriginal) => {
  const original = await importOriginal<typeof TestProblems>();
  return {
    ...original,
    checkedTests: (file: Parameters<typeof TestProblems.checkedTests>[0]) => {
      if (file.path === "bad.test.yaml") throw new TypeError("x is undefined");
      return original.checkedTests(file);
    },
  };
});

vi.mock("../../../reconciler/pipeline-tests/compare.ts", async (importOriginal) => ({
  ...(await importOriginal<typeof Compare>()),
  mismatchesOf: () => {
    throw new TypeError("y is undefined");
  },
}));

const fault = (path: string, thrown: string): string =>
  `${path}: expected a file on which Sluice does not fail, got an error of Sluice itself: TypeError: ${thrown} is undefined`;
const tests = fileOf("tests: [{ name: a, events: [] }]", "good.test.yaml");

test("a file of tests on which Sluice itself fails is broken alone", () => {
  const pipelines = fileOf(goodPipeline, "good.yaml");
  const bad = casesOf({ tests: { ...tests, path: "bad.test.yaml" }, pipelines }, new Map());
  expect(bad).toMatchObject([{ test: { file: "bad.test.yaml", line: 1 } }]);
  expect(bad[0]!.pipeline).toEqual({ failure: expect.stringContaining(fault("file", "x")) as string });
  expect(casesOf({ tests, pipelines }, new Map())).toMatchObject([{ pipeline: { pipeline_id: "orders-eu" } }]);
});

test("a test on which Sluice itself fails is broken alone, also where it is compared", async () => {
  const [one] = casesOf({ tests, pipelines: fileOf(goodPipeline, "good.yaml") }, new Map());
  const found = { outcomes: [], rows: [] };
  const broken = { status: "broken", failure: expect.stringContaining(fault("file", "y")) as string };
  const trials = { run: () => Promise.resolve(found) } as unknown as Trials;
  expect(await runTest(trials, one!)).toMatchObject(broken);
  const failing = { run: () => Promise.reject(new TypeError("y is undefined")) } as unknown as Trials;
  if ("failure" in one!.pipeline) throw new Error(one!.pipeline.failure);
  expect(await compareTest(failing, { ...one!, base: one!.pipeline })).toMatchObject(broken);
});
