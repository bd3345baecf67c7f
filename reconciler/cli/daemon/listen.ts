import { once } from "node:events";
import { createServer, type Server as HttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from "node:net";
import { CliError } from "../invocation/cli-error.ts";
import { formatListener, type ListenerAddress, type Settings } from "../invocation/settings.ts";

export interface Listener {
  /** `HOST:PORT` with the real port; `off` where there is none. */
  readonly address: string;
  /**
   * Accepts no more requests, lets those under way end, and closes the remaining connections after a grace period. Safe
   * to call twice.
   */
  close(): Promise<void>;
}

/** The handler of the connections of a listener. */
export interface Connections {
  accept: (connection: Socket) => void;
  /** Ends each connection when its calls have ended, or after `grace` milliseconds. */
  drain: (grace: number) => void;
}

/** Bytes of a request's head: a token, a few headers and a short path. */
const maxHeaderSize = 16 * 1024;

/** Milliseconds (docs/security.md, Listeners). */
const times = { headersTimeout: 10_000, requestTimeout: 15_000, keepAliveTimeout: 300_000 };

const maxConnections = 4096;

/** Milliseconds that requests under way are given when a listener closes. */
const grace = 5000;

/** Listens for HTTP where the setting `name` says. Throws CliError that says what to do if the system refuses. */
export async function listenHttp(
  name: "api" | "events" | "otlp_http" | "hook",
  settings: Settings,
  answer: RequestListener,
): Promise<Listener> {
  const server = createServer({ maxHeaderSize, ...times }, (req, res) => {
    // `close` closes idle connections only once: connections that become idle later would delay it.
    res.once("close", () => server.listening || setImmediate(() => server.closeIdleConnections()));
    answer(req, res);
  });
  return listen(name, settings, server, () => closeHttp(server));
}

/** Listens for connections of gRPC where the setting `name` says. Throws CliError as `listenHttp` does. */
export async function listenGrpc(
  name: "otlp_grpc",
  settings: Settings,
  { accept, drain }: Connections,
): Promise<Listener> {
  const server = createSocketServer({ noDelay: true }, accept);
  return listen(name, settings, server, async () => {
    const closed = once(server, "close");
    server.close();
    drain(grace);
    await closed;
  });
}

async function listen(
  name: "api" | "events" | "otlp_http" | "hook" | "otlp_grpc",
  settings: Settings,
  server: Server,
  close: () => Promise<void>,
): Promise<Listener> {
  const address = settings.listener(name);
  if (address === "off") return { address, close: async () => {} };
  server.maxConnections = maxConnections;
  try {
    server.listen(address);
    await once(server, "listening");
  } catch (error) {
    throw refused(address, settings.origin(name), error as NodeJS.ErrnoException);
  }
  const { port } = server.address() as AddressInfo;
  return {
    address: formatListener({ host: address.host, port }),
    close: async () => {
      if (server.listening) await close();
    },
  };
}

async function closeHttp(server: HttpServer): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), grace);
  await closed;
  clearTimeout(timer);
}

function refused(address: ListenerAddress, origin: string, error: NodeJS.ErrnoException): CliError {
  const where = `${origin}: cannot listen on ${formatListener(address)}`;
  switch (error.code) {
    case "EADDRINUSE":
      return new CliError(
        `${where}: another process uses this port. Give another HOST:PORT, port 0 for a free one, or "off"`,
      );
    case "EACCES":
      return new CliError(`${where}: this user has no permission. Give a port from 1024 on`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new CliError(`${where}: this machine has no such address`);
    default:
      return new CliError(`${where}: ${error.message}`, { cause: error });
  }
}
