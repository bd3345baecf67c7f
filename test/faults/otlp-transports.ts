import { Agent, request } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Client, compressionAlgorithms, credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import { protobufType } from "../integration/otlp/senders.ts";

/**
 * What became of a request: stored; surely not stored, and to be sent again; stored or not, as the process ended first;
 * or an answer that no good request may get.
 */
export type Answer = "acknowledged" | "refused" | "unclear" | { wrong: string };

/** One connection of an exporter; it is made anew where it broke. */
export interface OtlpTransport {
  send(body: Buffer): Promise<Answer>;
  close(): void;
}

const packed = promisify(gzip);
/** An answer that is not there after so long never comes, in milliseconds. */
const patience = 30_000;

/** `url` as `http://HOST:PORT`. */
export function overHttp(url: string, pipeline_id: string, isPacked: boolean): OtlpTransport {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const encoding = isPacked ? { "content-encoding": "gzip" } : {};
  const headers = { ...protobufType, ...encoding, "x-sluice-pipeline-id": pipeline_id };
  const options = { method: "POST", agent, headers, timeout: patience };
  const send = async (body: Buffer): Promise<Answer> => {
    const bytes = isPacked ? await packed(body) : body;
    return new Promise((resolve) => {
      const sent = request(`${url}/v1/logs`, options, (response) => {
        const answer = answerOfHttp(response.statusCode!);
        response.on("error", () => resolve(answer));
        response.resume().on("close", () => resolve(answer));
      });
      sent.on("timeout", () => sent.destroy());
      sent.on("error", (error: NodeJS.ErrnoException) =>
        resolve(error.code === "ECONNREFUSED" ? "refused" : "unclear"),
      );
      sent.end(bytes);
    });
  };
  return { send, close: () => agent.destroy() };
}

function answerOfHttp(code: number): Answer {
  if (code === 200) return "acknowledged";
  return code === 429 || code === 503 ? "refused" : { wrong: `HTTP ${code}` };
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}

/** `address` as `HOST:PORT`. */
export function overGrpc(address: string, pipeline_id: string, isPacked: boolean): OtlpTransport {
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.initial_reconnect_backoff_ms": 50,
    "grpc.max_reconnect_backoff_ms": 200,
    // Else clients of one address share a connection.
    "grpc.use_local_subchannel_pool": 1,
    ...(isPacked ? { "grpc.default_compression_algorithm": compressionAlgorithms.gzip } : {}),
  });
  const metadata = new Metadata();
  metadata.set("x-sluice-pipeline-id", pipeline_id);
  const path = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
  const send = (body: Buffer): Promise<Answer> =>
    new Promise((resolve) => {
      const options = { deadline: Date.now() + patience };
      client.makeUnaryRequest(path, asItIs, asItIs, body, metadata, options, (error) => {
        resolve(error === null ? "acknowledged" : answerOfGrpc(error));
      });
    });
  return { send, close: () => client.close() };
}

function answerOfGrpc({ code, details }: ServiceError): Answer {
  if (code === status.RESOURCE_EXHAUSTED || details.startsWith("No connection established")) return "refused";
  // Of a connection that broke; the same code from the server says that nothing is stored, which is no harm here.
  if (code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED) return "unclear";
  return { wrong: `gRPC ${code}: ${details}` };
}
