/**
 * The machine, and the only file that others import from here.
 *
 *     source ──> declared fields ─> filter ─> dedup ─> stateless ──> sink (ClickHouse)
 *       │  acknowledged only after the sink wrote   └──> dead letters
 *       ├─ Kafka: its log is the queue; read again from there, after a crash, exactly what was read
 *       └─ OTLP, webhook: stored in a durable stream before the sender gets its answer
 *
 * The engine has never heard of Git.
 */
export { Engine } from "./engine.ts";
export type { EngineSettings } from "./stores.ts";
export { EngineError, policies, type ErrorCode, type Policy } from "./core/errors.ts";
export type {
  Component,
  DeadLetter,
  DeadLetterPage,
  DeadLetterQueue,
  DeadLetterState,
  Discarded,
  Rejection,
  Selection,
} from "./core/dead-letter.ts";
export { mostLetters } from "./core/dead-letter.ts";
export type { Reprocessed } from "./catalog/reprocess.ts";
export type { StreamState } from "./core/stream.ts";
export { isAtRest, requested, shouldRun, transitions, type Request, type Status } from "./core/lifecycle.ts";
export type { Pause, PipelineCounters, PipelineHealth, PipelineView } from "./core/view.ts";
export type { SecretSource } from "./catalog/secrets.ts";
export type { StaleSecrets } from "./catalog/secrets.ts";
export type { TokenView } from "./catalog/access-tokens.ts";
export type { Log } from "./telemetry/log.ts";
export { zeroCounters } from "./telemetry/counters.ts";
export { consumerGroup } from "./core/names.ts";
export { defaultKafkaSettings, type KafkaSettings } from "./sources/kafka/settings.ts";
export { defaultOtlpSettings, type OtlpSettings } from "./sources/otlp/receiver/settings.ts";
export type { EngineOptions, PipelineConfig } from "../schemas/pipeline.ts";
export { parseExactly, writeExactly } from "./event/exact-json.ts";
export { writeFileDurably } from "./state/durable-file.ts";
export { compileFilter, compileTransforms, ExpressionError, freeNames, outputTypes } from "./expression/index.ts";
export type { Filter, FreeName, TransformExpression, Transforms } from "./expression/index.ts";
export { parseColumnType, isProblem } from "./sinks/clickhouse/column-grammar.ts";
export { canFeed } from "./sinks/clickhouse/feeding.ts";
export { endpointOf } from "./sinks/clickhouse/endpoint.ts";
export { BodyRefused, discardBody, readBody, type BodyLimits } from "./system/http-body.ts";
export { Room } from "./flow/room.ts";
export { sleep } from "./flow/sleep.ts";
