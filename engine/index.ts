/**
 * The public interface of the engine: other layers import only from here and from `language.ts`.
 *
 *     source ──> declared fields ─> filter ─> dedup ─> stateless ──> sink (ClickHouse)
 *       │  acknowledged only after the sink wrote   └──> dead letters
 *       ├─ Kafka: its log is the queue; after a crash the same events are read from it again
 *       └─ OTLP, webhook: stored in a durable stream before the sender gets its answer
 *
 * The engine knows nothing of Git.
 */
export { Engine } from "./engine.ts";
export type { EngineSettings } from "./settings.ts";
export { EngineError, policies, type ErrorCode, type Policy } from "./core/errors.ts";
export {
  mostLetters,
  type Component,
  type DeadLetter,
  type DeadLetterPage,
  type DeadLetterQueue,
  type DeadLetterState,
  type Discarded,
  type LetterFilter,
  type Rejection,
  type Selection,
} from "./core/dead-letter.ts";
export type { Reprocessed } from "./catalog/reprocess.ts";
export type { SampledEvent, SourceSample } from "./event/newest-events.ts";
export type { StreamState } from "./core/stream.ts";
export { isAtRest, requested, shouldRun, transitions, type Request } from "./core/lifecycle.ts";
export type { RewindPlan } from "./core/positions.ts";
export type { Readiness, TableOrder } from "./core/readiness.ts";
export type { PipelineHealth, PipelineView, Status } from "./core/pipeline-view.ts";
export { zeroCounters, type PartitionLag, type PipelineCounters } from "./core/counters.ts";
export type { Pause } from "./core/pause.ts";
export { fewestCharacters, type ReadSecrets } from "./catalog/secrets.ts";
export type { SecretSource, SecretUse, StaleSecrets } from "./catalog/secrets.ts";
export type { TokenView } from "./catalog/access-tokens.ts";
export type { Log } from "./telemetry/log.ts";
export { consumerGroup } from "./core/names.ts";
export { defaultKafkaSettings, type KafkaSettings } from "./sources/kafka/brokers/settings.ts";
export { GatheredEvents } from "./telemetry/gathered.ts";
export { type RefusalReason, type RefusedSenders } from "./core/refusals.ts";
export type { OtlpSettings } from "./sources/otlp/receiver/settings.ts";
export type { EngineOptions, PipelineConfig } from "../schemas/pipeline.ts";
export { writeFileDurably } from "./state/durable-files.ts";
export { BodyRefused, discardBody, readBody, receiveBody, type BodyLimits } from "./http/request-body.ts";
export { closesConnection, isUnwelcome, lingers, type HttpRefusal } from "./http/refusal.ts";
export { isSecretOf, secretDigest } from "./http/secret-digest.ts";
export { unobserved, type BeginRequest, type RequestProgress } from "./http/request-progress.ts";
export { problemOfTargets, type TargetRules } from "./peers/targets.ts";
export { BoundedThread, type CallLimits } from "./system/bounded-thread.ts";
export { entryPoint } from "./system/entry-point.ts";
export { silent } from "./telemetry/log.ts";
export { listenPrivately, shortSocketPath } from "./system/unix-socket.ts";
/** Loads what runs pipelines on given events in this thread, which the threads of a daemon do without. */
export const trialThreads = async () => new (await import("./trial/trial-threads.ts")).TrialThreads();
export { Room } from "./flow/room.ts";
export { sleep } from "./flow/sleep.ts";
