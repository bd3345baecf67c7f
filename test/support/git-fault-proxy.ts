import { once } from "node:events";
import { createServer, request as ask } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { RunningServer } from "./git-server.ts";

/** What the proxy does to every exchange, or to the pack alone. */
export type Fault =
  | { kind: "none" }
  | {
      kind: "status";
      status: number;
      headers?: Record<string, string>;
      /** Path that it befalls; every one where absent. */
      path?: string;
    }
  /** Serves the repository at `to` for requests that name `from`. */
  | { kind: "rewrite"; from: string; to: string }
  /** Redirects every request to yet another path. */
  | { kind: "circle" }
  | { kind: "hang before headers" }
  | { kind: "hang after headers" }
  | { kind: "hang up" }
  | { kind: "one byte a second" }
  | { kind: "pack cut short" }
  | { kind: "pack with a wrong byte" }
  | { kind: "pack with a wrong checksum" };

export interface FaultProxy extends RunningServer {
  /** Set it to meet the next request. */
  fault: Fault;
  /** Requests that came, such as `GET /a/.git/info/refs`, with the headers that matter. */
  requests: { line: string; authorization: string | undefined }[];
  /** Connections that are open. */
  open(): number;
}

/** A proxy in front of a Git server over HTTP, `upstream`, that does harm on demand. */
export async function serveFaults(upstream: RunningServer): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  const requests: FaultProxy["requests"] = [];
  const server = createServer((request, response) => {
    requests.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization });
    // Where the server ends a connection without an answer, so does this, as it would be without a proxy.
    answer(proxy.fault, upstream.port, request, response).catch(() => request.socket.destroy());
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const proxy: FaultProxy = {
    fault: { kind: "none" },
    requests,
    url: upstream.url.replace(/:\d+\//, `:${port}/`),
    port,
    open: () => sockets.size,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return proxy;
}

async function answer(
  fault: Fault,
  upstream: number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (fault.kind === "hang before headers") return;
  if (fault.kind === "hang up") return void request.socket.destroy();
  if (fault.kind === "status" && isMet(fault, request)) {
    return void response.writeHead(fault.status, fault.headers).end("no");
  }
  if (fault.kind === "circle") {
    const location = `http://${request.headers.host}${(request.url ?? "").replace("/", "/again/")}`;
    return void response.writeHead(302, { location }).end();
  }
  if (fault.kind === "rewrite") request.url = request.url?.replace(fault.from, fault.to) ?? "";
  const reply = await forwarded(upstream, request);
  const body = Buffer.concat(await reply.toArray());
  const { connection: _, "keep-alive": _time, ...headers } = reply.headers;
  response.writeHead(reply.statusCode ?? 500, headers);
  if (fault.kind === "hang after headers") return response.flushHeaders();
  if (fault.kind === "one byte a second") return trickle(body, response);
  if (fault.kind === "pack cut short" && body.includes("PACK")) {
    response.write(body.subarray(0, body.indexOf("PACK") + 40), () => request.socket.destroy());
    return;
  }
  response.end(fault.kind.startsWith("pack") ? harmed(fault, body) : body);
}

function isMet({ path }: { path?: string }, { url = "" }: IncomingMessage): boolean {
  return path === undefined || url.startsWith(`${path}/info/refs`);
}

async function forwarded(port: number, request: IncomingMessage): Promise<IncomingMessage> {
  const { method, url, headers } = request;
  // A connection of its own: the server may end a kept one just when it is used again.
  const onward = ask({ host: "127.0.0.1", port, method, path: url, headers, agent: false });
  request.pipe(onward);
  const [reply] = (await once(onward, "response")) as [IncomingMessage];
  return reply;
}

function trickle(body: Buffer, response: ServerResponse): void {
  response.flushHeaders();
  let at = 0;
  const timer = setInterval(() => response.write(body.subarray(at, ++at)), 1_000);
  response.on("close", () => clearInterval(timer));
}

/** One bit of the pack is wrong: near its beginning, or in the checksum at its end. */
function harmed({ kind }: Fault, body: Buffer): Buffer {
  const start = body.indexOf("PACK");
  if (start < 0) return body;
  const copy = Buffer.from(body);
  const at = kind === "pack with a wrong checksum" ? endOfPack(body) : start + 20;
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/** The last byte of the pack. The answer is made of packets: four digits for the length, the band, and the data. */
function endOfPack(body: Buffer): number {
  let end = 0;
  for (let at = 0; at + 4 <= body.length;) {
    const length = Number.parseInt(body.toString("latin1", at, at + 4), 16);
    // A keep-alive of the band is empty.
    if (length > 5 && body[at + 4] === 1) end = at + length - 1;
    at += Math.max(length, 4);
  }
  return end;
}
