import { expect, test, vi } from "vitest";
import type * as EngineDoor from "../../../engine/index.ts";
import { resolveProblems } from "../../../reconciler/cli/files/resolve.ts";
import { Progress } from "../../../reconciler/cli/invocation/progress.ts";
import { resolveSettings } from "../../../reconciler/cli/invocation/resolve-settings.ts";
import { load, reviewOf } from "../../../reconciler/desired/load.ts";
import { foreignPipelines } from "../../../reconciler/repository/index.ts";
import type * as DedupOrder from "../../../reconciler/validate/dedup-order.ts";
import type { PipelineConfig } from "../../../schemas/index.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";

vi.mock("../../../engine/index.ts", async (importOriginal) => ({
  ...(await importOriginal<typeof EngineDoor>()),
  Engine: {
    open: () => ({
      check: ({ pipeline_id }: PipelineConfig) =>
        pipeline_id === "bad-one" ? Promise.reject(new TypeError("x is undefined")) : { kind: "ready" },
      close: () => undefined,
    }),
  },
}));

vi.mock("../../../reconciler/validate/dedup-order.ts", async (importOriginal) => {
  const original = await importOriginal<typeof DedupOrder>();
  return {
    ...original,
    createdOrder: (given: Parameters<typeof DedupOrder.createdOrder>[0]) => {
      if (given.config.pipeline_id === "bad-one") throw new TypeError("x is undefined");
      return original.createdOrder(given);
    },
  };
});

const bad = fileOf(goodPipeline.replace("orders-eu", "bad-one").replace("table: orders", "table: bad"), "bad.yaml");
const files = [bad, fileOf(goodPipeline, "good.yaml")];
const faults = [{ code: "FAULT", file: "bad.yaml", found: "an error of Sluice itself: TypeError: x is undefined" }];

test("a file on which Sluice itself fails as its servers are asked is a problem of that file alone", async () => {
  const settings = resolveSettings("validate", { flags: {}, env: {}, file: [] });
  const invocation = { settings, env: {}, progress: new Progress({}, "sluice validate") };
  expect(await resolveProblems(load(files).pipelines, invocation)).toMatchObject(faults);
});

test("a file on which Sluice itself fails as it is reviewed is a problem of that file alone", () => {
  const { pipelines, problems } = reviewOf(load(files));
  expect(pipelines).toHaveLength(2);
  expect(problems.filter(({ severity }) => severity === "error")).toMatchObject(faults);
});

test("a file on which Sluice itself fails as it is imported is a problem of that file alone", () => {
  const unreadable = {
    path: "bad.yaml",
    get bytes(): Uint8Array {
      throw new TypeError("x is undefined");
    },
  };
  expect(foreignPipelines(unreadable)).toMatchObject({ pipelines: [], problems: faults });
});
