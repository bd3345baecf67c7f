import type { RequestHandler } from "express";
import { Counter, Histogram, type Registry } from "prom-client";
import type { TokenCheck } from "../../listeners/bearer.ts";
import { knownHosts } from "../../listeners/foreign-hosts.ts";
import { sendError } from "./api-error.ts";

/** Seconds. */
const durationBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Any other method is counted as `OTHER`, so that callers cannot grow the set of series. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * Counts and times every request of an app (docs/reference/metrics.md, Requests). The label `path` is the template of
 * the route, from `res.locals.route`; `unknown` if none matched.
 */
export function httpMetrics(registry: Registry): RequestHandler {
  const labelNames = ["method", "path", "status"] as const;
  const requests = new Counter({
    name: "gfm_http_server_request_count_total",
    help: "HTTP requests answered by the status API.",
    labelNames,
    registers: [registry],
  });
  const durations = new Histogram({
    name: "gfm_http_server_request_duration_seconds",
    help: "Time from the head of an HTTP request to the end of its answer.",
    labelNames,
    buckets: durationBuckets,
    registers: [registry],
  });
  return (req, res, next) => {
    const startedAt = process.hrtime.bigint();
    res.locals["route"] = "unknown";
    res.once("close", () => {
      const method = knownMethods.has(req.method) ? req.method : "OTHER";
      const labels = { method, path: String(res.locals["route"]), status: String(res.statusCode) };
      requests.inc(labels);
      durations.observe(labels, Number(process.hrtime.bigint() - startedAt) / 1e9);
    });
    next();
  };
}

const readMethods = ["GET", "HEAD"];

/** Bytes of a refused request that are read and discarded, so that its sender receives the answer. */
const bodyAllowance = 1024 * 1024;

/**
 * Refuses every method that could change something, on every URL, known or not. The answer says that pipelines are
 * changed through the repository.
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

/**
 * Refuses requests for another host name than `names`, `localhost` or an address: a page of another site that makes its
 * own name lead here could read the answers in the browser of a person who can reach this API (DNS rebinding).
 */
export function refuseForeignHosts(names: readonly string[]): RequestHandler {
  const isKnown = knownHosts(names);
  return (req, res, next) => {
    const { host } = req.headers;
    if (isKnown(host)) return next();
    sendError(res, {
      status: 421,
      code: "unknown_host",
      message:
        "this API does not answer to the host name of the request: use an address, or start sluice run with the name " +
        "in --api-hosts",
      details: { host },
    });
  };
}

/** Probes come from machines that have no token, and their answers say no more than ok. */
const openPaths = new Set(["/healthz", "/readyz"]);

/** Refuses requests without a valid token, before anything else is said about them. */
export function requireToken(check: TokenCheck): RequestHandler {
  return async (req, res, next) => {
    const answer = openPaths.has(req.path) ? "yes" : await check(req.headers.authorization);
    if (answer === "yes") return next();
    if (answer === "unknown") {
      const message = "the token cannot be checked at this moment";
      return sendError(res.set("Retry-After", "5"), { status: 503, code: "token_unreadable", message });
    }
    // Browsers ask for a password, which is the token. Programs send it as a bearer.
    res.set("WWW-Authenticate", 'Basic realm="sluice", charset="UTF-8"').append("WWW-Authenticate", "Bearer");
    const message = 'expected the header "Authorization: Bearer TOKEN" with the token of --api-token';
    sendError(res, { status: 401, code: "unauthorized", message });
  };
}
