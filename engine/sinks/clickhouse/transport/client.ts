import { Agent, request } from "node:http";
import { request as tlsRequest } from "node:https";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { brotliDecompress, constants, gunzip, gzip, inflate } from "node:zlib";
import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import type { ClickHouseClient } from "@clickhouse/client";
import { type AnswerRoom, shortAnswer } from "../../../peers/answer-room.ts";
import { agentWithin } from "../../../peers/agent.ts";
import type { TargetPolicy } from "../../../peers/targets.ts";
import { withTimeLimit } from "../../../flow/time-limit.ts";

const compress = promisify(gzip);

/** For a proxy that compresses answers unasked. */
const decoders = new Map<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>([
  ["gzip", promisify(gunzip)],
  ["deflate", promisify(inflate)],
  ["br", promisify(brotliDecompress)],
]);

/**
 * How long a request may wait without data, in milliseconds. A block of at most 256 MB is inserted within seconds, or
 * minutes with heavy views; a shorter limit would repeat it while the server still works on it. Not longer than the
 * drain limit of a stop, which is also 5 minutes.
 */
const requestTimeout = 5 * 60_000;

/** Idle sockets are closed before the shortest keep-alive of a server (3 s) could close them during a request. */
const idleSocketLimit = 2_500;

/** The largest answer that is read, in bytes: table descriptions and errors are much smaller. */
const largestAnswer = 16 << 20;

/** A server and its login. */
export interface Target {
  url: string;
  username: string;
  password: string;
  skipCertificate: boolean;
  /** The Unix socket where it listens, instead of the host and the port of `url`. */
  socketPath?: string;
}

/**
 * The official client, without its log, which would print statements and headers. It uses `agent` for its sockets, and
 * leaves answers as they are.
 */
export function clientFor({ url, username, password }: Target, agent: Agent): ClickHouseClient {
  return createClient({
    url,
    username,
    password,
    application: "sluice",
    request_timeout: requestTimeout,
    compression: { request: false, response: false },
    log: { level: ClickHouseLogLevel.OFF },
    keep_alive: { enabled: true, idle_socket_ttl: idleSocketLimit, eagerly_destroy_stale_sockets: true },
    http_agent: agent,
    // The client would parse the summary of an answer, and fail where it is not an object.
    json: { parse: () => undefined as never },
  });
}

/** The agent for connections to a server. Our own, which a Unix socket leads to, is no target of the policy. */
export function agentFor({ url, skipCertificate, socketPath }: Target, policy: TargetPolicy): Agent {
  const options = { keepAlive: true, maxSockets: 10 };
  if (socketPath !== undefined) return new Agent({ ...options, socketPath } as typeof options);
  const isSecure = url.startsWith("https:");
  return agentWithin(policy, isSecure, { ...options, ...(skipCertificate ? { rejectUnauthorized: false } : {}) });
}

/** How long `/ping` may take, in milliseconds: a healthy server answers at once. */
const pingTimeout = 5_000;

/**
 * Whether a server, or a proxy in front of it, answers `/ping` with a status below 500. Needs no login. Never throws.
 */
export function isAnswering(url: string, agent: Agent, signal: AbortSignal): Promise<boolean> {
  const ask = (limited: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const send = url.startsWith("https:") ? tlsRequest : request;
      send(new URL("/ping", url), { agent, signal: limited })
        .on("response", (response) => {
          response.on("error", () => undefined).resume();
          resolve((response.statusCode ?? 500) < 500);
        })
        .on("error", () => resolve(false))
        .end();
    });
  return withTimeLimit(signal, pingTimeout, ask);
}

/** The request body, with its length, so that a server detects a body that was cut off. */
export async function bodyOf(
  body: Buffer,
  isCompressed: boolean,
): Promise<{ values: Readable; http_headers: Record<string, string> }> {
  const sent = isCompressed ? await compress(body, { level: constants.Z_BEST_SPEED }) : body;
  const encoding = isCompressed ? { "Content-Encoding": "gzip" } : {};
  return { values: Readable.from(sent), http_headers: { "Content-Length": String(sent.length), ...encoding } };
}

/**
 * The whole answer, as text. Throws an Error for an answer that is cut off, far too large, or in an encoding that is
 * not supported: none was requested.
 */
export async function readAnswer(stream: Readable, room: AnswerRoom, encoding = "identity"): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  let giveBack: (() => void) | undefined;
  try {
    for await (const chunk of stream) {
      size += (chunk as Buffer).length;
      if (size > largestAnswer) throw new Error(`the answer is longer than ${largestAnswer} bytes`);
      if (size > shortAnswer && giveBack === undefined) {
        // How long it will be is not known.
        giveBack = room.take(largestAnswer);
        if (giveBack === undefined) throw new Error("there is no room for a long answer: those of others take it");
      }
      chunks.push(chunk as Buffer);
    }
    return await decoded(Buffer.concat(chunks), encoding);
  } finally {
    giveBack?.();
  }
}

async function decoded(bytes: Buffer, encoding: string): Promise<string> {
  if (encoding === "identity" || bytes.length === 0) return bytes.toString("utf8");
  const decode = decoders.get(encoding);
  if (decode === undefined) throw new Error(`the answer has the encoding ${encoding.slice(0, 32)}: expected none`);
  return (await decode(bytes, { maxOutputLength: largestAnswer })).toString("utf8");
}
