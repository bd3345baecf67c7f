import { compileFilter } from "../../../engine/language.ts";
import { basicType, type SchemaField } from "../../../schemas/index.ts";
import type { PureAnswer } from "./pure-call.ts";
import { PureError, shaped, shapes } from "./request.ts";

interface FilterToValidate {
  expression: string;
  fields: { field_name: string; field_type: string }[];
}

const filterShape = shapes.compile<FilterToValidate>({
  type: "object",
  required: ["expression", "fields"],
  additionalProperties: false,
  properties: {
    expression: { type: "string", minLength: 1 },
    fields: {
      type: "array",
      items: {
        type: "object",
        required: ["field_name", "field_type"],
        additionalProperties: false,
        properties: { field_name: { type: "string", minLength: 1 }, field_type: { type: "string" } },
      },
    },
  },
});

/**
 * `POST /api/v1/filter/validate`: whether a filter compiles against its fields, by the same rules as for a pipeline.
 */
export function validateFilter(body: unknown): PureAnswer {
  const { expression, fields } = shaped(filterShape, body);
  const schema = fields.map(schemaField);
  try {
    compileFilter(expression, schema);
  } catch (error) {
    throw PureError.ofExpression("validation_error", error);
  }
  return { status: 200, body: "{}" };
}

function schemaField({ field_name, field_type }: FilterToValidate["fields"][number], index: number): SchemaField {
  try {
    return { name: field_name, type: basicType(field_type) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new PureError(400, "validation_error", `fields[${index}].field_type: ${error.message}`);
  }
}
