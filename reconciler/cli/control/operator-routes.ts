import type { Express, Request, RequestHandler } from "express";
import { ApiError } from "../../api/http/api-error.ts";
import { SourceError } from "../../git/revision.ts";
import { HoldError } from "../../holds/hold.ts";
import type { Asker, Operator } from "../../operator.ts";

export type OperatorVerbs = Pick<
  Operator,
  "reconcile" | "answerTo" | "approve" | "stop" | "suspend" | "resume" | "rewound" | "rollBack" | "cancelRollback"
>;

/** The commands for the reconciler. Only the control socket has these routes. */
export function addOperatorRoutes(app: Express, operator: OperatorVerbs): void {
  app.post("/control/v1/reconcile", (_req, res) => void res.status(202).json({ requested_at: operator.reconcile() }));
  app.get("/control/v1/reconcile/:token", (req, res) => void res.json(operator.answerTo(tokenOf(req))));
  app.post("/control/v1/turn", (_req, res) => void res.status(202).json({ requested_at: operator.reconcile("turn") }));
  app.get("/control/v1/turn/:token", (req, res) => void res.json(operator.answerTo(tokenOf(req), "turn")));
  app.post(
    ["/control/v1/suspend", "/control/v1/pipeline/:id/suspend"],
    answered((req) => operator.suspend(idOf(req), askerOf(req))),
  );
  app.post(
    ["/control/v1/resume", "/control/v1/pipeline/:id/resume"],
    answered((req) => operator.resume(idOf(req), askerOf(req))),
  );
  app.post(
    "/control/v1/pipeline/:id/stop",
    answered((req) => operator.stop(idOf(req) ?? "", millisecondsOf(req), askerOf(req))),
  );
  app.post(
    "/control/v1/pipeline/:id/terminate",
    answered((req) => operator.stop(idOf(req) ?? "", millisecondsOf(req), askerOf(req), "terminate")),
  );
  app.post(
    "/control/v1/approve",
    answered((req) => operator.approve(askerOf(req), textOf(req, "commit"))),
  );
  app.post(
    "/control/v1/rollback",
    answered((req) => operator.rollBack(textOf(req, "revision") ?? "", askerOf(req), bodyOf(req)["dry_run"] === true)),
  );
  app.post(
    "/control/v1/rollback/cancel",
    answered((req) => operator.cancelRollback(askerOf(req))),
  );
}

/** Answers with the result; a command that is not possible now is a conflict. */
function answered(act: (req: Request) => Promise<unknown>): RequestHandler {
  return async (req, res) => {
    try {
      res.json(await act(req));
    } catch (error) {
      const isRefusal = error instanceof HoldError || error instanceof SourceError;
      throw isRefusal ? new ApiError(409, "conflict", error.message) : error;
    }
  };
}

function idOf(req: Request): string | undefined {
  const { id } = req.params;
  return typeof id === "string" ? id : undefined;
}

function tokenOf(req: Request): string {
  const token = String(req.params["token"]);
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(token)) return token;
  throw new ApiError(422, "unprocessable_entity", "token: expected the requested_at of an earlier request");
}

export function askerOf(req: Request): Asker {
  const [by, reason] = [textOf(req, "by"), textOf(req, "reason")];
  return { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
}

function millisecondsOf(req: Request): number {
  const { milliseconds } = bodyOf(req);
  if (typeof milliseconds === "number") return milliseconds;
  throw new ApiError(422, "unprocessable_entity", "milliseconds: expected a number");
}

function textOf(req: Request, name: string): string | undefined {
  const value = bodyOf(req)[name];
  if (value === undefined || typeof value === "string") return value;
  throw new ApiError(422, "unprocessable_entity", `${name}: expected a text`);
}

function bodyOf(req: Request): Record<string, unknown> {
  return (req.body ?? {}) as Record<string, unknown>;
}
