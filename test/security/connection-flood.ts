import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** How a flood of connections is made. */
export interface ConnectionFlood {
  /** `HOST:PORT` of the listener. */
  target: string;
  count: number;
  /** The address that it comes from. */
  from: string;
  /** What each connection sends once it is open; nothing more follows. */
  opening: string | Buffer;
}

/** The first bytes of HTTP/2, without the SETTINGS that have to follow. */
export const halfPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** The preface and empty SETTINGS: a session without a call. */
export const idleSession = Buffer.concat([Buffer.from(halfPreface), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]);

/** A whole request, after which the connection is kept alive. */
export const idleRequest = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** A request whose body never comes to its end. */
export const slowBody =
  "POST /v1/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";

/** Connections that are held open. They come at once, as fast as the listener takes them. */
export class HeldConnections {
  readonly #sockets: Socket[] = [];

  /** Resolves when all have been accepted or refused. */
  async open({ target, count, from, opening }: ConnectionFlood): Promise<void> {
    const [host = "", port = ""] = target.split(":");
    const opened = Array.from({ length: count }, async () => {
      const socket = connect({ host, port: Number(port), localAddress: from });
      socket.on("error", () => undefined).resume();
      this.#sockets.push(socket);
      await Promise.race([once(socket, "connect"), once(socket, "close")]).catch(() => undefined);
      if (!socket.destroyed) socket.write(opening);
    });
    await Promise.all(opened);
  }

  /** Whether each has an answer or is closed: none of them waits any more. */
  get isIdle(): boolean {
    return this.#sockets.every((socket) => socket.bytesRead > 0 || socket.destroyed || socket.readableEnded);
  }

  /** How many are still open. */
  get held(): number {
    return this.#sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
