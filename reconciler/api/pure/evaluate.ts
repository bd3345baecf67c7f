import { compileTransforms, type TransformExpression, writeExactly } from "../../../engine/language.ts";
import type { PureAnswer } from "./pure-call.ts";
import { PureError, shaped, shapes } from "./request.ts";

interface Evaluation {
  type: string;
  config: { transform: TransformExpression[] };
  sample: Record<string, unknown>;
}

const known = "expr_lang_transform";

/** Characters of the largest answer. */
const largest = 4 * 1024 * 1024;

const typeShape = shapes.compile<Pick<Evaluation, "type">>({
  type: "object",
  required: ["type", "config", "sample"],
  additionalProperties: false,
  properties: { type: { type: "string" }, config: {}, sample: {} },
});

const evaluationShape = shapes.compile<Evaluation>({
  type: "object",
  properties: {
    config: {
      type: "object",
      required: ["transform"],
      additionalProperties: false,
      properties: {
        transform: {
          type: "array",
          minItems: 1,
          items: {
            type: "object",
            required: ["expression", "output_name", "output_type"],
            additionalProperties: false,
            properties: {
              expression: { type: "string" },
              output_name: { type: "string", minLength: 1 },
              output_type: { type: "string" },
            },
          },
        },
      },
    },
    sample: { type: "object" },
  },
});

/**
 * `POST /api/v1/transform/expression/evaluate`: the output of a stateless transform for a sample. There is no schema,
 * so a field that the sample lacks is nil.
 */
export function evaluate(body: unknown): PureAnswer {
  if (shaped(typeShape, body).type !== known) {
    throw new PureError(400, "invalid_transformation_type", `type: expected "${known}", found another one`);
  }
  return { status: 200, body: outputsOf(shaped(evaluationShape, body)) };
}

function outputsOf({ config, sample }: Evaluation): string {
  try {
    const made = writeExactly(compileTransforms(config.transform, undefined).apply(sample, Date.now()));
    if (made.length <= largest) return made;
  } catch (error) {
    throw PureError.ofExpression("transformation_error", error);
  }
  throw new PureError(400, "transformation_error", `the outputs are longer than ${largest} characters`);
}
