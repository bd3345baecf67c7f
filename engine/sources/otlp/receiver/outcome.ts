import { status } from "@grpc/grpc-js";
import { EngineError } from "../../../core/errors.ts";
import { MalformedRequest, OversizedRequest } from "../protobuf/wire.ts";
import protobuf from "protobufjs/light.js";

/** How each outcome is answered over each transport. */
interface Answer {
  /** The HTTP status. */
  http: number;
  /** The code of gRPC, and of the google.rpc.Status in the body of an HTTP error. */
  grpc: status;
  /** Seconds after which a sender should try again; absent where the same request can never be taken. */
  retryAfter?: number;
}

/**
 * The outcome table (docs/sources/otlp.md, Answers). Exporters repeat a request after 429 and 503, and after UNAVAILABLE
 * and DEADLINE_EXCEEDED, and after RESOURCE_EXHAUSTED where a wait is named; after anything else they drop it. Everything but
 * `stored` was not stored. The names are labels of a metric.
 */
export const answers = {
  stored: { http: 200, grpc: status.OK },
  no_header: { http: 400, grpc: status.INVALID_ARGUMENT },
  unknown_pipeline: { http: 404, grpc: status.NOT_FOUND },
  other_signal: { http: 400, grpc: status.INVALID_ARGUMENT },
  /** Terminated, about to be deleted or made anew. */
  over: { http: 409, grpc: status.FAILED_PRECONDITION },
  malformed: { http: 400, grpc: status.INVALID_ARGUMENT },
  other_encoding: { http: 415, grpc: status.UNIMPLEMENTED },
  /** The body, after decompression. */
  too_large: { http: 413, grpc: status.RESOURCE_EXHAUSTED },
  /** Its rows are more than a stream, or the memory for one request, can ever hold. */
  never_fits: { http: 413, grpc: status.INVALID_ARGUMENT },
  busy: { http: 429, grpc: status.RESOURCE_EXHAUSTED, retryAfter: 1 },
  stream_full: { http: 429, grpc: status.RESOURCE_EXHAUSTED, retryAfter: 1 },
  storage: { http: 503, grpc: status.UNAVAILABLE, retryAfter: 5 },
  slow: { http: 408, grpc: status.DEADLINE_EXCEEDED },
  broken_off: { http: 400, grpc: status.CANCELLED },
  failed: { http: 500, grpc: status.INTERNAL },
} as const satisfies Record<string, Answer>;

export type OutcomeKind = keyof typeof answers;

/** What became of a request, in the same words for both transports. */
export interface Outcome {
  kind: OutcomeKind;
  /** A sentence for the sender; empty where the request was stored. */
  message: string;
}

export const stored: Outcome = { kind: "stored", message: "" };

export function answerTo({ kind }: Outcome): Answer {
  return answers[kind];
}

/** Letters of a message at the most: it may quote what was sent. */
const longestMessage = 300;

export function refusal(kind: Exclude<OutcomeKind, "stored">, message: string): Outcome {
  // Half a character would be no text, which neither transport can carry.
  return { kind, message: Buffer.from(message.slice(0, longestMessage)).toString("utf8") };
}

/** Ends the reading of a request whose outcome is known. */
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
  if (error instanceof OversizedRequest) return refusal("never_fits", error.message);
  if (error instanceof MalformedRequest) return refusal("malformed", error.message);
  if (!(error instanceof EngineError)) return refusal("failed", "Internal server error");
  switch (error.code) {
    case "STREAM_FULL":
      return refusal("stream_full", error.message);
    case "STREAM_CLOSED":
      return refusal("over", error.message);
    case "PUSH_TOO_LARGE":
      return refusal("never_fits", error.message);
    default:
      return refusal("storage", error.message);
  }
}

/** What an answer says beyond its status: google.rpc.Status, as both transports carry it. */
interface StatusMessage {
  /** A code of gRPC. */
  code: number;
  message: string;
}

/** The two messages of google.rpc that are sent, and what they are made of. */
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
  },
});
const [Status, RetryInfo] = [root.lookupType("Status"), root.lookupType("RetryInfo")];

/** A status in protobuf. With `retryAfter`, in seconds, it says in a RetryInfo when the sender should try again. */
export function encodeStatus({ code, message }: StatusMessage, retryAfter?: number): Buffer {
  const details = retryAfter === undefined ? [] : [retryInfo(retryAfter)];
  return Buffer.from(Status.encode({ code, message, details }).finish());
}

function retryInfo(seconds: number): { type_url: string; value: Uint8Array } {
  const value = RetryInfo.encode({ retry_delay: { seconds } }).finish();
  return { type_url: "type.googleapis.com/google.rpc.RetryInfo", value };
}
