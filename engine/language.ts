/**
 * The part of the engine's public interface that does no input or output. It compiles expressions, reads column types
 * and endpoints, lists the kinds of sources, and parses JSON without a loss of digits; mutexes, back-off, time limits, how a thread answers calls, and what hides secrets are here
 * too. It imports no module that does input or output, so that `validate` and `migrate` load no store and no client of Kafka, gRPC or
 * ClickHouse.
 */
export {
  checkTransforms,
  CompileBudget,
  CompileBudgetExceeded,
  compileFilter,
  compileTransforms,
  ExpressionError,
  freeNames,
  MisspeltField,
} from "./expression/index.ts";
export type { FreeName, TransformExpression } from "./expression/index.ts";
export { parseColumnType, isProblem } from "./sinks/clickhouse/columns/column-grammar.ts";
export { geometries } from "./sinks/clickhouse/columns/geometries.ts";
export { canFeed } from "./sinks/clickhouse/columns/feeding.ts";
export { storesNull } from "./sinks/clickhouse/columns/nulls.ts";
export { EngineError } from "./core/errors.ts";
export { isAtRest } from "./core/lifecycle.ts";
export { consumerGroup } from "./core/names.ts";
export type { SourceKind } from "./core/source-kind.ts";
export { hasAccessToken, hasConsumerGroup, isPushed, originOf, sourceKinds } from "./sources/registry.ts";
export { requestOfRow } from "./sources/otlp/json/request-of-row.ts";
export { addingColumns, configuredTypes, creating } from "./sinks/clickhouse/target/statements.ts";
export { endpointOf } from "./sinks/clickhouse/transport/endpoint.ts";
export { backOff, jitter } from "./flow/back-off.ts";
export { type Group, GroupCommit } from "./flow/group-commit.ts";
export { Mutex } from "./flow/mutex.ts";
export { isOutOfTime, withTimeLimit } from "./flow/time-limit.ts";
export { type HostPattern, matchesHost, readHostPattern } from "./peers/host-pattern.ts";
export { matches } from "./peers/wildcards.ts";
export type { SecretUse } from "./catalog/secrets.ts";
export { foreignText, oneLine } from "./peers/foreign-text.ts";
export { hiding } from "./peers/hidden-secrets.ts";
export { serve } from "./system/serve.ts";
export { isObject } from "./event/objects.ts";
export { parseExactly, writeExactly } from "./event/exact-json.ts";
