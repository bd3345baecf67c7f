import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Credentials, authenticate } from "./access.ts";
import { answer, answerException, send } from "./answer.ts";
import { Body } from "./body.ts";
import { Exception, exceptionFrom } from "./exception.ts";
import { formOf } from "./form.ts";
import type { Queries } from "./queries.ts";
import { read } from "./request.ts";

/** What the server is. */
export interface Identity extends Credentials {
  /** ClickHouse's version. */
  version: string;
  timezone: string;
}

/** ClickHouse's HTTP interface over `queries`. Not listening yet. */
export function httpServer(identity: Identity, queries: Queries): Server {
  const options = { maxHeaderSize: 1 << 20, keepAliveTimeout: 30_000, requestTimeout: 300_000 };
  const server = createServer(options, (request, response) => {
    void serve(request, response, identity, queries);
  });
  server.maxConnections = 1024;
  return server;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  identity: Identity,
  queries: Queries,
): Promise<void> {
  const body = new Body(request);
  try {
    await route(request, response, body, identity, queries);
  } catch (error) {
    await body.discard();
    if (response.headersSent) return;
    answerException(response, error instanceof Exception ? error : exceptionFrom(error), identity.version);
  }
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  body: Body,
  identity: Identity,
  queries: Queries,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
  const isGreeting = pathname === "/" && request.method === "GET" && !searchParams.has("query");
  if (isGreeting || pathname === "/ping") return send(response, 200, "Ok.\n");
  if (pathname !== "/" || (request.method !== "GET" && request.method !== "POST")) {
    await body.discard();
    return unknown(response, pathname);
  }
  authenticate(request, searchParams, identity);
  await ask(request, response, body, searchParams, identity, queries);
}

async function ask(
  request: IncomingMessage,
  response: ServerResponse,
  body: Body,
  parameters: URLSearchParams,
  identity: Identity,
  queries: Queries,
): Promise<void> {
  const form = await formOf(request, body, parameters);
  const asked = read(request, form ?? parameters);
  introduce(response, asked.queryId ?? randomUUID(), identity);
  const result = await queries.run(asked, form ? undefined : body, () => !request.socket.destroyed);
  await answer(response, result.bytes, result.facts, asked.compression);
}

function introduce(response: ServerResponse, queryId: string, { timezone }: Identity): void {
  if (/^[ -~]+$/.test(queryId)) response.setHeader("X-ClickHouse-Query-Id", queryId);
  response.setHeader("X-ClickHouse-Server-Display-Name", "sluice");
  response.setHeader("X-ClickHouse-Timezone", timezone);
}

function unknown(response: ServerResponse, pathname: string): void {
  const [status, text] = pathname === "/" ? [405, "Method not allowed."] : [404, "There is no such path."];
  response.setHeader("Allow", "GET, POST");
  send(response, status, `${text} Ask with GET /?query= or POST /.\n`);
}
