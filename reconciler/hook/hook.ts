import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { type BodyLimits, BodyRefused, closesConnection, discardBody, receiveBody, Room } from "../../engine/index.ts";
import type { HookResult, HookTelemetry } from "../status/hook-telemetry.ts";
import { AwaitedCommit } from "./awaited-commit.ts";
import { type DeliveryKind, readDelivery } from "./delivery.ts";
import { ClientRateLimit, Throttle } from "./rate-limit.ts";
import { isSigned, Proof } from "./signature.ts";

export interface HookOptions {
  /** The secrets that are valid at this moment. Rejects if they cannot be read. */
  secrets: () => Promise<readonly string[]>;
  /** The followed branch, if there is one and it is known. */
  branch: () => string | undefined;
  /** The commit that was read last, in full; absent where none was. */
  followed: () => string | undefined;
  /** Polls the source soon. */
  onPush: () => void;
  telemetry: HookTelemetry;
  limits?: BodyLimits;
}

const path = "/hook";

/** A push of some thousand commits fits; after a larger one the next poll finds the commits. */
const bodyBytes = 5 << 20;

/** Bytes of all bodies that are being received; one for which there is no room is checked, and not kept. */
const arrivingBytes = 32 << 20;

/** Milliseconds. */
const bodyTimeout = 10_000;

/** Milliseconds for which the rest of a refused body is read, so that its sender sees the answer. */
const drainTime = 1000;

interface Answer {
  status: number;
  message: string;
  /** Absent if the request was not for the hook. */
  result?: HookResult;
  headers?: Record<string, string>;
}

/**
 * The push hook: `POST /hook` from a Git host that proves a secret triggers a poll of the source, and some more within
 * 20 seconds where the source does not have the pushed commit yet; nothing else. No part of a body is logged or given to
 * Git: it can only show that another branch was pushed, or which commit to wait for. A repeated delivery is one more
 * poll. Malformed requests are refused, and the rate of refused requests is limited by address; a request with a valid
 * signature is never refused for others of its address, which may be that of a proxy.
 */
export class Hook {
  readonly #options: HookOptions;
  readonly #limits: BodyLimits;
  readonly #rateLimit = new ClientRateLimit();
  readonly #throttle: Throttle;
  readonly #awaited: AwaitedCommit;

  constructor(options: HookOptions) {
    this.#options = options;
    this.#limits = options.limits ?? { most: bodyBytes, arriving: new Room(arrivingBytes), timeout: bodyTimeout };
    this.#throttle = new Throttle(options.onPush);
    this.#awaited = new AwaitedCommit(() => this.#throttle.trigger(), options.followed);
  }

  /** Answers a request. The listener limits headers, connections and times. */
  readonly handle: RequestListener = (request, response) => {
    void this.#answer(request).then(async (given) => {
      const answer = this.#limited(given, request.socket.remoteAddress);
      if (answer.result !== undefined) this.#options.telemetry.answered(answer.result, request.socket.remoteAddress);
      reply(request, response, answer);
      // A sender whose connection is closed while it sends may never see the answer.
      const timeout = Math.min(drainTime, this.#limits.timeout ?? drainTime);
      await discardBody(request, { ...this.#limits, timeout });
      response.end();
    });
  };

  async close(): Promise<void> {
    this.#awaited.close();
    this.#throttle.close();
    this.#options.telemetry.close();
  }

  /** Instead of a refusal an address gets the time to wait, after many of them. */
  #limited(answer: Answer, address: string | undefined): Answer {
    if (!failed.has(answer.result)) return answer;
    const now = performance.now();
    const wait = this.#rateLimit.wait(address, now);
    if (wait > 0) return tooMany(Math.ceil(wait / 1000));
    this.#rateLimit.add(address, now);
    return answer;
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { method, url = "", headers } = request;
    if (url.split("?", 1)[0] !== path) return { status: 404, message: `not found: this port serves only ${path}` };
    if (method !== "POST") {
      return { status: 405, message: `${path} expects POST, found ${method}`, headers: { allow: "POST" } };
    }
    if (!isSigned(headers)) return unsigned;
    try {
      return await this.#read(request);
    } catch (error) {
      if (error instanceof BodyRefused) return answerTo(error);
      this.#options.telemetry.secretsMissing(error);
      const message = "signatures cannot be checked at this moment";
      return { status: 503, result: "failed", message, headers: { "retry-after": "60" } };
    }
  }

  async #read(request: IncomingMessage): Promise<Answer> {
    const { headers } = request;
    const proof = new Proof(headers, await this.#options.secrets(), Date.now() / 1000);
    if (!proof.isPossible) return unsigned;
    const body = await this.#receive(request, proof);
    if (!proof.isGiven()) return unsigned;
    const { kind, commit } = readDelivery(headers, body, this.#options.branch());
    if (kind === "push") this.#throttle.trigger();
    if (commit !== undefined) this.#awaited.expect(commit);
    return answers[kind];
  }

  /** The body, as far as there is room for it: others may send bodies that fill it. */
  async #receive(request: IncomingMessage, proof: Proof): Promise<Buffer | undefined> {
    const { arriving } = this.#limits;
    let chunks: Buffer[] | undefined = [];
    let held = 0;
    try {
      await receiveBody(request, this.#limits, (chunk) => {
        proof.update(chunk);
        if (chunks !== undefined && arriving.take(chunk.length)) {
          held += chunk.length;
          chunks.push(chunk);
          return;
        }
        chunks = undefined;
        arriving.giveBack(held);
        held = 0;
      });
      return chunks === undefined ? undefined : Buffer.concat(chunks, held);
    } finally {
      arriving.giveBack(held);
      chunks = undefined;
    }
  }
}

const failed: ReadonlySet<HookResult | undefined> = new Set(["bad_signature", "too_large", "malformed"]);

const unsigned: Answer = {
  status: 401,
  result: "bad_signature",
  message: "expected the signature or the token that your Git host makes with the secret of this hook",
};

const answers: Readonly<Record<DeliveryKind, Answer>> = {
  push: { status: 202, result: "accepted", message: "the source is polled soon" },
  ping: { status: 200, result: "ignored", message: "the hook works" },
  "other branch": { status: 200, result: "ignored", message: "another branch is followed" },
  "other event": { status: 200, result: "ignored", message: "only push events are used" },
  unreadable: {
    status: 400,
    result: "malformed",
    message: "expected a body in JSON, or a form with a payload in JSON, without Content-Encoding",
  },
};

function answerTo({ problem, message }: BodyRefused): Answer {
  if (problem === "too large") return { status: 413, result: "too_large", message };
  return { status: problem === "slow" ? 408 : 400, result: "malformed", message };
}

function tooMany(seconds: number): Answer {
  const message = `too many requests were refused: try again in ${seconds} seconds`;
  return { status: 429, result: "rate_limited", message, headers: { "retry-after": String(seconds) } };
}

function reply(request: IncomingMessage, response: ServerResponse, { status, message, headers }: Answer): void {
  if (response.destroyed) return;
  const body = JSON.stringify({ status, message });
  const connection = closesConnection(request, status) ? { connection: "close" } : {};
  const length = Buffer.byteLength(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": length,
    ...connection,
    ...headers,
  });
  response.write(body);
}
