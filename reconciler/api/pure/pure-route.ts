import type { RequestHandler } from "express";
import { sendError } from "../http/api-error.ts";
import { readBody } from "../http/body.ts";
import type { PurePath } from "./pure-call.ts";
import type { PureCalls } from "./pure-calls.ts";

/** The errors for a body that needs more time or memory than one call may use. */
const exhausted: Readonly<Record<PurePath, { status: number; code: string }>> = {
  "/api/v1/filter/validate": { status: 400, code: "validation_error" },
  "/api/v1/transform/expression/evaluate": { status: 400, code: "transformation_error" },
  "/api/v1/pipeline/migrate-preview": { status: 422, code: "unprocessable_entity" },
};

/** The paths of the pure calls. */
export const purePaths = Object.keys(exhausted) as PurePath[];

/** Answers `POST` on the path of a pure call. It reads the body and nothing else, and changes nothing. */
export function answerPureCall(path: PurePath, calls: Pick<PureCalls, "ask">): RequestHandler {
  return async (req, res) => {
    const left = new AbortController();
    res.once("close", () => left.abort());
    try {
      const bytes = await readBody(req);
      const answer = await calls.ask(path, bytes, left.signal);
      if (answer === "exhausted") {
        const message = "the body needs more time or memory than one call may use";
        sendError(res, { ...exhausted[path], message });
      } else {
        res
          .status(answer.status)
          .set(answer.headers ?? {})
          .type("json")
          .send(answer.body);
      }
    } finally {
      // More of a refused body than is dropped (`readBody`) is not read.
      if (!req.complete && !res.headersSent) res.set("Connection", "close");
    }
  };
}

/** Any other method on such a path. */
export const postOnly: RequestHandler = (req, res) => {
  if (!req.complete) res.set("Connection", "close");
  const message = `${req.method} is not allowed here: this URL answers POST, and changes nothing`;
  const details = { method: req.method, allowed: ["POST"] };
  sendError(res.set("Allow", "POST"), { status: 405, code: "method_not_allowed", message, details });
};
