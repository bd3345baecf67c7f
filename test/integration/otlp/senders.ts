import { once } from "node:events";
import { connect, constants } from "node:http2";
import { Client, compressionAlgorithms, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import protobuf from "protobufjs";
import type { Signal } from "../../../engine/core/push.ts";

/** What a sender heard. */
export interface Heard {
  /** The HTTP status, or the code of gRPC. */
  status: number;
  message: string;
  /** Seconds after which it should try again. */
  retryAfter: number | undefined;
}

const services: Record<Signal, string> = {
  logs: "logs.v1.LogsService",
  traces: "trace.v1.TraceService",
  metrics: "metrics.v1.MetricsService",
};

const { root } = protobuf.parse(
  `
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Duration { int64 seconds = 1; int32 nanos = 2; }
  message RetryInfo { Duration retry_delay = 1; }
`,
  { keepCase: true },
);

/** A google.rpc.Status. */
export function decodeStatus(bytes: Uint8Array): {
  code: number;
  message: string;
  details: { type_url: string; value: Uint8Array }[];
} {
  return root.lookupType("Status").decode(bytes) as never;
}

const asItIs = (bytes: Buffer): Buffer => bytes;

/** One call of gRPC after the other, on one connection. */
export class GrpcSender {
  readonly #client: Client;

  constructor(address: string, { gzip = false } = {}) {
    const compression = { "grpc.default_compression_algorithm": compressionAlgorithms.gzip };
    this.#client = new Client(address, credentials.createInsecure(), gzip ? compression : {});
  }

  /** Sends the bytes of a request. */
  async send(signal: Signal, headers: Record<string, string>, body: Buffer): Promise<Heard> {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const path = `/opentelemetry.proto.collector.${services[signal]}/Export`;
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(path, asItIs, asItIs, body, metadata, (error, answer) => {
        if (error !== null) resolve(heardIn(error));
        else resolve({ status: 0, message: answer!.toString("hex"), retryAfter: undefined });
      });
    });
  }

  close(): void {
    this.#client.close();
  }
}

function heardIn({ code, details, metadata }: ServiceError): Heard {
  const [status] = metadata.get("grpc-status-details-bin");
  return {
    status: code,
    message: details,
    retryAfter: status === undefined ? undefined : retryDelay(status as Buffer),
  };
}

function retryDelay(bytes: Buffer): number | undefined {
  const [info] = decodeStatus(bytes).details;
  if (info?.type_url !== "type.googleapis.com/google.rpc.RetryInfo") return undefined;
  const { retry_delay } = root.lookupType("RetryInfo").decode(info.value) as never as {
    retry_delay: { seconds: unknown };
  };
  return Number(retry_delay.seconds);
}

/** Sends a message that says of itself that it is compressed, as no client would; the status of the call. */
export function sendPacked(address: string, headers: Record<string, string>, bytes: Buffer): Promise<number> {
  return sendRaw(address, headers, bytes, { isPacked: true });
}

/** Sends a message without a client, which would end the call at its deadline; the status of the call. */
export async function sendRaw(
  address: string,
  headers: Record<string, string>,
  bytes: Buffer,
  { isPacked = false, isCut = false } = {},
): Promise<number> {
  const session = connect(`http://${address}`);
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  const head = Buffer.from([isPacked ? 1 : 0, 0, 0, 0, 0]);
  head.writeUInt32BE(bytes.length + Number(isCut), 1);
  // One that is cut off lacks its last byte.
  if (isCut) stream.write(Buffer.concat([head, bytes]));
  else stream.end(Buffer.concat([head, bytes]));
  const [answer] = (await once(stream, "response")) as [Record<string, string>];
  stream.resume();
  session.close();
  return Number(answer["grpc-status"]);
}

/** Posts a request over HTTP. */
export async function post(
  url: string,
  signal: Signal,
  headers: Record<string, string>,
  body: Buffer,
): Promise<Heard & { type: string | null; body: Buffer }> {
  const response = await fetch(`${url}/v1/${signal}`, { method: "POST", headers, body: new Uint8Array(body) });
  const answer = Buffer.from(await response.arrayBuffer());
  const retryAfter = response.headers.get("retry-after");
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    body: answer,
    message: answer.toString("utf8"),
    retryAfter: retryAfter === null ? undefined : Number(retryAfter),
  };
}

export const protobufType = { "content-type": "application/x-protobuf" };
export const jsonType = { "content-type": "application/json" };

/** A request of so many log records with nothing in them. */
export function logs(count: number): Buffer {
  const records = Buffer.concat(Array.from({ length: count }, () => Buffer.from([0x12, 0x00])));
  return field(1, field(2, records));
}

/** The same in OTLP/JSON. */
export function logsInJson(count: number): Buffer {
  const logRecords = Array.from({ length: count }, () => ({}));
  return Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

/** A field of protobuf that holds bytes. */
function field(number: number, bytes: Buffer): Buffer {
  const head = protobuf.Writer.create()
    .uint32((number << 3) | 2)
    .uint32(bytes.length)
    .finish();
  return Buffer.concat([head, bytes]);
}
