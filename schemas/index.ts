/** The language: what a pipeline file may say, and the one canonical form of what it says. */
export { canonicalDuration, durationMs, parseDuration, printDuration } from "./duration.ts";
export { effects, highest, type Effect } from "./effect-class.ts";
export { effectOf, isSecret, type Path } from "./effects.ts";
export { defaultOptions, engineOptions } from "./engine-options.ts";
export { basicType } from "./field-type.ts";
export { normalise } from "./normalise.ts";
export { otlpField, otlpFields } from "./otlp-fields.ts";
export { canonicalCpu, canonicalSize, parseQuantity, quantityBytes } from "./quantity.ts";
export { schemaErrors, v3Keys, type SchemaError } from "./schema.ts";
export { tidy } from "./tidy.ts";
export type { PipelineV3, SluiceDirectives } from "./pipeline-v3.d.ts";
export type {
  ComponentResources,
  EngineOptions,
  FieldType,
  JoinConfig,
  KafkaSourceConfig,
  Mapping,
  OtlpSourceConfig,
  PipelineConfig,
  ResourcesConfig,
  SchemaField,
  SinkConfig,
  SinkConnection,
  SourceConfig,
  TransformConfig,
  WebhookSourceConfig,
} from "./pipeline.ts";
