/** The language: the format of pipeline files, and their canonical form. */
export { canonicalBroker, readBrokerAddress } from "./addresses/broker-address.ts";
export { readHost, withoutRoot } from "./addresses/host.ts";
export { type Server, serversGetting, serversOf, serverText } from "./servers.ts";
export { canonicalDuration, durationMs, parseDuration, printDuration, shortDuration } from "./duration.ts";
export { dedupFields } from "./dedup-key.ts";
export { effects, eventEffects, highest, highestEvents, type Effect, type EventEffect } from "./annotations.ts";
export { effectOf, eventsOf, fieldNames, isSecret, typesAt, type Path } from "./annotations.ts";
export {
  readReference,
  type SecretReference,
  referencesIn,
  replacingTexts,
  secretFields,
  secretTexts,
} from "./secret-fields.ts";
export { canonicalRewind, defaultOptions, engineOptions, readRewind, type RewindTo } from "./pipeline.ts";
export { basicType } from "./pipeline.ts";
export { documentOf, normalise } from "./normalise.ts";
export { hasResources } from "./normalise-resources.ts";
export { otlpField, otlpFields } from "./otlp-fields.ts";
export { canonicalCpu, canonicalSize, parseQuantity, quantityBytes } from "./quantity.ts";
export { editorSchema, editorSchemaOfTests } from "./editor-schema.ts";
export {
  testErrors,
  type PipelineTests,
  type PipelineTest,
  type GivenEvent,
  type Expectation,
} from "./pipeline-tests.ts";
export { schemaErrors, sourceTypes, sourceTypesWith, transformTypes, v3Keys, type SchemaError } from "./schema.ts";
export { tidy } from "./normalise.ts";
export { isObject } from "./zero-values.ts";
export type { PipelineV3, SluiceDirectives } from "./pipeline-v3.d.ts";
export type {
  ComponentResources,
  DedupKey,
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
