/**
 * The second door of the engine: the language of pipelines as far as it is pure. It compiles expressions, reads column
 * types and endpoints, and parses JSON without a loss of digits; it also has the control of flow that needs no engine.
 * Nothing here does input or output or imports a module that does, so that whoever checks or converts files loads neither
 * stores nor clients of Kafka, gRPC or ClickHouse.
 */
export { compileFilter, compileTransforms, ExpressionError, freeNames } from "./expression/index.ts";
export type { FreeName, TransformExpression } from "./expression/index.ts";
export { parseColumnType, isProblem } from "./sinks/clickhouse/columns/column-grammar.ts";
export { canFeed } from "./sinks/clickhouse/columns/feeding.ts";
export { endpointOf } from "./sinks/clickhouse/transport/endpoint.ts";
export { backOff, jitter } from "./flow/back-off.ts";
export { type Group, GroupCommit } from "./flow/group-commit.ts";
export { Mutex } from "./flow/mutex.ts";
export { parseExactly, writeExactly } from "./event/exact-json.ts";
