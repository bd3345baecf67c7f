import type { Signal } from "../../../engine/core/push.ts";
import { type RowRules, rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { requestTypes } from "../../fuzz/otlp-reference.ts";

/** A part of a request, as OTLP/JSON spells it but for bytes, which are base64 as protobufjs takes them. */
export type Part = Readonly<Record<string, unknown>>;

const outer = {
  logs: ["resourceLogs", "scopeLogs", "logRecords"],
  traces: ["resourceSpans", "scopeSpans", "spans"],
  metrics: ["resourceMetrics", "scopeMetrics", "metrics"],
} as const;

/** A request of these items from one scope. */
export function requestOf(signal: Signal, items: readonly Part[], resource?: Part, scope?: Part): Part {
  const [resources, scopes, name] = outer[signal];
  return { [resources]: [{ resource, [scopes]: [{ scope, [name]: items }] }] };
}

/** The request in protobuf's encoding, as protobufjs writes it. */
export function wireOf(signal: Signal, request: Part): Buffer {
  const type = requestTypes[signal];
  return Buffer.from(type.encode(type.fromObject(request)).finish());
}

/** The ids that a span needs, in base64. */
export const spanIds = { traceId: "W47/95gDgQPSabYzgT/GDA==", spanId: "7uGbfsPBsXQ=" };

/** The texts of the rows of a request. */
export function rowTexts(
  signal: Signal,
  body: Buffer,
  encoding: "protobuf" | "json" = "protobuf",
  rules: RowRules = {},
): string[] {
  const { bytes, ends } = rowsOf(signal, body, encoding, 5, {}, rules);
  return ends.map((end, index) => bytes.toString("utf8", ends[index - 1] ?? 0, end));
}

/** The only row of a request of this item; a span has ids where it names none. */
export function rowOf(signal: Signal, item: Part, resource?: Part, scope?: Part): Record<string, unknown> {
  const request = requestOf(signal, [{ ...(signal === "traces" && spanIds), ...item }], resource, scope);
  const texts = rowTexts(signal, wireOf(signal, request));
  if (texts.length !== 1) throw new Error(`expected one row, found ${texts.length}`);
  return JSON.parse(texts[0]!) as Record<string, unknown>;
}
