import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller, Signal } from "../../../core/push.ts";
import { Room } from "../../../flow/room.ts";
import { pathOf } from "../../../http/target.ts";
import { isRead, type Probes } from "../../../http/probes.ts";
import { HttpCaller } from "../../../http/caller.ts";
import { closesConnection, type HttpRefusal } from "../../../http/refusal.ts";
import { BodyRefused, discardBody, readBody, type BodyLimits } from "../../../http/request-body.ts";
import {
  answerTo,
  encodeResponse,
  encodeStatus,
  grpcCodes,
  type Outcome,
  outcomeOf,
  refusal,
  Refused,
  responseInJson,
} from "./outcome.ts";
import { pipelineNamed, type Received, type Receiver, tooMuch } from "./receiver.ts";
import { type Encoding, maxBody } from "../decoding/decode.ts";

/** The most bytes of all bodies that are arriving. */
const arrivingBytes = 64 * 1024 * 1024;

const signals = new Map<string, Signal>([
  ["/v1/logs", "logs"],
  ["/v1/traces", "traces"],
  ["/v1/metrics", "metrics"],
]);

const types: Record<Encoding, string> = { protobuf: "application/x-protobuf", json: "application/json" };

interface Reply {
  status: number;
  type: string;
  body: string | Buffer;
  headers?: Record<string, string>;
}

/** OTLP over HTTP: `POST /v1/logs`, `/v1/traces` and `/v1/metrics`, in protobuf and JSON, each with gzip or without. */
export class OtlpHttp {
  readonly #receiver: Receiver;
  readonly #probes: Probes;
  readonly #limits: BodyLimits = { most: maxBody, arriving: new Room(arrivingBytes) };

  constructor(receiver: Receiver, probes: Probes) {
    this.#receiver = receiver;
    this.#probes = probes;
  }

  /** Answers one request. Never throws. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request);
    const signal = signals.get(path);
    if (signal !== undefined && request.method === "POST") await this.#export(signal, request, response);
    else answer(request, response, this.#replyElsewhere(request, path));
  }

  /** A request that was refused before it was read. */
  unread(unread: HttpRefusal): void {
    this.#receiver.port.refused(unread);
  }

  async #export(signal: Signal, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = performance.now();
    const asked = pipelineNamed((name) => headerOf(request, name));
    const encoding = encodingOf(request);
    const caller = new HttpCaller(response);
    const size = { bytesIn: 0 };
    let received: Received;
    try {
      received = await this.#receive(request, { asked, signal, encoding, caller }, size);
    } catch (error) {
      received = { outcome: error instanceof BodyRefused ? outcomeOfBody(error) : outcomeOf(error) };
      await discardBody(request, this.#limits);
    }
    this.#receiver.answered(received, { asked, signal, transport: "http", started, ...size });
    answer(request, response, replyTo(received.outcome, encoding));
  }

  async #receive(
    request: IncomingMessage,
    about: { asked: string | undefined; signal: Signal; encoding: Encoding; caller: Caller },
    size: { bytesIn: number },
  ): Promise<Received> {
    await this.#receiver.admit(request.headers.authorization);
    const { asked, ...known } = about;
    const pipeline_id = this.#receiver.pipelineFor(asked, known.signal);
    refuseOtherType(headerOf(request, "content-type"));
    const isCompressed = isGzip(headerOf(request, "content-encoding"));
    const body = await readBody(request, this.#limits);
    size.bytesIn = body.length;
    return this.#receiver.take({ pipeline_id, ...known, body, isCompressed });
  }

  /** The answer to a request that is not an export. */
  #replyElsewhere(request: IncomingMessage, path: string): Reply {
    const probe = this.#probes.answerTo(path);
    if (probe !== undefined && isRead(request)) {
      return { status: probe.status, type: types.json, body: JSON.stringify(probe.body) };
    }
    if (probe !== undefined || signals.has(path)) {
      const [expected, allow] = probe === undefined ? ["POST", "POST"] : ["GET", "GET, HEAD"];
      return { ...this.#noRoute(request, 405, 12, `expected ${expected}`), headers: { allow } };
    }
    return this.#noRoute(request, 404, 5, `expected one of ${[...signals.keys()].join(", ")}`);
  }

  #noRoute(request: IncomingMessage, status: number, code: number, message: string): Reply {
    this.#receiver.port.refused({ reason: "no_route", message });
    return errorReply(status, code, message, encodingOf(request));
  }
}

function outcomeOfBody({ problem, message }: BodyRefused): Outcome {
  if (problem === "no room") return refusal("busy", tooMuch);
  return refusal(problem === "too large" ? "too_large" : problem === "slow" ? "slow" : "broken_off", message);
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  return headers[name]?.toString();
}

function encodingOf({ headers }: IncomingMessage): Encoding {
  return headers["content-type"]?.trim().toLowerCase().startsWith(types.protobuf) === true ? "protobuf" : "json";
}

/** Types of bytes that are no JSON. Anything else that is not protobuf is read as JSON, whatever it says that it is. */
const binary = /protobuf|octet-stream|grpc/i;

/** Throws Refused for protobuf that is sent as something else: read as JSON, it would be answered that it is malformed. */
function refuseOtherType(type = ""): void {
  const [name = ""] = type.split(";", 1);
  if (type.trim().toLowerCase().startsWith(types.protobuf) || !binary.test(name)) return;
  const expected = `expected Content-Type ${types.protobuf} or ${types.json}`;
  throw new Refused("other_type", `${expected}, found ${JSON.stringify(name.trim())}`);
}

/** Throws Refused for any other encoding. */
function isGzip(encoding = "identity"): boolean {
  const name = encoding.trim().toLowerCase();
  if (name === "gzip") return true;
  if (name === "identity" || name === "") return false;
  throw new Refused("other_encoding", `expected Content-Encoding gzip or identity, found ${JSON.stringify(name)}`);
}

function replyTo(outcome: Outcome, encoding: Encoding): Reply {
  const { http, grpc, retryAfter } = answerTo(outcome);
  if (outcome.kind === "stored") {
    const body = encoding === "json" ? responseInJson(outcome) : encodeResponse(outcome);
    return { status: http, type: types[encoding], body };
  }
  const reply = errorReply(http, grpcCodes[grpc], outcome.message, encoding);
  return retryAfter === undefined ? reply : { ...reply, headers: { "retry-after": String(retryAfter) } };
}

/** A google.rpc.Status, in the encoding of the request. */
function errorReply(status: number, code: number, message: string, encoding: Encoding): Reply {
  const body = encoding === "json" ? JSON.stringify({ code, message }) : encodeStatus({ code, message });
  return { status, type: types[encoding], body };
}

function answer(request: IncomingMessage, response: ServerResponse, { status, type, body, headers }: Reply): void {
  if (response.destroyed) return;
  const connection = closesConnection(request, status) ? { connection: "close" } : {};
  const length = Buffer.byteLength(body);
  response.writeHead(status, { "content-type": type, "content-length": length, ...connection, ...headers });
  response.end(body);
}
