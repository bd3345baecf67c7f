import type { IncomingMessage, ServerResponse } from "node:http";
import { EngineError, recreatedMeanwhile } from "../../core/errors.ts";
import type { Caller, Push } from "../../core/push.ts";
import { whyNoObject, withoutMark } from "../../event/not-an-object.ts";
import { Room } from "../../flow/room.ts";
import { TurnMissed } from "../../flow/waiting-line.ts";
import { HttpCaller } from "../../http/caller.ts";
import { isRead, type Probes } from "../../http/probes.ts";
import { pathOf } from "../../http/target.ts";
import { closesConnection, type HttpRefusal } from "../../http/refusal.ts";
import { BodyRefused, discardBody, readBody, type BodyLimits } from "../../http/request-body.ts";
import { JsonCheck } from "./json-check.ts";
import { isUtf8 } from "node:buffer";

/** The largest event, in bytes. */
const maxBody = 1024 * 1024;
/** The most bytes of all bodies that are arriving. */
const arrivingBytes = 32 * 1024 * 1024;

const route = /^\/v1\/pipelines\/([a-z0-9-]{1,64})\/topics\/input\/events$/;

/** What the intake needs of the engine. */
export interface WebhookPort {
  /** Whether a pipeline takes events, or why it does not. */
  admits(pipeline_id: string): "yes" | "unknown" | "over" | "later";
  /** Whether a token is that of a pipeline. Takes as long where there is no such pipeline. */
  isToken(pipeline_id: string, token: string): boolean;
  /**
   * Resolves once the push is on disk. Throws EngineError STREAM_FULL, STREAM_CLOSED, PUSH_TOO_LARGE, DISK_FULL,
   * STORAGE_FAILED, and TurnMissed.
   */
  store(pipeline_id: string, push: Push): Promise<void>;
  /** Called with each event that was stored. */
  stored(pipeline_id: string, bytes: number): void;
  /** Called with each refusal; `pipeline_id` only where such a pipeline exists. */
  refused(pipeline_id: string | undefined, refusal: HttpRefusal): void;
}

/** Why an event was not stored, and how that is answered. */
interface Refused extends HttpRefusal {
  headers?: Record<string, string>;
}

/** An event was stored: its size in bytes. */
interface Stored {
  status: 202;
  bytes: number;
}

type Reply = Stored | Refused;

/**
 * `POST /v1/pipelines/<id>/topics/input/events`: one JSON object per request, answered 202 after it is on disk
 * (docs/sources/webhook.md, Answers). After any other answer the event was not stored.
 */
export class WebhookIntake {
  readonly #port: WebhookPort;
  readonly #probes: Probes;
  readonly #limits: BodyLimits = { most: maxBody, arriving: new Room(arrivingBytes) };

  constructor(port: WebhookPort, probes: Probes) {
    this.#port = port;
    this.#probes = probes;
  }

  /** Answers one request. Never throws. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request);
    const probe = this.#probes.answerTo(path);
    if (probe === undefined) await this.#take(request, response, route.exec(path)?.[1]);
    else if (isRead(request)) send(response, probe.status, JSON.stringify(probe.body));
    else this.#answerNotRead(request, response);
  }

  /** A request that was refused before it was read. */
  unread(refusal: HttpRefusal): void {
    this.#port.refused(undefined, refusal);
  }

  #answerNotRead(request: IncomingMessage, response: ServerResponse): void {
    this.#report(undefined, notRead);
    answer(request, response, notRead);
  }

  async #take(request: IncomingMessage, response: ServerResponse, pipeline_id: string | undefined): Promise<void> {
    const caller = new HttpCaller(response);
    let reply: Reply;
    try {
      reply = await this.#reply(request, pipeline_id, caller);
    } catch (error) {
      reply = replyTo(error);
    }
    await discardBody(request, this.#limits);
    this.#report(pipeline_id, reply);
    answer(request, response, reply);
  }

  #report(pipeline_id = "", reply: Reply): void {
    if (!("reason" in reply)) return this.#port.stored(pipeline_id, reply.bytes);
    const { headers: _headers, ...refusal } = reply;
    this.#port.refused(this.#port.admits(pipeline_id) === "unknown" ? undefined : pipeline_id, refusal);
  }

  async #reply(request: IncomingMessage, pipeline_id: string | undefined, caller: Caller): Promise<Reply> {
    const refusal = this.#refusal(request, pipeline_id);
    if (refusal !== undefined || pipeline_id === undefined) return refusal ?? noRoute;
    const body = await readBody(request, this.#limits);
    const problem = problemOfBody(body);
    if (problem !== undefined) return { status: 400, reason: "malformed", message: problem };
    await this.#port.store(pipeline_id, { bytes: body, ends: [body.length], receivedAt: Date.now(), caller });
    return { status: 202, bytes: body.length };
  }

  /** The refusal that needs no body; undefined where there is none. */
  #refusal(request: IncomingMessage, pipeline_id: string | undefined): Refused | undefined {
    if (pipeline_id === undefined) return noRoute;
    if (request.method !== "POST") {
      return { status: 405, reason: "no_route", message: "expected POST", headers: { allow: "POST" } };
    }
    const token = request.headers["x-pipeline-access-token"];
    // Without the token nothing is said of a pipeline, not even whether there is one.
    if (typeof token !== "string" || !this.#port.isToken(pipeline_id, token)) return noToken;
    const admission = this.#port.admits(pipeline_id);
    if (admission === "unknown") return noToken;
    if (admission === "later") return { ...replyTo(recreatedMeanwhile(pipeline_id)), reason: "recreating" };
    if (admission === "over")
      return {
        status: 409,
        reason: "over",
        message: `pipeline ${pipeline_id} is terminated or about to be deleted: it takes no events`,
      };
    return refusalOfHeaders(request);
  }
}

