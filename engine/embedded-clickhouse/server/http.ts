import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Credentials, authenticate } from "./authentication.ts";
import { answer, answerException, send } from "./answer.ts";
import { Body } from "./body.ts";
import { Exception, exceptionFrom, raise } from "./exception.ts";
import { maxQuery, type Queries } from "./queries.ts";
import { parseRequest } from "./request.ts";

/** The identity of the server. */
export interface ServerIdentity extends Credentials {
  /** ClickHouse's version. */
  version: string;
  timezone: string;
}

/** ClickHouse's HTTP interface on top of `queries`. Not listening yet. */
export function httpServer(identity: ServerIdentity, queries: Queries): Server {
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
  identity: ServerIdentity,
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
  identity: ServerIdentity,
  queries: Queries,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
  const isGreeting = pathname === "/" && request.method === "GET" && !searchParams.has("query");
  if (isGreeting || pathname === "/ping") return send(response, 200, "Ok.\n");
  if (pathname !== "/" || (request.method !== "GET" && request.method !== "POST")) {
    await body.discard();
    return refuseRoute(response, pathname);
  }
  authenticate(request, searchParams, identity);
  await runQuery(request, response, body, searchParams, identity, queries);
}

async function runQuery(
  request: IncomingMessage,
  response: ServerResponse,
  body: Body,
  parameters: URLSearchParams,
  identity: ServerIdentity,
  queries: Queries,
): Promise<void> {
  const form = await formOf(request, body, parameters);
  const asked = parseRequest(request, form ?? parameters);
  setServerHeaders(response, asked.queryId ?? randomUUID(), identity);
  const result = await queries.run(asked, form ? undefined : body, () => !request.socket.destroyed);
  await answer(response, result.bytes, result.facts, asked.compression);
}

function setServerHeaders(response: ServerResponse, queryId: string, { timezone }: ServerIdentity): void {
  if (/^[ -~]+$/.test(queryId)) response.setHeader("X-ClickHouse-Query-Id", queryId);
  response.setHeader("X-ClickHouse-Server-Display-Name", "sluice");
  response.setHeader("X-ClickHouse-Timezone", timezone);
}

function refuseRoute(response: ServerResponse, pathname: string): void {
  const [status, text] = pathname === "/" ? [405, "Method not allowed."] : [404, "There is no such path."];
  response.setHeader("Allow", "GET, POST");
  send(response, status, `${text} Ask with GET /?query= or POST /.\n`);
}

/**
 * Parameters of a request whose body is a form, as clients send the statement and long query parameters.
 *
 * @returns all parameters, those of the address included; undefined if the body is not a form.
 */
async function formOf(
  request: IncomingMessage,
  body: Body,
  parameters: URLSearchParams,
): Promise<URLSearchParams | undefined> {
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data")) return undefined;
  const limit = 64 * maxQuery;
  const { bytes, ended } = await body.head(limit);
  if (!ended) throw raise("QUERY_IS_TOO_LARGE", `The form is larger than ${limit} bytes.`);
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData().catch(() => {
    throw raise("BAD_ARGUMENTS", "The body is not the multipart/form-data that its header announces.");
  });
  const all = new URLSearchParams(parameters);
  for (const [name, value] of form) {
    if (typeof value !== "string") throw raise("NOT_IMPLEMENTED", "External tables are not supported.");
    all.append(name, value);
  }
  return all;
}
