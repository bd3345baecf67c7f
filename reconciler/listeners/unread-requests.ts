import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { lingers, type HttpRefusal } from "../../engine/index.ts";

/** What Node's server says of bytes that it cannot read as a request. */
const unread = new Map<string, HttpRefusal>([
  ["HPE_HEADER_OVERFLOW", { status: 431, reason: "too_large", message: "the head is too long" }],
  [
    "HPE_CHUNK_EXTENSIONS_OVERFLOW",
    { status: 413, reason: "too_large", message: "the extensions of chunks are too long" },
  ],
  ["HPE_INVALID_EOF_STATE", { status: 400, reason: "broken_off", message: "the head broke off" }],
  ["ERR_HTTP_REQUEST_TIMEOUT", { status: 408, reason: "slow", message: "the head did not arrive in time" }],
]);

const notHttp: HttpRefusal = { status: 400, reason: "malformed", message: "expected HTTP/1.1" };
const noHost: HttpRefusal = { status: 400, reason: "malformed", message: "missing host header" };
const foreignHost: HttpRefusal = {
  status: 421,
  reason: "no_route",
  message:
    "the host of the request is not known here: use an address, or start sluice run with the name in --api-hosts, or with --otlp-token",
};
const expectation: HttpRefusal = {
  status: 417,
  reason: "malformed",
  message: "expected Expect: 100-continue or none",
};
const tunnel: HttpRefusal = { status: 405, reason: "no_route", message: "this is no proxy" };

/** The latest answer on a connection; undefined where none began. */
type LatestAnswer = (connection: Duplex) => ServerResponse | undefined;

/**
 * Answers what a server of HTTP would answer or drop by itself, before a listener of requests sees it, and reports each: their
 * senders send nothing that is stored, and nobody else would know of them.
 */
export class UnreadRequests {
  readonly #refused: (request: HttpRefusal) => void;
  /** Connections that were not to be read: all that follows on them is an error again. */
  readonly #broken = new WeakSet<Duplex>();

  constructor(refused: (request: HttpRefusal) => void = () => undefined) {
    this.#refused = refused;
  }

  /** Answers what `server` cannot read, beside its listener of requests. */
  answer(server: Server, latest: LatestAnswer): void {
    server.on("clientError", (error: NodeJS.ErrnoException, connection) => {
      const request = unreadBecause(error);
      if (request === undefined) connection.destroy();
      else this.#cannotRead(request, connection, latest(connection));
    });
    server.on("checkExpectation", (_request, response) => this.#end(response, expectation));
    server.on("connect", (_request, connection) => this.#say(tunnel, connection));
  }

  /** A listener of the requests of a server that does not ask for a host by itself; `isForeign` tells those for a host of others. */
  withHost(answer: RequestListener, isForeign: (request: IncomingMessage) => boolean = () => false): RequestListener {
    return (request, response) => {
      if (lacksHost(request)) this.#end(response, noHost);
      else if (isForeign(request)) this.#end(response, foreignHost);
      else answer(request, response);
    };
  }

  #cannotRead(request: HttpRefusal, connection: Duplex, latest: ServerResponse | undefined): void {
    if (this.#broken.has(connection)) return;
    this.#broken.add(connection);
    if (latest === undefined || latest.writableFinished) this.#say(request, connection);
    // Before it, this would be taken for the answer to a request that may be stored.
    else if (latest.req.complete) latest.once("finish", () => this.#say(request, connection));
    else {
      // The body of a request that its listener has, which counts it: only its answer is missing.
      if (!latest.headersSent) connection.write(headOf(request));
      connection.destroy();
    }
  }

  #say(request: HttpRefusal, connection: Duplex): void {
    // The answer before was the last one of its connection.
    if (connection.writableEnded || connection.destroyed) return;
    this.#refused(request);
    connection.on("error", () => undefined);
    connection.end(headOf(request));
    lingers(connection);
  }

  #end(response: ServerResponse, request: HttpRefusal): void {
    this.#refused(request);
    response.writeHead(request.status, { connection: "close", "content-type": "text/plain" }).end(request.message);
  }
}

/** Undefined where a connection failed otherwise: it was reset, or its TLS handshake failed, which is counted elsewhere. */
function unreadBecause({ code = "" }: NodeJS.ErrnoException): HttpRefusal | undefined {
  return unread.get(code) ?? (code.startsWith("HPE_") ? notHttp : undefined);
}

function headOf({ status }: HttpRefusal): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`;
}

/** HTTP/1.0 has none. */
function lacksHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === "1.1";
}
