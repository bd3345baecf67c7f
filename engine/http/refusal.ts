import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { RequestRefusal } from "../core/refusals.ts";

/** A refusal over HTTP. */
export interface HttpRefusal extends RequestRefusal {
  status: number;
}

const unwelcome: ReadonlySet<number> = new Set([401, 404, 405, 421]);

/** Whether a status refuses a sender that is not known, or that asks for what is not here: it keeps no connection. */
export function isUnwelcome(status: number): boolean {
  return unwelcome.has(status);
}

/** How long a sender that has not sent all is read on after its answer, in milliseconds. */
const readOn = 1_000;

/**
 * Whether the connection of a request is closed after an answer with `status`. Where its sender still sends, it is read on for a
 * second: closed at once, it would be reset, and the sender would not read the answer.
 */
export function closesConnection(
  request: Pick<IncomingMessage, "complete" | "socket" | "resume">,
  status: number,
): boolean {
  // After a body that was not read to its end, the connection cannot carry another request.
  if (!request.complete) closeSlowly(request);
  return !request.complete || isUnwelcome(status);
}

/** Has the server close its side after the answer, and the connection a while later. */
function closeSlowly(request: Pick<IncomingMessage, "socket" | "resume">): void {
  const { socket } = request;
  // The server calls this when the last answer of a connection is sent. It drops the rest of a body of which nothing was read.
  socket.destroySoon = () => {
    request.resume();
    lingers(socket);
    socket.end();
  };
}

/** Has a connection whose side here is closed read on for a while, and then closed. */
export function lingers(connection: Duplex): void {
  const timer = setTimeout(() => connection.destroy(), readOn).unref();
  connection.once("close", () => clearTimeout(timer));
}
