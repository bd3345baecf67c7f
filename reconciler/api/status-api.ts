import express, { type Express, type RequestHandler, type Response } from "express";
import type { Log } from "../../engine/index.ts";
import { answerErrors, sendError } from "./http/api-error.ts";
import { httpMetrics, refuseChanges, refuseForeignHosts, requireToken } from "./http/middleware.ts";
import { answerPureCall, postOnly, purePaths } from "./pure/pure-route.ts";
import type { TokenCheck } from "../listeners/bearer.ts";
import type { PureCalls } from "./pure/pure-calls.ts";
import { readRoutes, type StatusSources } from "./routes.ts";
import type { ReconcileSnapshot } from "../reconciler.ts";

/** All answers are data for programs: a browser must not guess types, frame, cache or execute them. */
const headers = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/**
 * The read-only status API as an Express app. It reads `sources` anew for each request and answers every other method
 * with 405. Only the pure calls take a POST with a body; they answer it in a separate thread and change nothing. The
 * listener limits headers, connections and times. `hosts` are the names that it is reached by; with `isReader`, only
 * the probes are answered without a token. Once `stopping` aborts, the process is not ready.
 */
export function statusApi(
  sources: StatusSources & {
    log: Log;
    pure: Pick<PureCalls, "ask">;
    hosts?: readonly string[];
    isReader?: TokenCheck;
    stopping?: AbortSignal;
  },
): Express {
  const app = bareApp();
  app.use(httpMetrics(sources.registry), setHeaders, refuseForeignHosts(sources.hosts ?? []));
  if (sources.isReader !== undefined) app.use(requireToken(sources.isReader));
  // Before the other routes, because a pipeline_id may equal the name of a pure call.
  for (const path of purePaths) app.post(path, markRoute(path), answerPureCall(path, sources.pure));
  for (const { path, handler } of allRoutes(sources))
    app.all(expressPath(path), markRoute(path), refuseChanges, handler);
  for (const path of purePaths) app.all(path, markRoute(path), postOnly);
  app.use(refuseChanges, answerNotFound, answerErrors(sources.log));
  return app;
}

/** An Express app without the headers and parsers that no route here needs. */
export function bareApp(): Express {
  const app = express();
  app.disable("x-powered-by").disable("etag");
  app.set("query parser", "simple");
  return app;
}

/** `/api/v1/pipeline/{id}` in Express's spelling. */
export function expressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function allRoutes(sources: StatusSources & { stopping?: AbortSignal }): { path: string; handler: RequestHandler }[] {
  return [
    ...readRoutes.map(({ path, read }): { path: string; handler: RequestHandler } => ({
      path,
      handler: (req, res) => void res.json(read(sources, String(req.params["id"] ?? ""), req.query)),
    })),
    { path: "/metrics", handler: (_req, res) => answerMetrics(sources, res) },
    { path: "/healthz", handler: (_req, res) => void res.json({ status: "ok" }) },
    { path: "/readyz", handler: (_req, res) => answerReadiness(sources, res) },
    { path: "/", handler: (_req, res) => void res.json(contents(sources)) },
  ];
}

function contents({ info }: StatusSources): object {
  const urls = [...readRoutes.map(({ path }) => path), "/metrics", "/healthz", "/readyz"];
  return { sluice: info().version, urls, pure_calls: purePaths };
}

async function answerMetrics({ registry }: StatusSources, res: Response): Promise<void> {
  const text = await registry.metrics();
  res.set("Content-Type", registry.contentType).send(text);
}

function answerReadiness({ reconciler, stopping }: StatusSources & { stopping?: AbortSignal }, res: Response): void {
  const reasons = notReady(reconciler.snapshot(), stopping?.aborted === true);
  if (reasons.length === 0) res.json({ status: "ok" });
  else sendError(res, { status: 503, code: "not_ready", message: reasons.join("; "), details: { reasons } });
}

const setHeaders: RequestHandler = (_req, res, next) => {
  res.set(headers);
  next();
};

const answerNotFound: RequestHandler = (_req, res) => {
  sendError(res, { status: 404, code: "not_found", message: "nothing is at this URL: / lists all URLs" });
};

/** Stores the template of the URL for the metrics: a label must not grow with the ids in URLs. */
function markRoute(path: string): RequestHandler {
  return (_req, res, next) => {
    res.locals["route"] = path;
    next();
  };
}

/** Why the process is not ready; empty once it is. */
function notReady({ lastTurn }: ReconcileSnapshot, isStopping: boolean): string[] {
  return [
    ...(lastTurn === undefined ? ["the source was not fetched yet"] : []),
    ...(isStopping ? ["the process is about to stop"] : []),
  ];
}
