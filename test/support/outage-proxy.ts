import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * How the server behind the proxy seems to be.
 *
 * - `passing`: as it is.
 * - `refusing`: nothing listens.
 * - `hanging`: connections are accepted and never answered.
 * - `silent`: inserts reach the server, and their answers never come back.
 * - `overloaded`: inserts are answered with error 252, too many parts.
 * - `slow`: 64 KB/s, and each answer comes 2 s late.
 */
export type Outage = "passing" | "refusing" | "hanging" | "silent" | "overloaded" | "slow";

const slowBytesPerSecond = 64 * 1024;
const slowAnswer = 2_000;
const tooManyParts =
  "Code: 252. DB::Exception: Too many parts (300) in all partitions in total in table. Merges are processing significantly slower than inserts. (TOO_MANY_PARTS) (version 26.7.2.1)";

/** A real HTTP proxy before a real ClickHouse, which has outages. */
export class OutageProxy {
  readonly #upstream: URL;
  readonly #met = new Map<Outage, number>();
  #server: Server | undefined;
  #port = 0;
  #outage: Outage = "passing";

  private constructor(upstream: string) {
    this.#upstream = new URL(upstream);
  }

  static async start(upstream: string): Promise<OutageProxy> {
    const proxy = new OutageProxy(upstream);
    await proxy.#listen();
    return proxy;
  }

  /** The same for its whole life, also while nothing listens there. */
  get port(): number {
    return this.#port;
  }

  /** Statements that an outage befell: inserts, or any where it befalls them all. */
  met(outage: Outage): number {
    return this.#met.get(outage) ?? 0;
  }

  async change(outage: Outage): Promise<void> {
    this.#outage = outage;
    if (outage === "refusing") await this.close();
    else if (this.#server === undefined) await this.#listen();
  }

  /** Breaks all connections. */
  cut(): void {
    this.#server?.closeAllConnections();
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  async #listen(): Promise<void> {
    const server = createServer((asked, answer) => void this.#handle(asked, answer).catch(() => answer.destroy()));
    // Whoever hangs here hangs for as long as he likes.
    server.requestTimeout = 0;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#port, "127.0.0.1", resolve);
    });
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  async #handle(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const outage = this.#outage;
    const isInsert = /[?&]query=INSERT/.test(asked.url ?? "");
    const isBefallen = isInsert || outage === "hanging" || outage === "slow";
    if (isBefallen) this.#met.set(outage, this.met(outage) + 1);
    if (outage === "hanging") return;
    const body = await bodyOf(asked, outage === "slow" ? slowBytesPerSecond : Infinity);
    if (outage === "overloaded" && isInsert) {
      answer.writeHead(500, { "x-clickhouse-exception-code": "252" }).end(tooManyParts);
      return;
    }
    const said = await this.#pass(asked, body);
    if (outage === "silent" && isInsert) return;
    if (outage === "slow") await sleep(slowAnswer);
    answer.writeHead(said.status, said.headers).end(said.body);
  }

  #pass(
    { method, url, headers }: IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; headers: IncomingMessage["headers"]; body: Buffer }> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#upstream;
      const { "transfer-encoding": _, ...kept } = headers;
      const own = { ...kept, "content-length": String(body.length), connection: "close" };
      const sent = request({ hostname, port, method, path: url, headers: own }, (response) => {
        const { connection: _connection, "transfer-encoding": _encoding, ...rest } = response.headers;
        bodyOf(response, Infinity).then(
          (said) => resolve({ status: response.statusCode ?? 500, headers: rest, body: said }),
          reject,
        );
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }
}

async function bodyOf(stream: IncomingMessage, bytesPerSecond: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
    if (bytesPerSecond < Infinity) await sleep(((chunk as Buffer).length / bytesPerSecond) * 1000);
  }
  return Buffer.concat(chunks);
}
