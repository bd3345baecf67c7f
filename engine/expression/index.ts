/**
 * The expression language of filters and stateless transforms. Its page for users is `docs/reference/expressions.md`.
 *
 *     text ──lexer──> tokens ──parser──> tree ──check──> types ──compile──> closures ──frame──> value
 *
 * - `syntax/` reads: `ast.ts` names the nodes, `operators.ts` is the one table of precedence.
 * - `check/` finds errors that do not depend on the record.
 * - `compile/` makes closures, which run on one frame.
 * - `values/` is what an expression computes with: kinds, arithmetic, comparison, times, texts, and the budget of a run.
 * - `functions/` has a table for each family: the builtins, which filters know, and the helpers, which only stateless
 *   transforms know besides. `catalog.ts` says what a function is.
 * - `reference/` writes the page for users from these tables.
 */
export { ExpressionError, MisspeltField } from "./syntax/errors.ts";
export type { Phase } from "./syntax/errors.ts";
export { compileFilter } from "./filter.ts";
export type { Filter } from "./filter.ts";
export { freeNames, namesRead } from "./syntax/free-names.ts";
export type { FreeName } from "./syntax/free-names.ts";
export { outputTypes } from "./output-types.ts";
export { checkTransforms, compileTransforms } from "./stateless.ts";
export { CompileBudget, CompileBudgetExceeded } from "./values/compile-budget.ts";
export type { TransformExpression, Transforms } from "./stateless.ts";
