import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type RequestListener, type Server as HttpServer, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createServer as createTlsServer } from "node:tls";
import { type BeginRequest, sleep, type HttpRefusal } from "../../../engine/index.ts";
import { corsOrigins, withCors } from "../../listeners/cors.ts";
import { fromForeignPages } from "../../listeners/foreign-hosts.ts";
import { UnreadRequests } from "../../listeners/unread-requests.ts";
import { isLoopback } from "../../listeners/address.ts";
import { Guard, type Protection } from "../../listeners/guard.ts";
import { CliError } from "../invocation/cli-error.ts";
import { formatListener, type ListenerAddress, type Settings } from "../invocation/settings.ts";
import { ownHosts } from "./daemon-settings.ts";

export interface Listener {
  /** `HOST:PORT` with the real port; `off` where there is none. */
  readonly address: string;
  /** Whether it is on loopback or off, so that only this machine reaches it. */
  readonly isLocal: boolean;
  /**
   * Ends each connection with its next answer, those that are idle for half a second, and then takes no new one. Requests under way
   * are answered, within a grace period. Safe to call twice.
   */
  close(): Promise<void>;
}

/** The handler of the connections of a listener. */
export interface Connections {
  /** `begins` is called with each request on it. */
  accept: (connection: Socket, begins: BeginRequest) => void;
  /** Ends each connection when its calls have ended, or after `grace` milliseconds. */
  drain: (grace: number) => void;
}

/** The setting that says where a listener is; the name of the listener in logs and metrics. */
export type ListenerName = HttpListenerName | "otlp_grpc";
type HttpListenerName = "api" | "events" | "otlp_http" | "hook";

/** Bytes of a request's head: a token, a few headers and a short path. */
const maxHeaderSize = 16 * 1024;

/** Milliseconds (docs/security.md, Listeners). */
const times = { headersTimeout: 10_000, requestTimeout: 15_000, keepAliveTimeout: 300_000 };

/** Bytes of the preface of HTTP/2 and of empty SETTINGS, with which each client begins. */
const http2Greeting = 33;

/** Milliseconds that requests under way are given when a listener closes. */
const grace = 5000;

/**
 * Milliseconds for which a listener that closes goes on to take requests: a sender that keeps its connection learns from an
 * answer that it ends. Cut off while it sends, it could not know whether its request was stored.
 */
const farewell = 500;

/** The listeners that scripts of pages may send to. */
const takesPages: ReadonlySet<ListenerName> = new Set(["events", "otlp_http"]);

/** How a listener is opened. */
export interface ListenOptions extends Protection {
  /** The descriptor of a socket that the service manager listens with, in place of the address of the setting. */
  fd?: number | undefined;
}

/** How a listener for HTTP is opened. */
export interface HttpListenOptions extends ListenOptions {
  /** Called with each request that is refused before it can be answered. */
  unread?: ((request: HttpRefusal) => void) | undefined;
}

/** Listens for HTTP where the setting `name` says. Throws CliError that says what to do if the system refuses. */
export async function listenHttp(
  name: HttpListenerName,
  settings: Settings,
  answer: RequestListener,
  { fd, unread, ...protection }: HttpListenOptions = {},
): Promise<Listener> {
  const guard = guardOf(name, settings, { ...protection, greeting: 0 });
  const unreadRequests = new UnreadRequests(unread);
  const answers = new OpenAnswers();
  const origins = corsOrigins(takesPages.has(name) ? settings.optional("cors_origins") : undefined);
  // Without a token it takes what anybody sends, and so would it from a page that leads its own name here.
  const isOpen = name === "otlp_http" && settings.optional("otlp_token") === undefined;
  const answered = unreadRequests.withHost(
    origins.length === 0 ? answer : withCors(origins, answer),
    isOpen ? fromForeignPages(ownHosts(name, settings), origins) : undefined,
  );
  const latest = new WeakMap<Duplex, ServerResponse>();
  const handle = inOrder(latest, (req, res) => {
    const { received, ended } = guard.connections.begin(req.socket);
    // Each of these events happens once: `once` would only cost each request a wrapper and a removal.
    req.on("end", received);
    answers.add(res);
    // The answer was handed over: a peer that does not read it keeps it from closing.
    res.on("prefinish", ended);
    res.on("close", () => {
      ended();
      answers.remove(res);
      // `close` closes idle connections only once: connections that become idle later would delay it.
      if (!server.listening) setImmediate(() => server.closeIdleConnections());
    });
    answered(req, res);
  });
  const options = { maxHeaderSize, requireHostHeader: false, ...times };
  const server: HttpServer = guard.over<HttpServer>(
    () => createServer(options, handle),
    (tls) => createHttpsServer({ ...options, ...tls }, handle),
  );
  unreadRequests.answer(server, (connection) => latest.get(connection));
  return listen(name, settings, { server, guard, fd, isPlain: protection.certificate === undefined }, async () => {
    answers.areLast();
    if (guard.connections.size > 0) await sleep(farewell);
    await closeHttp(server);
  });
}

