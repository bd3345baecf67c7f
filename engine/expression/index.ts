/**
 * The door of the expression language: text -> tokens -> tree -> checked against the schema -> closures -> a value.
 */
export { ExpressionError } from "./errors.ts";
export { compileFilter } from "./filter.ts";
export type { Filter } from "./filter.ts";
export { compileTransforms } from "./stateless.ts";
export type { TransformExpression, Transforms } from "./stateless.ts";
