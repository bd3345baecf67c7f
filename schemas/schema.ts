import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import schema from "./pipeline-v3.schema.json" with { type: "json" };

/**
 * Our own annotations: the class of change, secrets, the expectation and the code of a message, and for the reference a
 * default that is not a constant and a rule that no schema can express.
 */
const annotations = ["x-effect", "x-effect-with-dedup", "x-secret", "x-code", "x-expected", "x-default", "x-rule"];

/** One breach of the schema, with the breached part of the schema and the value that breaches it. */
export type SchemaError = ErrorObject<string, Record<string, unknown>> & {
  parentSchema?: Record<string, unknown> & { "x-code"?: string; "x-expected"?: string; "x-secret"?: boolean };
};

let compiled: ValidateFunction | undefined;

function validator(): ValidateFunction {
  if (compiled !== undefined) return compiled;
  const ajv = new Ajv({
    strict: true,
    strictRequired: false,
    allErrors: true,
    verbose: true,
    discriminator: true,
    allowUnionTypes: true,
    logger: false,
  });
  ajv.addVocabulary(annotations);
  compiled = ajv.compile(schema);
  return compiled;
}

/** Every breach of the v3 schema by a tidied document; without one, it is a PipelineV3. */
export function schemaErrors(document: unknown): SchemaError[] {
  const validate = validator();
  return validate(document) ? [] : ((validate.errors ?? []) as SchemaError[]);
}

/** The keys of the root of a v3 document. */
export const v3Keys: readonly string[] = Object.keys(schema.properties);
