import { EngineError } from "../../../core/errors.ts";
import type { RefusalReason } from "../../../core/refusals.ts";
import { TurnMissed } from "../../../flow/waiting-line.ts";
import protobuf from "protobufjs/light.js";

/** The codes of gRPC that are used. They are its protocol; its package takes long to load, so only its receiver does. */
export const grpcCodes = {
  OK: 0,
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

/** How each outcome is answered over each transport. */
interface Answer {
  /** The HTTP status. */
  http: number;
  /** The name of the code of gRPC, which the google.rpc.Status in the body of an HTTP error has too. */
  grpc: keyof typeof grpcCodes;
  /** Seconds after which a sender should retry; absent where the same request can never be accepted. */
  retryAfter?: number;
}

/**
 * The outcomes of a request (docs/sources/otlp.md, Answers). Exporters retry after 429, 503, UNAVAILABLE and
 * DEADLINE_EXCEEDED, and after RESOURCE_EXHAUSTED with a RetryInfo; after anything else they drop the request. Only
 * `stored` means that the request was stored. The names are labels of a metric.
 */
export const answers = {
  stored: { http: 200, grpc: "OK" },
  /** No token, or a wrong one. */
  no_token: { http: 401, grpc: "UNAUTHENTICATED" },
  /** The tokens of the operator cannot be read. */
  token_unreadable: { http: 503, grpc: "UNAVAILABLE", retryAfter: 5 },
  no_header: { http: 400, grpc: "INVALID_ARGUMENT" },
  unknown_pipeline: { http: 404, grpc: "NOT_FOUND" },
  other_signal: { http: 400, grpc: "INVALID_ARGUMENT" },
  /** The pipeline is terminated, or about to be deleted. */
  over: { http: 409, grpc: "FAILED_PRECONDITION" },
  /** The pipeline is between its deletion and its creation. */
  recreating: { http: 503, grpc: "UNAVAILABLE", retryAfter: 5 },
  malformed: { http: 400, grpc: "INVALID_ARGUMENT" },
  other_type: { http: 415, grpc: "INVALID_ARGUMENT" },
  other_encoding: { http: 415, grpc: "UNIMPLEMENTED" },
  /** The body, after decompression. */
  too_large: { http: 413, grpc: "RESOURCE_EXHAUSTED" },
  /** Its rows need more room than a stream, or the memory for one request, can ever have. */
  never_fits: { http: 413, grpc: "INVALID_ARGUMENT" },
  /** It had no turn in time, or there is no room for its bytes. */
  busy: { http: 429, grpc: "RESOURCE_EXHAUSTED", retryAfter: 1 },
  stream_full: { http: 429, grpc: "RESOURCE_EXHAUSTED", retryAfter: 1 },
  rate_limited: { http: 429, grpc: "RESOURCE_EXHAUSTED", retryAfter: 1 },
  disk_full: { http: 503, grpc: "UNAVAILABLE", retryAfter: 5 },
  storage: { http: 503, grpc: "UNAVAILABLE", retryAfter: 5 },
  slow: { http: 408, grpc: "DEADLINE_EXCEEDED" },
  broken_off: { http: 400, grpc: "CANCELLED" },
  /** The sender has gone before its request had its turn: nobody reads this answer. */
  gone: { http: 499, grpc: "CANCELLED" },
  failed: { http: 500, grpc: "INTERNAL" },
} as const satisfies Partial<Record<RefusalReason | "stored", Answer>>;

export type OutcomeKind = keyof typeof answers;

/** The outcome of a request, the same for both transports. */
export interface Outcome {
  kind: OutcomeKind;
  /** A message for the sender; empty where all of the request was stored. */
  message: string;
  /** Spans of a stored request that were not. */
  refusedSpans?: number;
}

export const stored: Outcome = { kind: "stored", message: "" };

/** A request that was stored without the spans that have no valid ids: the protocol's partial success. */
export function partlyStored(refusedSpans: number): Outcome {
  const expected =
    "a trace_id of 16 bytes and a span_id of 8 bytes, not all zeros, and a parent_span_id of 8 bytes or none";
  return { kind: "stored", message: `expected of each span ${expected}; found other ones`, refusedSpans };
}

export function answerTo({ kind }: Outcome): Answer {
  return answers[kind];
}

/** The longest message, in characters: it may quote the request. */
const longestMessage = 300;

export function refusal(kind: Exclude<OutcomeKind, "stored">, message: string): Outcome {
  // Both transports need well-formed text, so a character is never cut in two.
  return { kind, message: Buffer.from(message.slice(0, longestMessage)).toString("utf8") };
}

/** Thrown to stop reading a request whose outcome is known. */
export class Refused extends Error {
  readonly outcome: Outcome;

  constructor(kind: Exclude<OutcomeKind, "stored">, message: string) {
    super(message);
    this.name = "Refused";
    this.outcome = refusal(kind, message);
  }
}

/** The outcome of a request that was not stored because of an error. Details of an unknown error stay out of the answer. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof Refused) return error.outcome;
  if (error instanceof TurnMissed) return refusal(error.because === "gone" ? "gone" : "busy", error.message);
  if (!(error instanceof EngineError)) return refusal("failed", "Internal server error");
  switch (error.code) {
    case "STREAM_FULL":
      return refusal("stream_full", error.message);
    case "RATE_LIMITED":
      return refusal("rate_limited", error.message);
    case "STREAM_CLOSED":
      return refusal("over", error.message);
    case "DISK_FULL":
      return refusal("disk_full", error.message);
    case "PUSH_TOO_LARGE":
      return refusal("never_fits", error.message);
    default:
      return refusal("storage", error.message);
  }
}

/** An Export…ServiceResponse in protobuf: without bytes, unless spans were refused. */
export function encodeResponse({ message, refusedSpans }: Outcome): Buffer {
  if (refusedSpans === undefined) return Buffer.alloc(0);
  const partial_success = { rejected_spans: refusedSpans, error_message: message };
  return Buffer.from(Response.encode({ partial_success }).finish());
}

/** The same in OTLP/JSON, where numbers of 64 bits are texts. */
export function responseInJson({ message, refusedSpans }: Outcome): string {
  if (refusedSpans === undefined) return "{}";
  return JSON.stringify({ partialSuccess: { rejectedSpans: String(refusedSpans), errorMessage: message } });
}

/** The google.rpc.Status of an answer, the same for both transports. */
interface StatusMessage {
  /** A code of gRPC. */
  code: number;
  message: string;
}

/** The messages that are sent, and their parts: two of google.rpc, and the answer to spans. */
const root = protobuf.Root.fromJSON({
  nested: {
    Any: { fields: { type_url: { type: "string", id: 1 }, value: { type: "bytes", id: 2 } } },
    Status: {
      fields: {
        code: { type: "int32", id: 1 },
        message: { type: "string", id: 2 },
        details: { rule: "repeated", type: "Any", id: 3 },
      },
    },
    Duration: { fields: { seconds: { type: "int64", id: 1 }, nanos: { type: "int32", id: 2 } } },
    RetryInfo: { fields: { retry_delay: { type: "Duration", id: 1 } } },
    PartialSuccess: {
      fields: { rejected_spans: { type: "int64", id: 1 }, error_message: { type: "string", id: 2 } },
    },
    Response: { fields: { partial_success: { type: "PartialSuccess", id: 1 } } },
  },
});
const [Status, RetryInfo, Response] = ["Status", "RetryInfo", "Response"].map((name) => root.lookupType(name)) as [
  protobuf.Type,
  protobuf.Type,
  protobuf.Type,
];

/** A status in protobuf. `retryAfter`, in seconds, adds a RetryInfo. */
export function encodeStatus({ code, message }: StatusMessage, retryAfter?: number): Buffer {
  const details = retryAfter === undefined ? [] : [retryInfo(retryAfter)];
  return Buffer.from(Status.encode({ code, message, details }).finish());
}

function retryInfo(seconds: number): { type_url: string; value: Uint8Array } {
  const value = RetryInfo.encode({ retry_delay: { seconds } }).finish();
  return { type_url: "type.googleapis.com/google.rpc.RetryInfo", value };
}
