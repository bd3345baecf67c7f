import { otlpFields } from "../../../schemas/otlp-fields.ts";
import type { OtlpSourceConfig } from "../../../schemas/pipeline.ts";
import type { SourceKind } from "../../core/source-kind.ts";
import type { FedField } from "../../core/transform.ts";
import { isUnrecorded, valueFields } from "./unrecorded.ts";

const values = new Set(Object.values(valueFields).flat());
const metricFields = otlpFields["otlp.metrics"].map((field): FedField => {
  return values.has(field.name) ? { ...field, isUnrecorded } : field;
});

/** Telemetry that exporters push over gRPC and HTTP: a source for each signal. */
export const otlp = {
  types: ["otlp.logs", "otlp.traces", "otlp.metrics"],
  receiver: "otlp-receiver",
  isPushed: true,
  hasAccessToken: false,
  hasConsumerGroup: false,
  origin: {
    name: "signal",
    key: "type",
    mayChange: false,
    of: ({ type }) => type.slice("otlp.".length),
    ofFeed: () => undefined,
  },
  fieldsOf: ({ type }) => (type === "otlp.metrics" ? metricFields : otlpFields[type]),
  // The receiver makes its rows; fields may be absent or null.
  declaredFieldsOf: () => [],
  obstacleOf: () => undefined,
} as const satisfies SourceKind<OtlpSourceConfig>;
