import { Ajv, type Options } from "ajv";
import liveState from "../live-state.schema.json" with { type: "json" };
import pipelineTests from "../pipeline-tests.schema.json" with { type: "json" };
import pipelineV2 from "../pipeline-v2.schema.json" with { type: "json" };
import pipelineV3 from "../pipeline-v3.schema.json" with { type: "json" };
import sluiceConfig from "../sluice-config.schema.json" with { type: "json" };

/** Every error, with the part of the schema and the value that it is about. */
const thorough: Options = { allErrors: true, verbose: true };

/** The schemas that documents are checked by, and how. */
export const schemas = {
  "pipeline-v3": { schema: pipelineV3, options: { ...thorough, discriminator: true } },
  "pipeline-v2": { schema: pipelineV2, options: thorough },
  "pipeline-tests": { schema: pipelineTests, options: { ...thorough, discriminator: true } },
  "live-state": { schema: liveState, options: {} },
  "sluice-config": { schema: sluiceConfig, options: { allErrors: true } },
} as const satisfies Record<string, { schema: object; options: Options }>;

export type SchemaName = keyof typeof schemas;
export const schemaNames = Object.keys(schemas) as SchemaName[];

/**
 * Compiles schemas of this repository. Nothing is done that only tells about the schema itself: the tests compile all of
 * them strictly. The check of documents is that of strict mode.
 */
export function ownSchemas(options: Options = {}): Ajv {
  return new Ajv({
    strict: false,
    strictNumbers: true,
    meta: false,
    validateSchema: false,
    // Smaller functions compile faster: a large schema in less than half the time.
    inlineRefs: false,
    logger: false,
    ...options,
    code: { optimize: false, ...options.code },
  });
}
