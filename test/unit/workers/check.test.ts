import { expect, test } from "vitest";
import { checkPipeline } from "../../../engine/workers/check.ts";
import type { CheckedSpec } from "../../../engine/workers/protocol.ts";
import { defaultOptions, normalise, type PipelineV3 } from "../../../schemas/index.ts";
import { fileOf } from "../../support/texts/letters.ts";

const log = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined } as never;

test("a check that Sluice itself fails at is no answer, and does not end the thread of the checks", async () => {
  const config = normalise(fileOf({ fields: ["id: int"], event: "{}", source: "kafka" }) as unknown as PipelineV3);
  const spec = { pipeline_id: config.pipeline_id, config, options: defaultOptions } as CheckedSpec;
  const found = await checkPipeline(spec, { log, disk: undefined as never });
  expect(found).toEqual({ kind: "unreachable", text: expect.stringContaining("Cannot read properties of undefined") });
});
