import type { Server, Socket } from "node:net";
import type { Server as TlsServer, TlsOptions } from "node:tls";
import type { ListenerTelemetry } from "../status/listener-telemetry.ts";
import type { Certificate } from "./certificate.ts";
import { ConnectionLimit } from "./connection-limit.ts";

/** What listeners share. */
export interface Protection {
  /** With it, they take TLS and nothing else. */
  certificate?: Certificate;
  /** The telemetry of a listener; `size` counts its connections. */
  telemetry?: (listener: string, size: () => number) => ListenerTelemetry;
}

interface GuardOptions extends Protection {
  /** The name of the listener in logs and metrics. */
  listener: string;
  most: number;
  mostPerAddress: number;
  /** Bytes without which a connection has not begun to speak; 0 where only a whole request counts. */
  greeting: number;
}

/** Milliseconds (docs/security.md, Listeners). */
const tls = { minVersion: "TLSv1.2", handshakeTimeout: 10_000 } as const;

/** What stands before the server of one listener: the limits of its connections, and TLS where there is a certificate. */
export class Guard {
  readonly connections: ConnectionLimit;
  readonly #certificate: Certificate | undefined;
  readonly #telemetry: ListenerTelemetry | undefined;

  constructor({ listener, certificate, telemetry, ...limits }: GuardOptions) {
    this.#certificate = certificate;
    this.#telemetry = telemetry?.(listener, () => this.connections.size);
    const refused: ListenerTelemetry["refused"] = (reason, address) => this.#telemetry?.refused(reason, address);
    this.connections = new ConnectionLimit({ ...limits, refused });
  }

  /** Guards one of two servers: `plain`, or where there is a certificate `secured`. */
  over<S extends Server>(plain: () => S, secured: (options: TlsOptions) => S & TlsServer): S {
    if (this.#certificate === undefined) return this.#gated(plain());
    const server = secured({ ...tls, ...this.#certificate.pair });
    this.#certificate.onChange((pair) => server.setSecureContext({ ...tls, ...pair }));
    server.on("secureConnection", (socket) => this.connections.secured(socket));
    server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
      // A probe that only connects, or a connection that was closed here.
      if (error.code !== "ECONNRESET") this.#telemetry?.refused("tls", socket.remoteAddress ?? "");
      socket.destroy();
    });
    return this.#gated(server);
  }

  close(): void {
    this.#telemetry?.close();
  }

  /** A connection that is refused does not reach the server. */
  #gated<S extends Server>(server: S): S {
    const handlers = server.listeners("connection");
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      if (this.connections.admit(socket)) for (const handle of handlers) Reflect.apply(handle, server, [socket]);
    });
    return server;
  }
}
