import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** Seconds for which a browser need not ask again. */
const maxAge = 7_200;

/** Names of headers, as a browser lists them. */
const names = /^[\w\-, ]{1,1000}$/;

/** `*`, or origins with commas; none without the setting. */
export function corsOrigins(setting: string | undefined): string[] {
  return setting?.split(",").map((origin) => origin.trim()) ?? [];
}

/**
 * Lets scripts of pages of these origins send requests and read their answers (CORS). A browser asks first, without the body
 * and without a token. Requests of other pages are answered as without this, and their browsers show no page the answer.
 */
export function withCors(origins: readonly string[], answer: RequestListener): RequestListener {
  return (request, response) => {
    const { origin } = request.headers;
    if (origin === undefined || !(origins.includes("*") || origins.includes(origin))) return answer(request, response);
    response.setHeader("access-control-allow-origin", origin);
    response.setHeader("vary", "Origin");
    if (isPreflight(request)) return permit(request, response);
    response.setHeader("access-control-expose-headers", "Retry-After");
    answer(request, response);
  };
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function permit({ headers }: IncomingMessage, response: ServerResponse): void {
  const asked = headers["access-control-request-headers"] ?? "";
  response.writeHead(204, {
    "access-control-allow-methods": "POST",
    "access-control-max-age": String(maxAge),
    ...(names.test(asked) && { "access-control-allow-headers": asked }),
  });
  response.end();
}
