import { randomUUID } from "node:crypto";
import express from "express";
import type { ErrorRequestHandler, Express, Request } from "express";
import {
  EngineError,
  mostLetters,
  type Engine,
  type LetterFilter,
  type RewindPlan,
  type Selection,
} from "../../../engine/index.ts";
import type { RewindTo } from "../../../schemas/index.ts";
import { ApiError, errorBody, sendError } from "../../api/http/api-error.ts";
import { pageOf } from "../../api/http/page.ts";
import { readRoutes } from "../../api/routes.ts";
import type { StatusSources } from "../../api/routes.ts";
import { bareApp, expressPath } from "../../api/status-api.ts";
import { addOperatorRoutes, askerOf } from "./operator-routes.ts";
import type { OperatorVerbs } from "./operator-routes.ts";

export type ControlSources = Omit<StatusSources, "engine" | "reconciler"> & {
  reconciler: StatusSources["reconciler"] & { operator: OperatorVerbs };
  engine: StatusSources["engine"] &
    Pick<Engine, "reprocess" | "rewind" | "rewindPlan" | "sample" | "sql"> & {
      tokens: Pick<Engine["tokens"], "show" | "rotate">;
    };
};

/**
 * The routes of the control socket, for the owner of a data dir: the documents of the status API, and what other users
 * must not see or do. The value of a token is only in the answer of its rotation.
 */
export function controlApi(sources: ControlSources): Express {
  const { engine } = sources;
  const app = bareApp();
  app.use(express.json({ limit: "1mb" }));
  for (const { path, read } of readRoutes) {
    app.get(expressPath(path), (req, res) => void res.json(read(sources, idOf(req), req.query)));
  }
  app.get("/control/v1/health", (_req, res) => {
    res.json(engine.list().map(({ pipeline_id }) => engine.health(pipeline_id)));
  });
  app.get("/control/v1/pipeline/:id/dlq/list", (req, res) => {
    const { limit, cursor } = pageOf(req.query);
    res.json(engine.deadLetters(idOf(req)).list(limit, cursor, filterOf(req.query)));
  });
  app.post("/control/v1/pipeline/:id/dlq/consume", (req, res) =>
    engine
      .deadLetters(idOf(req))
      .consume(pageOf(req.query).limit)
      .then((letters) => void res.json(letters)),
  );
  app.post("/control/v1/pipeline/:id/dlq/purge", (req, res) =>
    engine
      .deadLetters(idOf(req))
      .purge()
      .then((purged_count) => void res.json({ purged_count })),
  );
  app.post("/control/v1/pipeline/:id/dlq/discard", (req, res) =>
    engine
      .deadLetters(idOf(req))
      .discard(selectionOf(req))
      .then((discarded) => void res.json({ request_id: `dlq-discard-${randomUUID()}`, ...discarded })),
  );
  app.post("/control/v1/pipeline/:id/dlq/reprocess", (req, res) =>
    engine.reprocess(idOf(req), selectionOf(req)).then((accepted) => void res.status(202).json(accepted)),
  );
  app.get("/control/v1/pipeline/:id/sample", (req, res) =>
    engine.sample(idOf(req), pageOf(req.query).limit).then((sample) => void res.json(sample)),
  );
  app.post("/control/v1/pipeline/:id/rewind", (req, res) => {
    const { dry_run } = (req.body ?? {}) as { dry_run?: unknown };
    const [id, to] = [idOf(req), rewindOf(req)];
    const rewind = async (): Promise<RewindPlan> => {
      const [began, asker] = [new Date(), askerOf(req)];
      const plan = await engine.rewind(id, to, asker);
      await sources.reconciler.operator.rewound(plan, asker, began);
      return plan;
    };
    return (dry_run === true ? engine.rewindPlan(id, to) : rewind()).then((plan) => void res.json(plan), asConflict);
  });
  app.get("/control/v1/pipeline/:id/token", (req, res) => void res.json(engine.tokens.show(idOf(req))));
  app.post("/control/v1/pipeline/:id/token/rotate", (req, res) =>
    engine.tokens
      .rotate(idOf(req), { now: req.query["now"] === "true" })
      .then((access_token) => void res.json({ access_token })),
  );
  app.post("/control/v1/sql", (req, res) => {
    const { query, format } = questionOf(req);
    return engine.sql(query, format).then((text) => void res.type("text/plain").send(text));
  });
  addOperatorRoutes(app, sources.reconciler.operator);
  app.use((req) => {
    throw new ApiError(404, "not_found", `this daemon has no ${req.method} ${req.path}: it may be of another version`);
  });
  app.use(answerErrorsInFull);
  return app;
}

