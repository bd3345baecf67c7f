import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createSocketServer, type AddressInfo, type Server, type Socket } from "node:net";

/** What answers OTLP: an engine, or a part of it. */
export interface Answering {
  http: RequestListener;
  grpc: (connection: Socket) => void;
}

/** Listeners for both transports on free ports. */
export class Listeners {
  readonly #servers: Server[];
  readonly #connections = new Set<Socket>();

  private constructor(...servers: [http: Server, grpc: Server]) {
    this.#servers = servers;
    for (const server of servers) server.on("connection", (socket) => this.#keep(socket));
  }

  static async open({ http, grpc }: Answering): Promise<Listeners> {
    const listeners = new Listeners(createHttpServer(http), createSocketServer({ noDelay: true }, grpc));
    await Promise.all(listeners.#servers.map((server) => once(server.listen(0, "127.0.0.1"), "listening")));
    return listeners;
  }

  /** Such as `http://127.0.0.1:40123`. */
  get http(): string {
    return `http://${addressOf(this.#servers[0]!)}`;
  }

  /** Such as `127.0.0.1:40124`. */
  get grpc(): string {
    return addressOf(this.#servers[1]!);
  }

  async close(): Promise<void> {
    const closed = this.#servers.map((server) => once(server.close(), "close"));
    for (const connection of this.#connections) connection.destroy();
    await Promise.all(closed);
  }

  #keep(socket: Socket): void {
    this.#connections.add(socket);
    socket.once("close", () => this.#connections.delete(socket));
  }
}

function addressOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
