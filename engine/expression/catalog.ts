import type { Fail } from "./arithmetic.ts";
import type { Budget } from "./budget.ts";
import type { Type } from "./types.ts";

/** What a function may use besides its arguments. One object per call in the text of an expression. */
export interface Call {
  readonly fail: Fail;
  readonly budget: Budget;
  /** The time of the batch, in milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * What a parameter takes; anything else is an error before the function runs, at the check where the type is known.
 * `position` is an integer, or a float that is cut to one; `sized` has a length; `zone` is a time zone. The check alone
 * looks at `items` and `numbers`: at run time their functions take what comes, and say themselves what they cannot use.
 */
export type Parameter =
  | "any"
  | "string"
  | "number"
  | "int"
  | "position"
  | "array"
  | "map"
  | "sized"
  | "convertible"
  | "container"
  | "items"
  | "numbers"
  | "zone";

/** A builtin or helper: one row of a table. */
export interface FunctionDefinition {
  /** The parameters that must be given, then the ones that may be. */
  readonly takes: readonly Parameter[];
  /** How many of `takes` may be left out. */
  readonly optional?: number;
  /** Further arguments, any number. */
  readonly rest?: Parameter;
  /** The type of the result, as far as it is known before the run. */
  readonly gives: Type | ((args: readonly Type[]) => Type);
  /** Arguments that were not given are undefined. nil is null. */
  readonly run: (call: Call, ...args: unknown[]) => unknown;
}

/** Functions by name. */
export type Catalog = ReadonlyMap<string, FunctionDefinition>;

/** A table of functions with the same rules for all: builds a catalog from one or more. */
export function catalog(...tables: Readonly<Record<string, FunctionDefinition>>[]): Catalog {
  return new Map(tables.flatMap((table) => Object.entries(table)));
}
