import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request as it came. */
export interface Asked {
  /** The SQL, without the rows of an insert. */
  statement: string;
  parameters: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** Rows of an insert; empty for everything else. */
  rows: string;
  /** `insert_deduplication_token`, which the insert of a batch brings and no other statement. */
  token: string | undefined;
}

/**
 * What becomes of a request.
 *
 * - `pass`: it goes to the server, with `parameters` (settings) and `headers` put in, and its answer comes back. The settings
 *   of `profile` come first, where the request brings none of that name: it decides over them as over a profile.
 * - `answer`: the server never sees it; this is said instead.
 * - `drop`: the server never sees it, and the connection breaks.
 * - `lose`: the server carries it out, and then the connection breaks instead of its answer.
 * - `belie`: the server carries it out, and then this is said instead of its answer.
 * - `hang`: the server never sees it, and nothing ever comes back.
 */
export type Fate =
  | {
      kind: "pass";
      parameters?: Record<string, string>;
      headers?: Record<string, string>;
      profile?: Readonly<Record<string, string>>;
    }
  | Said
  | { kind: "belie"; said: Said }
  | { kind: "drop" }
  | { kind: "lose" }
  | { kind: "hang" };

interface Said {
  kind: "answer";
  status: number;
  headers?: Record<string, string>;
  body: string;
}

/** A request with what became of it, and the status that the server gave it: undefined where it never saw it. */
export interface Handled extends Asked {
  fate: Fate["kind"];
  status: number | undefined;
}

/** Decides about each request. One that waits holds its request up until then. */
export type Judge = (asked: Asked) => Fate | Promise<Fate>;

interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export const pass: Fate = { kind: "pass" };

/** An error in the form of ClickHouse. */
export function exception(code: number, name: string, text: string, status = 500): Said {
  const body = `Code: ${code}. DB::Exception: ${text}. (${name}) (version 26.7.2.1)\n`;
  return { kind: "answer", status, headers: { "x-clickhouse-exception-code": String(code) }, body };
}

/** Something to wait for, for as long as a test likes. */
export class Gate {
  readonly opened: Promise<void>;
  open!: () => void;

  constructor() {
    this.opened = new Promise((resolve) => (this.open = resolve));
  }
}

/**
 * A real HTTP proxy in front of a real ClickHouse, or of several that answer in turn: one turn is for the inserts of
 * batches, so that a repeat reaches another server, one for readings of the table, and one for all other requests. It
 * passes everything until it is told otherwise.
 */
export class ClickHouseProxy {
  /** Every request that has been decided about, in the order in which they ended. */
  readonly handled: Handled[] = [];
  readonly #upstreams: readonly string[];
  readonly #turns = { inserts: 0, readings: 0, others: 0 };
  #judge: Judge = () => pass;
  #server: Server | undefined;
  #port = 0;
  #connections = 0;

  private constructor(upstreams: readonly string[]) {
    this.#upstreams = upstreams;
  }

  static async start(...upstreams: [string, ...string[]]): Promise<ClickHouseProxy> {
    const proxy = new ClickHouseProxy(upstreams);
    await proxy.listen();
    return proxy;
  }

  /** The same for its whole life, also while nothing listens there. */
  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** How many clients are connected now. */
  get connections(): number {
    return this.#connections;
  }

  /** Inserts of batches that met this fate. */
  inserts(fate: Fate["kind"] = "pass"): Handled[] {
    return this.handled.filter((handled) => handled.token !== undefined && handled.fate === fate);
  }

  /** From now on `judge` decides; without one everything passes. */
  decide(judge: Judge = () => pass): void {
    this.#judge = judge;
  }

  /** Decides about the inserts of batches alone. */
  decideInserts(judge: Judge): void {
    this.decide((asked) => (asked.token === undefined ? pass : judge(asked)));
  }

  /** Listens again after `close`, on the same port. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => {
      this.#handle(request, response).catch(() => request.socket.destroy());
    });
    // What hangs here hangs for as long as the client likes.
    server.requestTimeout = 0;
    server.on("connection", (socket) => {
      this.#connections += 1;
      socket.on("close", () => (this.#connections -= 1));
    });
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** From now on connections are refused. Safe to call twice. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server.close(), "close");
    server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const asked = askedBy(request, body);
    const fate = await this.#judge(asked);
    const sent = fate.kind === "pass" || fate.kind === "lose" || fate.kind === "belie";
    const answered = sent ? await this.#ask(request, body, fate, this.#next(asked)) : undefined;
    this.handled.push({ ...asked, fate: fate.kind, status: answered?.status });
    if (fate.kind === "pass") response.writeHead(answered!.status, answered!.headers).end(answered!.body);
    const said = fate.kind === "belie" ? fate.said : fate;
    if (said.kind === "answer") response.writeHead(said.status, said.headers).end(said.body);
    if (fate.kind === "drop" || fate.kind === "lose") request.socket.destroy();
  }

  #next({ token, statement }: Asked): string {
    const isReading = statement.includes("serverUUID()");
    const turn = token === undefined ? (isReading ? "readings" : "others") : "inserts";
    return this.#upstreams[this.#turns[turn]++ % this.#upstreams.length]!;
  }

  async #ask({ method, headers, url }: IncomingMessage, body: Buffer, fate: Fate, upstream: string): Promise<Answered> {
    const to = new URL(url ?? "/", upstream);
    const put = fate.kind === "pass" ? fate : undefined;
    if (put?.profile !== undefined) to.search = new URLSearchParams({ ...put.profile, ...parametersOf(to) }).toString();
    for (const [name, value] of Object.entries(put?.parameters ?? {})) to.searchParams.set(name, value);
    const { connection: _connection, "transfer-encoding": _encoding, ...kept } = headers;
    const own = { ...kept, ...put?.headers, "content-length": body.length };
    const onward = send(to, { method, agent: false, headers: own });
    onward.end(body);
    const [answer] = (await once(onward, "response")) as [IncomingMessage];
    const { connection: _, ...said } = answer.headers;
    return { status: answer.statusCode ?? 502, headers: said, body: await bodyOf(answer) };
  }
}

function parametersOf({ searchParams }: URL): Record<string, string> {
  return Object.fromEntries(searchParams);
}

/** A SELECT comes as the body; an INSERT in the address, with its rows as the body. */
function askedBy(request: IncomingMessage, body: Buffer): Asked {
  const parameters = new URL(request.url ?? "/", "http://127.0.0.1").searchParams;
  const query = parameters.get("query");
  const text = body.toString();
  const [statement, rows] = query === null ? [text, ""] : [query, text];
  const token = parameters.get("insert_deduplication_token") ?? undefined;
  return { statement, parameters, headers: request.headers, rows, token };
}

async function bodyOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
