import { connect } from "node:net";

/** A request over HTTP, byte by byte. */
export interface RawHttp {
  method: string;
  path: string;
  /** Names and values; `Host` and `Connection: close` are put before them. */
  headers: readonly (readonly [name: string, value: string])[];
  /** What follows the head, whatever the head says of it. */
  body: Buffer;
  /** The sender ends its side of the connection behind that, or the whole connection; or its head lacks the last byte. */
  ending?: "half-closed" | "broken off" | "in the head";
}

export interface RawAnswer {
  /** The status, or what came instead of one. */
  status: number | string;
  message: string;
}

/** An answer that is not there after so long never comes, in milliseconds. */
export const patience = 60_000;

/** Sends it on a connection of its own; resolves when the server has closed that. Never rejects. */
export function sendHttp(address: string, request: RawHttp): Promise<RawAnswer> {
  const [host = "", port = ""] = address.split(":");
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), allowHalfOpen: true });
    const chunks: Buffer[] = [];
    let failure = "closed";
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", (error) => (failure = error.message));
    socket.setTimeout(patience, () => socket.destroy(new Error("no answer")));
    socket.on("end", () => socket.end());
    socket.on("close", () => resolve(answerIn(Buffer.concat(chunks).toString("latin1"), failure)));
    socket.write(headOf(request));
    const onWritten = request.ending === "broken off" ? () => socket.destroy() : undefined;
    if (request.ending !== "in the head") socket.write(request.body, onWritten);
    if (request.ending === "half-closed") socket.end();
  });
}

function headOf({ method, path, headers, ending }: RawHttp): string {
  const lines = [["Host", "localhost"], ["Connection", "close"], ...headers].map(
    ([name, value]) => `${name}: ${value}`,
  );
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
  return ending === "in the head" ? head.slice(0, -1) : head;
}

function answerIn(text: string, failure: string): RawAnswer {
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
  return { status: status === undefined ? failure : Number(status), message: text.split("\r\n\r\n", 2)[1] ?? "" };
}
