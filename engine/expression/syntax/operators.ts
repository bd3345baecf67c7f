import type { Arithmetic } from "../values/arithmetic.ts";

export type BinaryOperator =
  "==" | "!=" | "in" | "matches" | "contains" | "startsWith" | "endsWith" | ".." | Arithmetic | "??";

export type UnaryOperator = "not" | "-" | "+";

interface Binding {
  /** Its precedence: higher binds tighter (docs/reference/expressions.md, Operators). */
  readonly level: number;
  readonly right?: true;
  readonly family: "pipe" | "logical" | "comparator" | "binary";
  /** The canonical spelling. */
  readonly is: string;
  /** May follow `not`. */
  readonly negatable?: true;
}

/** All binary operators, by their spelling: the only table of precedence. */
export const binary: ReadonlyMap<string, Binding> = new Map<string, Binding>([
  ["|", { level: 0, family: "pipe", is: "|" }],
  ["or", { level: 10, family: "logical", is: "or" }],
  ["||", { level: 10, family: "logical", is: "or" }],
  ["and", { level: 15, family: "logical", is: "and" }],
  ["&&", { level: 15, family: "logical", is: "and" }],
  ["==", { level: 20, family: "binary", is: "==" }],
  ["!=", { level: 20, family: "binary", is: "!=" }],
  ["<", { level: 20, family: "comparator", is: "<" }],
  ["<=", { level: 20, family: "comparator", is: "<=" }],
  [">", { level: 20, family: "comparator", is: ">" }],
  [">=", { level: 20, family: "comparator", is: ">=" }],
  ["in", { level: 20, family: "binary", is: "in", negatable: true }],
  ["matches", { level: 20, family: "binary", is: "matches", negatable: true }],
  ["contains", { level: 20, family: "binary", is: "contains", negatable: true }],
  ["startsWith", { level: 20, family: "binary", is: "startsWith", negatable: true }],
  ["endsWith", { level: 20, family: "binary", is: "endsWith", negatable: true }],
  ["..", { level: 25, family: "binary", is: ".." }],
  ["+", { level: 30, family: "binary", is: "+" }],
  ["-", { level: 30, family: "binary", is: "-" }],
  ["*", { level: 60, family: "binary", is: "*" }],
  ["/", { level: 60, family: "binary", is: "/" }],
  ["%", { level: 60, family: "binary", is: "%" }],
  ["**", { level: 100, family: "binary", is: "**", right: true }],
  ["^", { level: 100, family: "binary", is: "**", right: true }],
  ["??", { level: 500, family: "binary", is: "??" }],
]);

/** Unary operators. */
export const unary: ReadonlyMap<string, { readonly level: number; readonly is: UnaryOperator }> = new Map([
  ["not", { level: 50, is: "not" as const }],
  ["!", { level: 50, is: "not" as const }],
  ["-", { level: 90, is: "-" as const }],
  ["+", { level: 90, is: "+" as const }],
]);
