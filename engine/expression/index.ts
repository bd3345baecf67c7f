/**
 * The expression language of filters and stateless transforms (specification, expressions).
 *
 *     text ──lexer──> tokens ──parser──> tree ──check──> types ──compile──> closures ──frame──> value
 *
 * `ast.ts` names the nodes and `operators.ts` is the one table of precedence; `values.ts` says what an expression
 * computes with, `budget.ts` what it may use, `catalog.ts` what a function is. `functions/` holds a table per family:
 * the builtins, which filters know, and the helpers, which only stateless transforms know besides.
 */
export { ExpressionError } from "./syntax/errors.ts";
export type { Phase } from "./syntax/errors.ts";
export { compileFilter } from "./filter.ts";
export type { Filter } from "./filter.ts";
export { freeNames, namesRead } from "./syntax/free-names.ts";
export type { FreeName } from "./syntax/free-names.ts";
export { outputTypes } from "./output-types.ts";
export { compileTransforms } from "./stateless.ts";
export type { TransformExpression, Transforms } from "./stateless.ts";
