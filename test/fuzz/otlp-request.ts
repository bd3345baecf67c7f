import type { Signal } from "../../engine/core/push.ts";
import type { Random } from "../support/random.ts";
import { exportPath, type RawCall } from "./otlp-raw-grpc.ts";
import type { RawHttp } from "./otlp-raw-http.ts";

/** A request and the answer that it must get, which is known by how it was made. */
export interface RequestCase {
  title: string;
  http?: RawHttp;
  grpc?: RawCall;
  /** The HTTP status, or the code of gRPC; else in words how the transport ends it. */
  expected: number | string;
  /** What is stored of it. */
  stored?: { signal: Signal; rows: number; letters: number };
}

/** Makes a request by chance. */
export type MakeCase = (random: Random) => RequestCase;

/** The codes of gRPC that are expected. */
export const codes = {
  ok: 0,
  invalid: 3,
  late: 4,
  notFound: 5,
  exhausted: 8,
  unimplemented: 12,
  internal: 13,
} as const;

export function pipelineOf(signal: Signal): string {
  return `fuzz-${signal}`;
}

export type Headers = Readonly<Record<string, string>>;
export const types = { protobuf: "application/x-protobuf", json: "application/json" };

export function naming(signal: Signal): Headers {
  return { "x-sluice-pipeline-id": pipelineOf(signal) };
}

/** A request over HTTP with these headers, and the length of the body unless they say something of it. */
export function over(signal: Signal, headers: Headers, body: Buffer, more: Partial<RawHttp> = {}): RawHttp {
  const isFramed = "content-length" in headers || "transfer-encoding" in headers;
  const length = isFramed ? [] : [["content-length", String(body.length)] as const];
  return { method: "POST", path: `/v1/${signal}`, headers: [...Object.entries(headers), ...length], body, ...more };
}

export function called(signal: Signal, headers: Headers, frames: Buffer): RawCall {
  return { path: exportPath(signal), headers: { ...naming(signal), ...headers }, frames };
}
