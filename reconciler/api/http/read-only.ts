import type { RequestHandler } from "express";
import { sendError } from "./api-error.ts";

const readMethods = ["GET", "HEAD"];

/** Bytes of a refused request that are read and thrown away, so that its sender sees the answer. */
const bodyAllowance = 1024 * 1024;

/**
 * Refuses every method that could change something, on every URL, known or not. The repository is the one way to
 * change pipelines, and the answer says so.
 */
export const refuseChanges: RequestHandler = (req, res, next) => {
  if (readMethods.includes(req.method)) return next();
  const announced = Number(req.headers["content-length"] ?? 0);
  if (req.headers["transfer-encoding"] !== undefined || announced > bodyAllowance) res.set("Connection", "close");
  res.set("Allow", readMethods.join(", "));
  sendError(res, {
    status: 405,
    code: "method_not_allowed",
    message:
      `${req.method} is not allowed: this API only reads. To change a pipeline, change its file in the ` +
      "repository that Sluice follows, and push.",
    details: { method: req.method, allowed: readMethods },
  });
};
