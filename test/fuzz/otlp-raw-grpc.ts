import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2";
import type { Signal } from "../../engine/core/push.ts";
import { patience, type RawAnswer } from "./otlp-raw-http.ts";

/** A call of gRPC, byte by byte. */
export interface RawCall {
  path: string;
  /** Instead of or besides those of every call. */
  headers: Readonly<Record<string, string>>;
  /** All frames of the call, whatever they say of their lengths. */
  frames: Buffer;
  /** The sender neither sends more nor ends, or cancels the call behind that. */
  ending?: "stalled" | "cancelled";
}

const services: Readonly<Record<Signal, string>> = {
  logs: "logs.v1.LogsService",
  traces: "trace.v1.TraceService",
  metrics: "metrics.v1.MetricsService",
};

export function exportPath(signal: Signal): string {
  return `/opentelemetry.proto.collector.${services[signal]}/Export`;
}

/** A message in its frame; `length` is what the frame says of it. */
export function frameOf(message: Buffer, { isPacked = false, length = message.length } = {}): Buffer {
  const head = Buffer.from([isPacked ? 1 : 0, 0, 0, 0, 0]);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** Makes one call after the other on a connection; a new one where that broke. */
export class RawGrpc {
  readonly #address: string;
  #session: ClientHttp2Session | undefined;

  constructor(address: string) {
    this.#address = address;
  }

  /** Resolves with the code of gRPC; else with the HTTP status, or how the call ended, in words. Never rejects. */
  async send({ path, headers, frames, ending }: RawCall): Promise<RawAnswer> {
    const session = this.#connected();
    const fixed = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
    return new Promise((resolve) => {
      const stream = session.request({ ...fixed, ...headers, ":path": path });
      let heard: IncomingHttpHeaders = {};
      stream.on("response", (answer) => (heard = { ...heard, ...answer }));
      stream.on("trailers", (trailers) => (heard = { ...heard, ...trailers }));
      stream.on("error", () => undefined);
      // The server may have said all before the call was sent to its end.
      stream.on("end", () => stream.close());
      stream.on("close", () => resolve(answerOf(heard, stream)));
      stream.setTimeout(patience, () => stream.destroy());
      stream.resume();
      if (ending === undefined) stream.end(frames);
      else stream.write(frames, () => ending === "cancelled" && stream.close(constants.NGHTTP2_CANCEL));
    });
  }

  close(): void {
    this.#session?.destroy();
  }

  #connected(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = connect(`http://${this.#address}`);
      this.#session.on("error", () => undefined);
    }
    return this.#session;
  }
}

function answerOf(heard: IncomingHttpHeaders, { rstCode }: ClientHttp2Stream): RawAnswer {
  const code = heard["grpc-status"];
  const message = decodeURIComponent(String(heard["grpc-message"] ?? ""));
  if (code !== undefined) return { status: Number(code), message };
  const http = heard[":status"];
  return { status: http === undefined ? `reset ${rstCode}` : `HTTP ${String(http)}`, message };
}
