import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isOpen } from "../../support/ports.ts";

/** What a sender has asked, and how often it was refused, by the bytes. */
export interface Exchanges {
  /** Requests that have begun to leave. */
  requests: number;
  /** Answers that came back and refuse the request, while the sender still waited for one. */
  refusals: number;
}

type Count = (chunk: Buffer) => void;

/**
 * What a sender waits for no more. A proxy answers it all the same, in its own words, when what is behind it was told
 * that the sender has gone.
 */
interface GivenUp {
  /** The sender has ended its connection. */
  hasGone: boolean;
  /** Streams of HTTP/2 that it has reset. */
  streams: Set<number>;
}

/** Milliseconds between two looks whether what is behind the relay listens again. */
const lookAgain = 20;

/**
 * Stands between one sender and what it sends to, passes bytes on unchanged, and counts requests and refusals. A side
 * that goes takes the other with it, and while nothing listens behind it, it does not listen either: the sender sees
 * what it would see without it, but for the first connection that is refused, which it sees reset.
 */
export class Relay {
  readonly address: string;
  readonly exchanges: Exchanges = { requests: 0, refusals: 0 };
  readonly #port: number;
  readonly #behind: number;
  readonly #isHttp2: boolean;
  readonly #sockets = new Set<Socket>();
  #server: Server;
  #isClosed = false;

  private constructor(server: Server, port: number, behind: number, isHttp2: boolean) {
    this.#server = server;
    this.#port = port;
    this.#behind = behind;
    this.#isHttp2 = isHttp2;
    this.address = `127.0.0.1:${port}`;
    this.#serve(server);
  }

  /** @param behind `HOST:PORT` on loopback. */
  static async open(behind: string, { isHttp2 }: { isHttp2: boolean }): Promise<Relay> {
    const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    return new Relay(server, port, Number(behind.split(":").at(-1)), isHttp2);
  }

  close(): void {
    this.#isClosed = true;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(server: Server): void {
    server.on("connection", (sender: Socket) => this.#join(sender));
  }

  #join(sender: Socket): void {
    const receiver = connect({ port: this.#behind, host: "127.0.0.1", allowHalfOpen: true });
    receiver.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") void this.#awayUntilOpen();
    });
    const givenUp: GivenUp = { hasGone: false, streams: new Set() };
    for (const way of ["end", "close"]) sender.once(way, () => (givenUp.hasGone = true));
    const asked = this.#isHttp2 ? requestsOfHttp2(this.exchanges, givenUp) : requestsOfHttp1(this.exchanges);
    const answered = (this.#isHttp2 ? refusalsOfHttp2 : refusalsOfHttp1)(this.exchanges, givenUp);
    this.#pass(sender, receiver, asked);
    this.#pass(receiver, sender, answered);
  }

  #pass(from: Socket, to: Socket, count: Count): void {
    this.#sockets.add(from);
    from.on("error", () => undefined);
    from.on("data", count).pipe(to);
    from.once("close", (hadError) => {
      this.#sockets.delete(from);
      if (hadError) to.resetAndDestroy();
      else if (!to.writableEnded) to.destroy();
    });
  }

  async #awayUntilOpen(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    while (!this.#isClosed && !(await isOpen(this.#behind))) await sleep(lookAgain);
    if (this.#isClosed) return;
    this.#server = createServer({ allowHalfOpen: true }).listen(this.#port, "127.0.0.1");
    this.#serve(this.#server);
  }
}

/** Calls `found` for each time that `text` is there, also over the border of two chunks. */
function occurrences(text: string, found: () => void): Count {
  let rest = "";
  return (chunk) => {
    const all = rest + chunk.toString("latin1");
    for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + text.length)) found();
    rest = all.slice(Math.max(0, all.length - text.length + 1));
  };
}

/** The bodies of these senders do not hold what is looked for. */
function requestsOfHttp1(exchanges: Exchanges): Count {
  return occurrences("POST /v1/", () => (exchanges.requests += 1));
}

/** With 502 and 504 a proxy says that it got no answer: the request may be stored. */
const refusing = ["4", "500", "501", "503"];

function refusalsOfHttp1(exchanges: Exchanges, givenUp: GivenUp): Count {
  const refused = (): void => {
    if (!givenUp.hasGone) exchanges.refusals += 1;
  };
  const classes = refusing.map((status) => occurrences(`HTTP/1.1 ${status}`, refused));
  return (chunk) => {
    for (const count of classes) count(chunk);
  };
}

const preface = 24;
const headers = 0x1;
const data = 0x0;
const reset = 0x3;
const endsStream = 0x1;

function requestsOfHttp2(exchanges: Exchanges, givenUp: GivenUp): Count {
  const streams = new Set<number>();
  return frames(preface, (type, _flags, stream) => {
    if (type === reset) givenUp.streams.add(stream);
    if (type !== headers || streams.has(stream)) return;
    streams.add(stream);
    exchanges.requests += 1;
  });
}

/** A call that is refused ends without a message (gRPC over HTTP/2, Responses). */
function refusalsOfHttp2(exchanges: Exchanges, givenUp: GivenUp): Count {
  const withMessage = new Set<number>();
  return frames(0, (type, flags, stream) => {
    if (givenUp.hasGone || givenUp.streams.has(stream)) return;
    if (type === data) withMessage.add(stream);
    else if (type === headers && (flags & endsStream) !== 0 && !withMessage.delete(stream)) exchanges.refusals += 1;
  });
}

/** Calls `found` for each frame of one direction (RFC 9113, 4.1), which begins with so many bytes of something else. */
function frames(skipped: number, found: (type: number, flags: number, stream: number) => void): Count {
  let skip = skipped;
  let head = Buffer.alloc(0);
  return (chunk) => {
    let rest = chunk;
    while (rest.length > 0) {
      const passed = Math.min(skip, rest.length);
      skip -= passed;
      rest = rest.subarray(passed);
      const taken = Math.min(9 - head.length, rest.length);
      head = Buffer.concat([head, rest.subarray(0, taken)]);
      rest = rest.subarray(taken);
      if (head.length < 9) return;
      found(head.readUInt8(3), head.readUInt8(4), head.readUInt32BE(5) & 0x7fffffff);
      skip = head.readUIntBE(0, 3);
      head = Buffer.alloc(0);
    }
  };
}