const noRoute: Refused = {
  status: 404,
  reason: "no_route",
  message: "expected POST /v1/pipelines/<pipeline_id>/topics/input/events",
};

const notRead: Refused = {
  status: 405,
  reason: "no_route",
  message: "expected GET",
  headers: { allow: "GET, HEAD" },
};

const noToken: Refused = {
  status: 401,
  reason: "no_token",
  message: "expected the id of a webhook pipeline, and its token in the header X-PIPELINE-ACCESS-TOKEN",
};

function refusalOfHeaders({ headers }: IncomingMessage): Refused | undefined {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    return {
      status: 415,
      reason: "other_type",
      message: `expected Content-Type application/json, found ${type ?? "none"}`,
    };
  }
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (encoding !== "" && encoding !== "identity") {
    return {
      status: 415,
      reason: "other_encoding",
      message: `expected a body without Content-Encoding, found ${encoding}`,
    };
  }
  return undefined;
}

function replyTo(error: unknown): Refused {
  if (error instanceof BodyRefused) return replyToBody(error);
  if (error instanceof TurnMissed) return replyToMissed(error);
  if (!(error instanceof EngineError)) return { status: 500, reason: "failed", message: "Internal server error" };
  const { message, details } = error;
  switch (error.code) {
    case "STREAM_FULL":
      return { status: 429, reason: "stream_full", message, ...retryAfter(1) };
    case "RATE_LIMITED":
      return { status: 429, reason: "rate_limited", message, ...retryAfter(Number(details["retry_after"])) };
    case "STREAM_CLOSED":
      return { status: 409, reason: "over", message };
    case "PUSH_TOO_LARGE":
      return { status: 413, reason: "never_fits", message };
    case "DISK_FULL":
      return { status: 503, reason: "disk_full", message, ...retryAfter(5) };
    default:
      return { status: 503, reason: "storage", message, ...retryAfter(5) };
  }
}

function retryAfter(seconds: number): Pick<Refused, "headers"> {
  return { headers: { "retry-after": String(seconds) } };
}

/** Of one that has gone, nobody reads the answer: it is counted alone. */
function replyToMissed({ because, message }: TurnMissed): Refused {
  if (because === "gone") return { status: 499, reason: "gone", message };
  return { status: 429, reason: "busy", message, ...retryAfter(1) };
}

function answer(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return;
  const { status } = reply;
  const { message, headers } = "reason" in reply ? reply : {};
  const body = message === undefined ? "{}" : JSON.stringify({ status, message });
  const connection = closesConnection(request, status) ? { connection: "close" } : {};
  send(response, status, body, { ...connection, ...headers });
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": length, ...headers });
  response.end(body);
}

const bodyRefusals: Readonly<Record<BodyRefused["problem"], Omit<Refused, "message">>> = {
  "too large": { status: 413, reason: "too_large" },
  slow: { status: 408, reason: "slow" },
  "broken off": { status: 400, reason: "broken_off" },
  "no room": { status: 429, reason: "busy", ...retryAfter(1) },
};

function replyToBody({ problem, message }: BodyRefused): Refused {
  return { ...bodyRefusals[problem], message };
}

/** Deeper events are refused, so that later steps need no guard for their stack. */
const maxDepth = 100;

/** Larger bodies are checked without making a value of them, in bytes: that could hold up other requests. */
const parsedBytes = 64 * 1024;

/** What is wrong with a body that should be one JSON object; undefined if nothing is. */
function problemOfBody(received: Buffer): string | undefined {
  const body = withoutMark(received);
  if (body.length === 0) return "expected a JSON object, found an empty body";
  if (!isUtf8(body)) return "expected a JSON object in UTF-8, found bytes that are not UTF-8";
  if (depthOf(body) > maxDepth) return `expected a JSON object at most ${maxDepth} levels deep`;
  if (body.length > parsedBytes) return problemOfLong(body);
  const problem = whyNoObject(body);
  return problem && `expected a JSON object${problem}`;
}

/** Problems of a body that is valid UTF-8 and not too deep. */
function problemOfLong(body: Buffer): string | undefined {
  const brokenAt = new JsonCheck(body).brokenAt();
  if (brokenAt !== undefined) return `expected a JSON object, found text that is not JSON at byte ${brokenAt}`;
  // JSON begins with its first byte that is no space.
  const first = body.find((byte) => byte > 0x20);
  if (first === openArray) return "expected a JSON object, found an array: send its items one by one";
  return first === openObject ? undefined : "expected a JSON object, found another value";
}

const [quote, backslash, openObject, closeObject, openArray, closeArray] = Buffer.from('"\\{}[]');

/** The deepest nesting of objects and arrays. */
function depthOf(body: Buffer): number {
  if (body.length <= 2 * maxDepth) return 0;
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (isInString) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === openObject || byte === openArray) deepest = Math.max(deepest, (depth += 1));
    else if (byte === closeObject || byte === closeArray) depth -= 1;
  }
  return deepest;
}
