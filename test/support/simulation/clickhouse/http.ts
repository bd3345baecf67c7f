import type { SimulatedSocket } from "../network.ts";

/** The head of a request. */
export interface RequestHead {
  method: string;
  path: string;
  query: URLSearchParams;
  /** By their names in lower case. */
  headers: ReadonlyMap<string, string>;
}

/** What a server does with the requests of one connection. */
export interface RequestHandler {
  /** A head arrived. Returns after how many bytes of the body the connection is reset; undefined: never. */
  begin(head: RequestHead): number | undefined;
  /** A request arrived whole. Its answer is written to the connection, and the next request is read after `done`. */
  handle(head: RequestHead, body: Buffer, connection: HttpConnection): void;
}

const endOfHead = Buffer.from("\r\n\r\n");
const nothing = Buffer.alloc(0);

/**
 * The server's side of one HTTP/1.1 connection, over a socket in memory: bodies with a length and chunked ones,
 * keep-alive. A request of which a part never arrives is never handled.
 */
export class HttpConnection {
  readonly #socket: SimulatedSocket;
  readonly #handler: RequestHandler;
  #received: Buffer = nothing;
  #head: RequestHead | undefined;
  #resetAfter: number | undefined;
  #isBusy = false;

  constructor(socket: SimulatedSocket, handler: RequestHandler) {
    this.#socket = socket;
    this.#handler = handler;
    socket.on("data", (bytes: Buffer) => {
      this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
      this.#read();
    });
    socket.on("end", () => socket.end());
  }

  /** Sends bytes, if the client is still there. */
  write(bytes: Buffer | string): void {
    if (!this.#socket.destroyed && this.#socket.writable) this.#socket.write(bytes);
  }

  /** The answer is complete: the next request may be read. */
  done(): void {
    this.#isBusy = false;
    this.#read();
  }

  /** Closes the connection after what was sent. */
  end(): void {
    if (!this.#socket.destroyed) this.#socket.end();
  }

  /** Both ends see ECONNRESET at once. */
  reset(): void {
    this.#socket.reset();
  }

  #read(): void {
    while (!this.#isBusy && !this.#socket.destroyed) {
      this.#head ??= this.#readHead();
      if (this.#head === undefined) return;
      if (this.#resetAfter !== undefined && this.#received.length >= this.#resetAfter) return this.reset();
      const body = this.#readBody(this.#head);
      if (body === undefined) return;
      const head = this.#head;
      this.#head = undefined;
      this.#isBusy = true;
      this.#handler.handle(head, body, this);
    }
  }

  #readHead(): RequestHead | undefined {
    const end = this.#received.indexOf(endOfHead);
    if (end === -1) return undefined;
    const head = parseHead(this.#received.toString("latin1", 0, end));
    this.#received = this.#received.subarray(end + endOfHead.length);
    this.#resetAfter = this.#handler.begin(head);
    return head;
  }

  /** The body, once it is whole. */
  #readBody({ headers }: RequestHead): Buffer | undefined {
    if (headers.get("transfer-encoding") === "chunked") return this.#readChunks();
    const length = Number(headers.get("content-length") ?? 0);
    if (this.#received.length < length) return undefined;
    return this.#take(length);
  }

  #readChunks(): Buffer | undefined {
    const chunks: Buffer[] = [];
    for (let at = 0; ;) {
      const end = this.#received.indexOf("\r\n", at);
      if (end === -1) return undefined;
      const size = Number.parseInt(this.#received.toString("latin1", at, end), 16);
      const next = end + 2 + size + 2;
      if (this.#received.length < next) return undefined;
      if (size === 0) {
        this.#take(next);
        return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      }
      chunks.push(this.#received.subarray(end + 2, end + 2 + size));
      at = next;
    }
  }

  #take(length: number): Buffer {
    const taken = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return taken;
  }
}

function parseHead(text: string): RequestHead {
  const [first = "", ...lines] = text.split("\r\n");
  const [method = "", target = ""] = first.split(" ");
  const at = target.indexOf("?");
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return {
    method,
    path: at === -1 ? target : target.slice(0, at),
    query: new URLSearchParams(at === -1 ? "" : target.slice(at + 1)),
    headers,
  };
}
