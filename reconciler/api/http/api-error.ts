import type { ErrorRequestHandler, Response } from "express";
import { EngineError, isUnwelcome } from "../../../engine/index.ts";
import type { Log } from "../../../engine/index.ts";

/** The body of every answer that is not a success (docs/api.md, Status API). */
export interface ErrorBody {
  status: number;
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

/** A refusal that a route answers with. */
export class ApiError extends Error {
  readonly body: ErrorBody;

  constructor(status: number, code: string, message: string, details?: Record<string, unknown>) {
    super(message);
    this.name = "ApiError";
    this.body = { status, code, message, ...(details && { details }) };
  }
}

export function sendError(res: Response, body: ErrorBody): void {
  if (isUnwelcome(body.status)) res.set("Connection", "close");
  res.status(body.status).json(body);
}

/** The answer to a caller for `error`. An error that the caller did not cause is masked: its message may hold anything. */
export function errorBody(error: unknown): ErrorBody {
  if (error instanceof ApiError) return error.body;
  if (error instanceof EngineError && error.code === "PIPELINE_NOT_FOUND") {
    return { status: 404, code: "not_found", message: error.message };
  }
  if (error instanceof URIError) {
    return { status: 400, code: "bad_request", message: "the path of the URL is not valid percent-encoding" };
  }
  return { status: 500, code: "internal_error", message: "Internal server error" };
}

/** The last handler of an app: answers errors of routes, and logs details that callers must not see. */
export function answerErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    const body = errorBody(error);
    if (body.status === 500) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error({ method: req.method, route: String(res.locals["route"]), error: reason }, "API request failed.");
    }
    if (res.headersSent) next(error);
    else sendError(res, body);
  };
}
