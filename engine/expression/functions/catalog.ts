import type { Fail } from "../values/arithmetic.ts";
import type { Budget } from "../values/budget.ts";
import type { Type } from "../values/types.ts";
import type { CallNode } from "../syntax/ast.ts";
import { nearest } from "../syntax/nearest.ts";
import { predicates } from "../syntax/predicates.ts";
import type { Kind } from "../values/values.ts";

/** The context of a function besides its arguments. One object per call in the text of an expression. */
export interface Call {
  readonly fail: Fail;
  readonly budget: Budget;
  /** The time of the batch, in milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * What a parameter takes; anything else is an error before the function runs, at the check if the type is known.
 * `position` is an integer, or a float that is cut to one; `count`
 * is an integer, or what stands for one; `sized` has a length; `zone` is a time zone. `items`,
 * `numbers` and `container` are only for the check: at run time these functions take any value and report errors
 * themselves.
 */
export type Parameter =
  | "any"
  | "string"
  | "number"
  | "int"
  | "position"
  | "count"
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
  /** The required parameters, then the optional ones. */
  readonly takes: readonly Parameter[];
  /** The number of optional parameters in `takes`. */
  readonly optional?: number;
  /** Further arguments, any number. */
  readonly rest?: Parameter;
  /** The type of the result, as far as it is known before the run. */
  readonly gives: Type | ((args: readonly Type[]) => Type);
  /** Omitted arguments are undefined. nil is null. */
  readonly run: (call: Call, ...args: unknown[]) => unknown;
}

/** Functions by name. */
export type Catalog = ReadonlyMap<string, FunctionDefinition>;

/** The functions of one or more tables. */
export function catalog(...tables: Readonly<Record<string, FunctionDefinition>>[]): Catalog {
  return new Map(tables.flatMap((table) => Object.entries(table)));
}

/** What a parameter takes, kind by kind. */
interface Rule {
  /** Kinds that are taken at run time; undefined takes all. */
  readonly kinds: ReadonlySet<Kind> | undefined;
  /** Whether a field declared as an integer passes the check: its value is a float without a fraction. */
  readonly integral: boolean;
  /** In messages. */
  readonly expected: string;
  /** Used only by the check. */
  readonly checkOnly?: true;
}

const rules: Readonly<Record<Parameter, Rule>> = {
  any: { kinds: undefined, integral: true, expected: "a value" },
  string: { kinds: new Set<Kind>(["string"]), integral: false, expected: "a text" },
  number: { kinds: new Set<Kind>(["int", "float", "uint"]), integral: true, expected: "a number" },
  int: { kinds: new Set<Kind>(["int", "uint"]), integral: false, expected: "an integer" },
  position: { kinds: new Set<Kind>(["int", "float", "uint"]), integral: true, expected: "an integer" },
  count: {
    kinds: new Set<Kind>(["int", "uint", "duration", "month", "weekday"]),
    integral: false,
    expected: "an integer",
  },
  array: { kinds: new Set<Kind>(["array"]), integral: false, expected: "an array" },
  map: { kinds: new Set<Kind>(["map"]), integral: false, expected: "a map" },
  sized: { kinds: new Set<Kind>(["string", "array", "map"]), integral: false, expected: "a text, an array or a map" },
  convertible: {
    kinds: new Set<Kind>(["string", "int", "float", "uint", "duration", "month", "weekday"]),
    integral: true,
    expected: "a number, a text or a duration",
  },
  container: {
    kinds: new Set<Kind>(["nil", "array", "map"]),
    integral: false,
    expected: "an array or a map",
    checkOnly: true,
  },
  items: { kinds: new Set<Kind>(["nil", "array"]), integral: false, expected: "an array", checkOnly: true },
  numbers: {
    kinds: new Set<Kind>(["nil", "array", "int", "float", "uint", "duration", "month", "weekday"]),
    integral: true,
    expected: "a number or an array of numbers",
    checkOnly: true,
  },
  zone: { kinds: new Set<Kind>(["timezone"]), integral: false, expected: "a time zone" },
};

/** Whether the kind of a value must be checked when the function is called. */
export function isGuarded(wanted: Parameter): boolean {
  return rules[wanted].kinds !== undefined && rules[wanted].checkOnly !== true;
}

/** Whether a value of this kind is taken. */
export function takes(wanted: Parameter, kind: Kind): boolean {
  return rules[wanted].kinds?.has(kind) ?? true;
}

/** Whether a value of this type may be taken: unknown types are decided at run time. */
export function mayTake(wanted: Parameter, type: Type): boolean {
  if (type.kind === "unknown") return true;
  return type.kind === "integral" ? rules[wanted].integral : takes(wanted, type.kind);
}

/** Why a call cannot run: no function has its name, or that takes another number of arguments; undefined if it can. */
export function misuse({ name, args }: CallNode, functions: Catalog): string | undefined {
  const counts = predicates.get(name) ?? argumentCounts(functions.get(name));
  if (counts === undefined)
    return `unknown function ${name}${nearest(name, [...functions.keys(), ...predicates.keys()])}`;
  const { least, most } = counts;
  if (args.length >= least && args.length <= most) return undefined;
  const range = most === Infinity ? `at least ${least}` : least === most ? String(least) : `${least} to ${most}`;
  return `${name} takes ${range} argument${range.endsWith("1") ? "" : "s"}, found ${args.length}`;
}

function argumentCounts(definition: FunctionDefinition | undefined): { least: number; most: number } | undefined {
  if (definition === undefined) return undefined;
  const { takes: listed, optional = 0, rest } = definition;
  return { least: listed.length - optional, most: rest === undefined ? listed.length : Infinity };
}

/** What a wanted takes, for messages: "a text". */
export function expected(wanted: Parameter): string {
  return rules[wanted].expected;
}

/** The parameter at an index of a call. */
export function parameter({ takes: listed, rest }: FunctionDefinition, index: number): Parameter {
  return listed[index] ?? rest ?? "any";
}
