import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createPlainServer } from "node:net";
import { basename, dirname } from "node:path";
import ssh2 from "ssh2";
import type { AuthContext, Connection } from "ssh2";

/** A server that a test started. `url` is what a user would write. */
export interface RunningServer {
  url: string;
  port: number;
  close(): Promise<void>;
}

/**
 * Serves a repository over smart HTTP with Git's own back end; asks for `credentials` where they are given, and changes
 * them when the test does. With `oldProtocol` it gives no commit that no branch or tag points to. After each
 * 64 KiB it waits for what `each` returns, as long as somebody reads. It gets the bytes that were sent so far.
 */
export async function serveHttp(
  repository: string,
  credentials?: Credentials,
  port = 0,
  { oldProtocol = false, each }: { oldProtocol?: boolean; each?: (sent: number) => Promise<unknown> } = {},
): Promise<RunningServer & { requests: string[] }> {
  const requests: string[] = [];
  let sent = 0;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const expected = credentials && authorizationOf(credentials);
    if (oldProtocol) delete request.headers["git-protocol"];
    if (expected !== undefined && request.headers.authorization !== expected) {
      response.writeHead(401, { "WWW-Authenticate": 'Basic realm="git"' }).end("no");
    } else {
      const closed = new Promise((resolve) => response.once("close", resolve));
      const send = async (body: Buffer): Promise<void> => {
        for (let at = 0; at < body.length && !response.destroyed; at += slice) {
          sent += Math.min(slice, body.length - at);
          response.write(body.subarray(at, at + slice));
          if (each !== undefined) await Promise.race([each(sent), closed]);
        }
        response.end();
      };
      backend(repository, request, response, send);
    }
  });
  const urlAt = (taken: number): string => `http://127.0.0.1:${taken}/${basename(repository)}/.git`;
  return { ...(await listening(server, urlAt, port)), requests };
}

/** Bytes that are sent at once. */
const slice = 64 << 10;

export type Credentials = { user: string; password: string } | { token: string };

function authorizationOf(credentials: Credentials): string {
  if ("token" in credentials) return `Bearer ${credentials.token}`;
  return `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString("base64")}`;
}

/** Runs `git http-backend` as a web server does: the request in the environment, headers before the body. */
function backend(
  repository: string,
  request: IncomingMessage,
  response: ServerResponse,
  send: (body: Buffer) => Promise<void>,
): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: dirname(repository),
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      HTTP_GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin);
  let output = Buffer.alloc(0);
  child.stdout.on("data", (chunk: Buffer) => (output = Buffer.concat([output, chunk])));
  child.on("close", () => {
    const end = output.indexOf("\r\n\r\n");
    const headers = output
      .toString("latin1", 0, end)
      .split("\r\n")
      .map((line) => line.split(/: ?/, 2) as [string, string]);
    const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
    response.writeHead(Number.parseInt(status, 10), headers.filter(([name]) => name !== "Status").flat());
    void send(output.subarray(end + 4));
  });
}

/** Serves a repository with `git daemon`, which knows nobody and encrypts nothing. */
export async function serveDaemon(repository: string): Promise<RunningServer> {
  const server = createPlainServer((socket) => {
    const args = ["daemon", "--inetd", "--export-all", `--base-path=${dirname(repository)}`];
    const child = spawn("git", args, { stdio: ["pipe", "pipe", "ignore"] });
    socket.on("error", () => child.kill());
    child.stdin.on("error", () => undefined);
    socket.pipe(child.stdin);
    child.stdout.pipe(socket);
  });
  return listening(server, (port) => `git://127.0.0.1:${port}/${basename(repository)}`);
}

/** Serves repositories over ssh to the holder of `publicKey`: it runs `git-upload-pack` and nothing else. */
export async function serveSsh(hostKey: string, publicKey: string): Promise<RunningServer> {
  const allowed = ssh2.utils.parseKey(publicKey);
  if (allowed instanceof Error) throw allowed;
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => accept(connection, allowed));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `ssh://git@127.0.0.1:${port}`, port, close: () => new Promise((done) => server.close(() => done())) };
}

function accept(connection: Connection, allowed: ReturnType<typeof ssh2.utils.parseKey> & object): void {
  const key = allowed as ssh2.ParsedKey;
  connection.on("error", () => undefined);
  connection.on("authentication", (attempt: AuthContext) => {
    // The library answers with an Error, too, where its types say boolean.
    const isSigned = (): unknown =>
      attempt.method === "publickey" &&
      key.verify(attempt.blob as Buffer, attempt.signature as Buffer, attempt.hashAlgo);
    if (attempt.method !== "publickey" || !attempt.key.data.equals(key.getPublicSSH())) attempt.reject(["publickey"]);
    else if (attempt.signature === undefined || attempt.blob === undefined) attempt.accept();
    else if (isSigned() === true) attempt.accept();
    else attempt.reject(["publickey"]);
  });
  connection.on("session", (acceptSession) => {
    const session = acceptSession();
    session.on("env", (acceptEnv) => acceptEnv?.());
    session.on("exec", (acceptExec, reject, { command }) => {
      const path = /^git-upload-pack '([^']+)'$/.exec(command)?.[1];
      if (path === undefined) return reject();
      const channel = acceptExec();
      const child = spawn("git-upload-pack", [path], { stdio: ["pipe", "pipe", "pipe"] });
      channel.pipe(child.stdin);
      child.stdout.pipe(channel, { end: false });
      child.stderr.pipe(channel.stderr, { end: false });
      child.on("close", (code) => {
        channel.exit(code ?? 1);
        channel.end();
      });
    });
  });
}

/** A server that takes connections and never says a word. `connections` counts those that are open. */
export async function serveSilence(): Promise<RunningServer & { open(): number }> {
  const sockets = new Set<Socket>();
  const server = createPlainServer((socket) => {
    sockets.add(socket);
    socket.resume();
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  const running = await listening(
    server,
    (port) => `http://127.0.0.1:${port}/hang.git`,
    0,
    () => {
      for (const socket of sockets) socket.destroy();
    },
  );
  return { ...running, open: () => sockets.size };
}

async function listening(
  server: Server | ReturnType<typeof createPlainServer>,
  url: (port: number) => string,
  wished = 0,
  onClose?: () => void,
): Promise<RunningServer> {
  server.listen(wished, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((done) => {
      onClose?.();
      if ("closeAllConnections" in server) server.closeAllConnections();
      server.close(() => done());
    });
  return { url: url(port), port, close };
}

/** A new ssh key pair at `path` and `path.pub`, as OpenSSH makes it. */
export function makeSshKey(path: string): void {
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", path]);
}
