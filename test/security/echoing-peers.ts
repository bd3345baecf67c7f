import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { Frames } from "../support/kafka/frames.ts";
import { int16, int32, int64, sized32, text16 } from "../support/kafka/wire-bytes.ts";

/** A peer that answers every login with an error that repeats what it was sent. */
export interface EchoingPeer {
  port: number;
  /** The secrets that it was sent, as it could read them. */
  readonly heard: ReadonlySet<string>;
  close(): void;
}

/** How a secret may be spelled in an answer. */
export const encodings: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  base64: (secret) => Buffer.from(secret).toString("base64"),
  hex: (secret) => Buffer.from(secret).toString("hex"),
  url: (secret) => encodeURIComponent(secret),
  json: (secret) => JSON.stringify(secret).slice(1, -1),
};

const echoed = (...secrets: string[]): string =>
  secrets.flatMap((secret) => Object.values(encodings).map((encode) => encode(secret))).join(" ");

/** A ClickHouse whose error quotes user and password, alone and as they were sent. */
export async function echoingClickHouse(): Promise<EchoingPeer> {
  const heard = new Set<string>();
  const server = createHttpServer((request, response) => {
    const basic = request.headers.authorization?.replace(/^Basic /, "") ?? "";
    const login = Buffer.from(basic, "base64").toString();
    const password = String(request.headers["x-clickhouse-key"] ?? login.slice(login.indexOf(":") + 1));
    heard.add(password);
    const text = `Code: 516. DB::Exception: sluice: Authentication failed: ${echoed(password, login)} ${basic}. (AUTHENTICATION_FAILED)`;
    request.resume().on("end", () => {
      response.writeHead(403, { "X-ClickHouse-Exception-Code": "516", "Content-Type": "text/plain" }).end(text);
    });
  });
  return started(server, heard);
}

/** A Git server that refuses every login with a text, which Git prints for its user. */
export async function echoingGit(): Promise<EchoingPeer> {
  const heard = new Set<string>();
  const server = createHttpServer((request, response) => {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      response.writeHead(401, { "WWW-Authenticate": 'Basic realm="git"' }).end();
      return;
    }
    const basic = authorization.replace(/^Basic /, "");
    const login = Buffer.from(basic, "base64").toString();
    const password = login.slice(login.indexOf(":") + 1);
    heard.add(password);
    response.writeHead(403, { "Content-Type": "text/plain" }).end(`${echoed(password, login)} ${basic}\n`);
  });
  return started(server, heard);
}

const keys = { saslHandshake: 17, apiVersions: 18, saslAuthenticate: 36 };
const authenticationFailed = 58;

/** A Kafka broker that asks for a login by PLAIN, and whose refusal quotes it. */
export async function echoingKafka(): Promise<EchoingPeer> {
  const heard = new Set<string>();
  const server = createServer((socket) => answerAll(socket, (request) => answerOf(request, heard)));
  return started(server, heard);
}

function answerAll(socket: Socket, answer: (request: Buffer) => Buffer): void {
  const frames = new Frames();
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => {
    for (const request of frames.take(chunk)) {
      socket.write(sized32(Buffer.concat([request.subarray(4, 8), answer(request)])));
    }
  });
}

function answerOf(request: Buffer, heard: Set<string>): Buffer {
  const [key, version] = [request.readInt16BE(0), request.readInt16BE(2)];
  if (key === keys.apiVersions) {
    const spoken = Object.values(keys).flatMap((known) => [int16(known), int16(0), int16(known === 18 ? 2 : 1)]);
    const throttle = version === 0 ? [] : [int32(0)];
    return Buffer.concat([int16(0), int32(Object.keys(keys).length), ...spoken, ...throttle]);
  }
  if (key === keys.saslHandshake) return Buffer.concat([int16(0), int32(1), text16("PLAIN")]);
  const login = request.toString("utf8", request.indexOf(0, 14) + 1).split("\0");
  const password = login.at(-1) ?? "";
  heard.add(password);
  const message = `Authentication failed: ${echoed(password, login.join(":"))}`;
  return Buffer.concat([int16(authenticationFailed), text16(message), sized32(Buffer.alloc(0)), int64(0)]);
}

async function started(server: Server, heard: Set<string>): Promise<EchoingPeer> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, heard, close };
}