/** Listens for connections of gRPC where the setting `name` says. Throws CliError as `listenHttp` does. */
export async function listenGrpc(
  name: "otlp_grpc",
  settings: Settings,
  { accept, drain }: Connections,
  { fd, ...protection }: ListenOptions = {},
): Promise<Listener> {
  const guard = guardOf(name, settings, { ...protection, greeting: http2Greeting });
  const handle = (socket: Socket): void => accept(socket, () => guard.connections.begin(socket));
  const server = guard.over<Server>(
    () => createSocketServer({ noDelay: true }, handle),
    (tls) => createTlsServer({ noDelay: true, ...tls, ALPNProtocols: ["h2"] }, handle),
  );
  return listen(name, settings, { server, guard, fd, isPlain: protection.certificate === undefined }, async () => {
    const closed = once(server, "close");
    server.close();
    drain(grace);
    await closed;
  });
}

function guardOf(name: ListenerName, settings: Settings, options: Protection & { greeting: number }): Guard {
  const most = settings.number("max_connections");
  return new Guard({
    ...options,
    listener: name,
    most,
    mostPerAddress: settings.number("max_connections_per_address"),
  });
}

interface Guarded {
  server: Server;
  guard: Guard;
  fd: number | undefined;
  /** Without TLS. */
  isPlain: boolean;
}

async function listen(
  name: ListenerName,
  settings: Settings,
  { server, guard, fd, isPlain }: Guarded,
  close: () => Promise<void>,
): Promise<Listener> {
  const address = settings.listener(name);
  if (address === "off" && fd !== undefined) throw passedAndOff(name, settings.origin(name));
  if (address === "off") return { address, isLocal: true, close: async () => {} };
  const check: Check = (ip, shown) => {
    if (isPlain && !isLoopback(ip) && !settings.isOn("insecure")) throw plain(shown, settings.origin(name));
  };
  let bound: ListenerAddress;
  try {
    bound = fd === undefined ? await bind(server, address, check) : await takeOver(server, fd, name, check);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw refused(address, settings.origin(name), error as NodeJS.ErrnoException);
  }
  let closing: Promise<void> | undefined;
  return {
    address: formatListener({ host: fd === undefined ? address.host : bound.host, port: bound.port }),
    isLocal: isLoopback(bound.host),
    close: () => (closing ??= close().finally(() => guard.close())),
  };
}

/** Throws where a listener may not be at this address. */
type Check = (ip: string, shown: ListenerAddress) => void;

async function bind(server: Server, { host, port }: ListenerAddress, check: Check): Promise<ListenerAddress> {
  // The address that is checked is the one that is listened on.
  const { address: ip } = await lookup(host);
  check(ip, { host, port });
  server.listen({ host: ip, port });
  await once(server, "listening");
  return { host: ip, port: (server.address() as AddressInfo).port };
}

/** Listens with a socket that is open. What is checked before a connection is accepted. */
async function takeOver(server: Server, fd: number, name: ListenerName, check: Check): Promise<ListenerAddress> {
  const listening = once(server, "listening");
  server.listen({ fd });
  const address = server.address();
  try {
    if (address === null || typeof address === "string") {
      throw new CliError(`LISTEN_FDS: the socket of ${name}: expected a TCP socket, found another one`);
    }
    check(address.address, { host: address.address, port: address.port });
  } catch (error) {
    server.close();
    throw error;
  }
  await listening;
  return { host: address.address, port: address.port };
}

function passedAndOff(name: ListenerName, origin: string): CliError {
  return new CliError(
    `${origin}: ${name} is off, and the service manager passes a socket for it: give an address, or remove the socket`,
  );
}

/**
 * Begins a request when the one before it on its connection is answered: what was sent behind a request whose answer ends the
 * connection gets no answer, and so must have no effect.
 */
function inOrder(latest: WeakMap<Duplex, ServerResponse>, handle: RequestListener): RequestListener {
  return (req, res) => {
    const before = latest.get(req.socket);
    latest.set(req.socket, res);
    if (before === undefined || before.writableFinished) return handle(req, res);
    before.once("finish", () => {
      // By now the server has closed its side where that answer was the last one.
      if (!req.socket.writableEnded && !req.socket.destroyed) handle(req, res);
    });
  };
}

/** The answers of a listener that were not sent to their end. */
class OpenAnswers {
  readonly #open = new Set<ServerResponse>();
  #areLast = false;

  add(answer: ServerResponse): void {
    this.#open.add(answer);
    if (this.#areLast) answer.shouldKeepAlive = false;
  }

  remove(answer: ServerResponse): void {
    this.#open.delete(answer);
  }

  /** From now on each answer ends its connection, and says so. */
  areLast(): void {
    this.#areLast = true;
    for (const answer of this.#open) answer.shouldKeepAlive = false;
  }
}

async function closeHttp(server: HttpServer): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), grace);
  await closed;
  clearTimeout(timer);
}

function plain(address: ListenerAddress, origin: string): CliError {
  return new CliError(
    `${origin}: ${formatListener(address)} is not on loopback, and without TLS all on the way could read and change what is sent. Give --tls-cert and --tls-key, an address on loopback with a proxy in front, or --insecure`,
  );
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