function idOf(req: Request): string {
  return String(req.params["id"] ?? "");
}

/** `{mode: "all"}` or `{mode: "selected", message_ids: [...]}` (docs/operations.md, Dead letters). */
function selectionOf(req: Request): Selection {
  const { mode, message_ids } = (req.body ?? {}) as { mode?: unknown; message_ids?: unknown };
  if (mode === "all") return { mode };
  const isList = Array.isArray(message_ids) && message_ids.every((id) => typeof id === "string");
  if (mode !== "selected" || !isList || message_ids.length === 0 || message_ids.length > mostLetters.selected) {
    const expected = `{"mode": "all"} or {"mode": "selected", "message_ids": [...]} with 1 to ${mostLetters.selected} ids`;
    throw new ApiError(422, "unprocessable_entity", `body: expected ${expected}`);
  }
  return { mode, message_ids };
}

/** `component`, `reason`, and the times `since` and `until` (docs/operations.md, Dead letters). */
function filterOf(query: Request["query"]): LetterFilter {
  const { component, reason } = query;
  const [since, until] = [timeOf(query, "since"), timeOf(query, "until")];
  return {
    ...(typeof component === "string" && { component }),
    ...(typeof reason === "string" && { reason }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
}

function timeOf(query: Request["query"], name: string): string | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const time = typeof text === "string" ? Date.parse(text) : NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new ApiError(422, "unprocessable_entity", `${name}: expected a time in ISO 8601, such as 2026-01-31T12:00:00Z`);
}

/** A rewind that is refused is a conflict with what is there. */
function asConflict(error: unknown): never {
  const isRefused = error instanceof EngineError && error.code === "REWIND_REFUSED";
  throw isRefused ? new ApiError(409, "conflict", error.message) : error;
}

function isPlace(one: unknown): one is { topic: string; partition: number; offset: number } {
  const { topic, partition, offset } = (one ?? {}) as Partial<Record<string, unknown>>;
  return typeof topic === "string" && Number.isSafeInteger(partition) && Number.isSafeInteger(offset);
}

/** `earliest`, a time, or offsets of partitions (docs/sources/kafka.md, Reading again). */
function rewindOf(req: Request): RewindTo {
  const { to } = (req.body ?? {}) as { to?: Partial<Record<string, unknown>> };
  if (to?.["kind"] === "earliest") return { kind: "earliest" };
  if (to?.["kind"] === "time" && Number.isFinite(to["time"])) return { kind: "time", time: to["time"] as number };
  const offsets = to?.["kind"] === "offsets" && Array.isArray(to["offsets"]) ? (to["offsets"] as unknown[]) : [];
  if (offsets.length > 0 && offsets.every(isPlace)) return { kind: "offsets", offsets };
  throw new ApiError(422, "unprocessable_entity", "to: expected earliest, a time, or offsets of partitions");
}

function questionOf(req: Request): { query: string; format?: string } {
  const { query, format } = (req.body ?? {}) as { query?: unknown; format?: unknown };
  if (typeof query !== "string" || query.trim() === "") {
    throw new ApiError(422, "unprocessable_entity", "query: expected an SQL statement");
  }
  return { query, ...(typeof format === "string" && { format }) };
}

/** Errors are answered in full: only the owner of the data dir can connect to this socket. */
const answerErrorsInFull: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (res.headersSent) return next(error);
  const body = errorBody(error);
  sendError(res, body.status === 500 && error instanceof Error ? { ...body, message: error.message } : body);
};
