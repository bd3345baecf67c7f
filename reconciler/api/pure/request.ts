import type { ValidateFunction } from "ajv";
import { ExpressionError } from "../../../engine/language.ts";
import { ownSchemas } from "../../../schemas/validators/ajv.ts";
import type { ErrorBody } from "../http/api-error.ts";

/** Compiles the shapes of bodies. */
export const shapes = ownSchemas();

/**
 * The body, which has that shape. Throws PureError with status 422 that names the first error (docs/api.md, Calls that
 * compute).
 */
export function shaped<T>(shape: ValidateFunction<T>, body: unknown): T {
  if (shape(body)) return body;
  const [first] = shape.errors ?? [];
  const { instancePath = "", message = "is not valid", params } = first ?? {};
  const extra = (params as { additionalProperty?: string } | undefined)?.additionalProperty;
  const named = extra === undefined ? "" : `: ${JSON.stringify(extra.slice(0, 80))}`;
  const where = instancePath === "" ? "the body" : instancePath.slice(1).replaceAll("/", ".");
  throw new PureError(422, "", `validation failed: ${where} ${message}${named}`);
}

/** An error in the body of a pure call. */
export class PureError extends Error {
  readonly body: ErrorBody;

  constructor(status: number, code: string, message: string, details?: Record<string, unknown>) {
    super(message);
    this.name = "PureError";
    this.body = { status, code, message, ...(details && { details }) };
  }

  /** The refusal of an expression, with its place. `code` is that of the call. Throws any other error on. */
  static ofExpression(code: string, error: unknown): PureError {
    if (!(error instanceof ExpressionError)) throw error;
    const { part, detail, line, column, offset, end } = error;
    return new PureError(400, code, error.message, { error: detail, part, line, column, offset, end });
  }
}
