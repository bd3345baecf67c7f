import { Metadata } from "@grpc/grpc-js";
import { OTLPLogExporter as GrpcLogs } from "@opentelemetry/exporter-logs-otlp-grpc";
import { OTLPLogExporter as JsonLogs } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtobufLogs } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPMetricExporter as GrpcMetrics } from "@opentelemetry/exporter-metrics-otlp-grpc";
import { OTLPMetricExporter as JsonMetrics } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufMetrics } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as GrpcTraces } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as JsonTraces } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufTraces } from "@opentelemetry/exporter-trace-otlp-proto";
import type { ReadableLogRecord } from "@opentelemetry/sdk-logs";
import type { ResourceMetrics } from "@opentelemetry/sdk-metrics";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import type { Signal } from "../../../engine/core/push.ts";
import type { Listeners } from "./listeners.ts";

/** What the SDK recorded, in the form in which its exporters take it. */
export interface Recorded {
  logs: ReadableLogRecord[];
  traces: ReadableSpan[];
  metrics: ResourceMetrics;
}

export type Way = "gRPC" | "HTTP/protobuf" | "HTTP/JSON";

interface Exporter<Items> {
  export(items: Items, done: (result: { code: number; error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

/** A program's own exporter, and what it is told of its exports. */
export class ExporterOf<S extends Signal> {
  readonly #exporter: Exporter<Recorded[S]>;

  constructor(
    signal: S,
    way: Way,
    { listeners, ...options }: { listeners: Pick<Listeners, "http" | "grpc">; gzip: boolean; pipeline_id: string },
  ) {
    this.#exporter = exporters[signal][way](configOf(signal, way, listeners, options)) as Exporter<Recorded[S]>;
  }

  /** Resolves when the receiver has taken them; rejects with what it was told instead. */
  export(items: Recorded[S]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#exporter.export(items, ({ code, error }) => (code === 0 ? resolve() : reject(error!)));
    });
  }

  close(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

/** Exporters for gRPC take metadata, those for HTTP headers. */
interface Config {
  url: string;
  compression: string;
  metadata?: Metadata;
  headers?: Record<string, string>;
}

const exporters: Record<Signal, Record<Way, (config: Config) => object>> = {
  logs: {
    gRPC: (config) => new GrpcLogs(config as never),
    "HTTP/protobuf": (config) => new ProtobufLogs(config as never),
    "HTTP/JSON": (config) => new JsonLogs(config as never),
  },
  traces: {
    gRPC: (config) => new GrpcTraces(config as never),
    "HTTP/protobuf": (config) => new ProtobufTraces(config as never),
    "HTTP/JSON": (config) => new JsonTraces(config as never),
  },
  metrics: {
    gRPC: (config) => new GrpcMetrics(config as never),
    "HTTP/protobuf": (config) => new ProtobufMetrics(config as never),
    "HTTP/JSON": (config) => new JsonMetrics(config as never),
  },
};

function configOf(
  signal: Signal,
  way: Way,
  listeners: Pick<Listeners, "http" | "grpc">,
  { gzip, pipeline_id }: { gzip: boolean; pipeline_id: string },
): Config {
  const header = "x-sluice-pipeline-id";
  const compression = gzip ? "gzip" : "none";
  if (way !== "gRPC") return { url: `${listeners.http}/v1/${signal}`, headers: { [header]: pipeline_id }, compression };
  const metadata = new Metadata();
  metadata.set(header, pipeline_id);
  return { url: `http://${listeners.grpc}`, metadata, compression };
}
