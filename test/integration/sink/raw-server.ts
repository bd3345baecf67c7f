import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { selfSigned } from "./certificate.ts";

/** A request as far as it has come. */
export interface Received {
  socket: Socket;
  /** `query_id` of its address. */
  id: string;
  /** The connection to the client below TLS, where there is that; else `socket`. */
  wire: Socket;
}

/** What a server does with a connection. */
export interface Talk {
  /** As soon as it is accepted, and before anything is read. */
  onAccept?: (socket: Socket) => void;
  /** When the headers are here, with the first bytes of the body. */
  onHeaders?: (received: Received) => void;
  /** When the whole body is here. */
  onBody?: (received: Received) => void;
}

/** A server that speaks plain HTTP or HTTP in TLS, byte by byte as a test says. */
export class RawServer {
  readonly url: string;
  readonly #servers: Server[];
  readonly #sockets: Set<Socket>;

  private constructor(url: string, servers: Server[], sockets: Set<Socket>) {
    this.url = url;
    this.#servers = servers;
    this.#sockets = sockets;
  }

  static async start(scheme: "http" | "https", talk: Talk): Promise<RawServer> {
    const sockets = new Set<Socket>();
    const keep = (socket: Socket): void => {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    };
    const front = createServer();
    const servers: Server[] = [front];
    if (scheme === "http") {
      front.on("connection", (socket: Socket) => {
        keep(socket);
        serve(socket, talk, () => socket);
      });
    } else {
      const inner = createTlsServer(selfSigned());
      servers.push(inner);
      const port = await listening(inner);
      let client: Socket | undefined;
      inner.on("secureConnection", (socket: TLSSocket) => {
        keep(socket);
        serve(socket, { ...talk, onAccept: () => undefined }, () => client!);
      });
      inner.on("tlsClientError", () => undefined);
      front.on("connection", (socket: Socket) => {
        keep(socket);
        client = socket;
        if (talk.onAccept !== undefined) return talk.onAccept(socket);
        const onward = connect(port, "127.0.0.1");
        keep(onward);
        socket.pipe(onward).pipe(socket);
      });
    }
    return new RawServer(`${scheme}://127.0.0.1:${await listening(front)}`, servers, sockets);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => once(server.close(), "close")));
  }
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function serve(socket: Socket, { onAccept, onHeaders, onBody }: Talk, wire: () => Socket): void {
  if (onAccept !== undefined) onAccept(socket);
  let [bytes, isBegun] = [Buffer.alloc(0), false];
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    const end = bytes.indexOf("\r\n\r\n");
    if (end === -1) return;
    const head = bytes.toString("latin1", 0, end);
    const received = { socket, id: /[?&]query_id=([\w-]+)/.exec(head)?.[1] ?? "", wire: wire() };
    if (!isBegun) onHeaders?.(received);
    isBegun = true;
    if (!isWhole(head, bytes.subarray(end + 4))) return;
    [bytes, isBegun] = [Buffer.alloc(0), false];
    onBody?.(received);
  });
}

/** Statements without rows come in chunks. The client sends one request after the other. */
function isWhole(head: string, body: Buffer): boolean {
  if (head.startsWith("GET ")) return true;
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  return length === undefined ? body.toString("latin1").endsWith("0\r\n\r\n") : body.length >= Number(length);
}
