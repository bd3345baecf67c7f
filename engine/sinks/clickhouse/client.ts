import type { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import type { ClickHouseClient } from "@clickhouse/client";

const compress = promisify(gzip);

/**
 * How long a request may be silent, in milliseconds. A block is below 256 MB and is in within seconds, or minutes with
 * heavy views; giving up earlier would send it again while the server still works on it. Not longer than the drain
 * limit of a stop, which is also 5 minutes.
 */
const requestTimeout = 5 * 60_000;

/** Sockets are dropped before the shortest keep-alive of a server (3 s) could close them under a request. */
const idleSocketLimit = 2_500;

/** The largest answer that is read, in bytes: descriptions of tables and errors are far below. */
const largestAnswer = 16 << 20;

/** A server with the login for it. */
export interface Target {
  url: string;
  username: string;
  password: string;
  skipCertificate: boolean;
}

/** The stock client, quiet: it would print statements and headers. `agent`: what makes its sockets, if not its own. */
export function clientFor({ url, username, password, skipCertificate }: Target, agent?: Agent): ClickHouseClient {
  const own = skipCertificate
    ? new TlsAgent({ keepAlive: true, maxSockets: 10, rejectUnauthorized: false })
    : undefined;
  const used = agent ?? own;
  return createClient({
    url,
    username,
    password,
    application: "sluice",
    request_timeout: requestTimeout,
    compression: { request: false, response: false },
    log: { level: ClickHouseLogLevel.OFF },
    keep_alive: { enabled: true, idle_socket_ttl: idleSocketLimit, eagerly_destroy_stale_sockets: true },
    ...(used === undefined ? {} : { http_agent: used }),
  });
}

/** With its length, so that a server can tell a body that was cut off from a whole one; compressed for a far server. */
export async function bodyOf(
  body: Buffer,
  isCompressed: boolean,
): Promise<{ values: Readable; http_headers: Record<string, string> }> {
  const sent = isCompressed ? await compress(body, { level: constants.Z_BEST_SPEED }) : body;
  const encoding = isCompressed ? { "Content-Encoding": "gzip" } : {};
  return { values: Readable.from(sent), http_headers: { "Content-Length": String(sent.length), ...encoding } };
}

/** The whole answer. Throws an Error for one that is far larger than any that is asked for. */
export async function readAnswer(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += (chunk as Buffer).length;
    if (size > largestAnswer) throw new Error(`the answer is longer than ${largestAnswer} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}
