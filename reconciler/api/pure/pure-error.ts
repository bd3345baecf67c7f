import { ExpressionError } from "../../../engine/index.ts";
import type { ErrorBody } from "../api-error.ts";

/** What is wrong with the body of a pure call. */
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
