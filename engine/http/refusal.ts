import type { IncomingMessage } from "node:http";

const unwelcome: ReadonlySet<number> = new Set([401, 404, 405, 421]);

/** Whether a status refuses a sender that is not known, or that asks for what is not here: it keeps no connection. */
export function isUnwelcome(status: number): boolean {
  return unwelcome.has(status);
}

/** Whether the connection of a request is closed after an answer with `status`. */
export function closesConnection(request: Pick<IncomingMessage, "complete">, status: number): boolean {
  // After a body that was not read to its end, the connection cannot carry another request.
  return !request.complete || isUnwelcome(status);
}
