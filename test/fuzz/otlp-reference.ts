import protobuf from "protobufjs";
import type { Signal } from "../../engine/core/push.ts";
import { protoRoot } from "../../engine/sources/otlp/proto/messages-text.ts";
import { flatten } from "./otlp-flatten.ts";

/** What protobufjs decodes: its fields by their names in lower camel case. */
export type Decoded = Readonly<Record<string, unknown>>;

const root = await protoRoot();
// What no row carries is not read: malformed or not, it is skipped.
for (const [type, field] of [
  ["metrics.v1.Metric", "metadata"],
  ["metrics.v1.NumberDataPoint", "exemplars"],
  ["metrics.v1.HistogramDataPoint", "exemplars"],
  ["metrics.v1.ExponentialHistogramDataPoint", "exemplars"],
] as const) {
  const message = root.lookupType(`opentelemetry.proto.${type}`);
  message.remove(message.fields[field]!);
}
// Text that is no UTF-8 is taken, and its bytes stay in the row, which reads as U+FFFD; protobufjs would refuse the request.
type TextReader = { string(): string; stringVerify(): string };
const reader = protobuf.BufferReader.prototype as unknown as TextReader;
reader.stringVerify = function stringVerify(this: TextReader) {
  return this.string();
};

export const requestTypes: Readonly<Record<Signal, protobuf.Type>> = {
  logs: root.lookupType("opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest"),
  traces: root.lookupType("opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest"),
  metrics: root.lookupType("opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest"),
};

/** The rows of a request, made by decoding it with protobufjs; undefined where that refuses it. */
export function referenceRows(signal: Signal, body: Buffer, isKept = false): unknown[] | undefined {
  let decoded: protobuf.Message;
  try {
    decoded = requestTypes[signal].decode(body);
  } catch {
    return undefined;
  }
  return flatten(signal, decoded as unknown as Decoded, isKept);
}
