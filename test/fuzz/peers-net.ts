import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Random } from "../support/random.ts";
import { garbage, type Sent } from "./peers-mutate.ts";

/** A certificate for `127.0.0.1` with its key, in PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

/** How many answers of a case are still to be mutated, and how many were. */
export class Budget {
  left: number;
  spent = 0;
  /** When the last one was sent, by the monotonic clock, in milliseconds. */
  lastAt = 0;
  readonly #random: Random;

  constructor(left: number, random: Random) {
    this.left = left;
    this.#random = random;
  }

  /** Whether the next answer is mutated; `chance` of ten are. */
  takes(chance = 3): boolean {
    if (this.left === 0 || this.#random.below(10) >= chance) return false;
    this.left -= 1;
    this.spent += 1;
    this.lastAt = performance.now();
    return true;
  }
}

export interface Listener {
  port: number;
  close(): void;
}

interface ListenOptions {
  onSocket: (socket: Socket) => void;
  /** With TLS; its bytes are mutated too, within the budget. */
  tls?: { certificate: Certificate; budget: Budget; random: Random };
}

/** Listens on a free port, for one case. */
export async function listen({ onSocket, tls }: ListenOptions): Promise<Listener> {
  if (tls === undefined) return listenOn(createServer(onSocket));
  const inner = await listenOn(createTlsServer({ ...tls.certificate }, onSocket).on("tlsClientError", () => undefined));
  const outer = await listenOn(createServer((socket) => pass(socket, inner.port, tls)));
  return {
    port: outer.port,
    close: () => {
      outer.close();
      inner.close();
    },
  };
}

async function listenOn(server: ReturnType<typeof createServer>): Promise<Listener> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  server.prependListener("connection", keep).prependListener("secureConnection", keep);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/** Passes a TLS connection on, or disturbs what the server sends. */
function pass(socket: Socket, port: number, { budget, random }: NonNullable<ListenOptions["tls"]>): void {
  const kind = budget.takes() ? random.below(5) : -1;
  if (kind === 0) return void socket.end(noHandshake(random));
  const inner = connect(port, "127.0.0.1").on("error", () => socket.destroy());
  socket.on("close", () => inner.destroy()).pipe(inner);
  inner.on("close", () => socket.end());
  // The handshake of the server has about 1,500 bytes.
  let left = kind === -1 ? Infinity : random.below(random.pick(10, 1_500, 4_000));
  inner.on("data", (bytes: Buffer) => {
    if (bytes.length > left) {
      if (kind === 1) socket.end(bytes.subarray(0, left));
      else if (kind === 2) socket.resetAndDestroy();
      else if (kind === 3) socket.end(Buffer.concat([bytes.subarray(0, left), noHandshake(random)]));
      else bytes[left] = bytes[left]! ^ (1 << random.below(8));
    }
    left -= bytes.length;
    if (socket.writable) socket.write(bytes);
  });
}

function noHandshake(random: Random): Buffer {
  const alert = [0x15, 3, 3, 0, 2, random.pick(1, 2, 9), random.pick(0, 10, 40, 70, 112, 255)];
  return random.pick<() => Buffer>(
    () => Buffer.alloc(random.pick(4, 64)),
    () => Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"),
    () => Buffer.from(alert),
    () => garbage(random, 1 + random.below(2_000)),
    () => Buffer.from([0x16, 3, random.below(5), 0xff, 0xff, ...garbage(random, 100)]),
  )();
}

/** A moment between two parts of an answer, and how long a client waits for one that does not come, in milliseconds. */
const [moment, silence] = [3, 150];

/** Sends a mutated answer. A client that waits for more gets the end of the connection after a moment. */
export async function send(socket: Socket, { parts, end }: Sent): Promise<void> {
  for (const [at, part] of parts.entries()) {
    if (at > 0) await new Promise((resolve) => setTimeout(resolve, moment));
    if (socket.destroyed || !socket.writable) return;
    socket.write(part);
  }
  if (end === "is closed") socket.end();
  else if (end === "is reset" && !("encrypted" in socket)) socket.resetAndDestroy();
  else if (end === "is reset") socket.destroy();
  else endWhenSilent(socket);
}

function endWhenSilent(socket: Socket): void {
  const heard = socket.bytesRead;
  setTimeout(() => {
    if (socket.bytesRead === heard) socket.destroy();
  }, silence).unref();
}
