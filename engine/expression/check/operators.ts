import type { BinaryNode, ComparisonNode, LogicalNode, Node } from "../syntax/ast.ts";
import type { Checker, TypeScope } from "./check.ts";
import type { BinaryOperator } from "../syntax/operators.ts";
import { CompileBudgetExceeded } from "../values/compile-budget.ts";
import { patternSize } from "../values/pattern-size.ts";
import { LONGEST_PATTERN, pattern } from "../values/patterns.ts";
import {
  arrayOf,
  bool,
  duration,
  float,
  integer,
  isNumber,
  isNamed,
  isUnknown,
  isWhole,
  itemOf,
  mayBeNil,
  named,
  text,
  time,
  unknown,
} from "../values/types.ts";
import type { Type } from "../values/types.ts";

type Family = "number" | "whole" | Type["kind"];

/** Pairs of operand types that an operator takes, with the type of the result. The first that fits counts. */
type Signature = readonly [Family, Family, Type | ((a: Type, b: Type) => Type)];

/** A field declared as an integer stays one, so that `1..count - 1` passes the check. */
const sum = (a: Type, b: Type): Type => {
  if (a.kind === "int" && b.kind === "int") return integer;
  return isWhole(a) && isWhole(b) ? { kind: "integral" } : float;
};

const signatures: Readonly<Partial<Record<BinaryOperator, readonly Signature[]>>> = {
  "+": [
    ["number", "number", sum],
    ["string", "string", text],
    ["time", "duration", time],
    ["duration", "time", time],
    ["duration", "duration", duration],
  ],
  "-": [
    ["number", "number", sum],
    ["time", "time", duration],
    ["time", "duration", time],
    ["duration", "duration", duration],
  ],
  "*": [
    ["number", "number", sum],
    ["int", "duration", duration],
    ["duration", "int", duration],
    ["duration", "duration", duration],
    ["number", "duration", float],
    ["duration", "number", float],
  ],
  "/": [["number", "number", float]],
  "**": [["number", "number", float]],
  "%": [["int", "int", integer]],
  "..": [["whole", "whole", arrayOf(integer)]],
  matches: [["string", "string", bool]],
  contains: [["string", "string", bool]],
  startsWith: [["string", "string", bool]],
  endsWith: [["string", "string", bool]],
};

/** The type of the result if an operand type is unknown. */
const results: Readonly<Partial<Record<BinaryOperator, Type>>> = {
  "/": float,
  "**": float,
  "%": integer,
  "..": arrayOf(integer),
  matches: bool,
  contains: bool,
  startsWith: bool,
  endsWith: bool,
};

const comparable: readonly Signature[] = [
  ["number", "number", bool],
  ["string", "string", bool],
  ["time", "time", bool],
  ["duration", "duration", bool],
  ["month", "month", bool],
  ["weekday", "weekday", bool],
  ["month", "number", bool],
  ["weekday", "number", bool],
  ["number", "month", bool],
  ["number", "weekday", bool],
];

export function checkBinary(checker: Checker, node: BinaryNode, scope: TypeScope): Type {
  const a = checker.type(node.left, scope);
  // The right side of ?? runs where the left one is nil.
  const b = node.operator === "??" ? checker.branch(node.right, scope) : checker.type(node.right, scope);
  switch (node.operator) {
    case "==":
    case "!=":
      return mayEqual(a, b) ? bool : mismatched(checker, node, a, b);
    case "in":
      return checkIn(checker, node, a, b);
    case "??":
      return a.kind === "nil" ? b : { ...(b.kind === "nil" || a.kind === b.kind ? a : unknown), orNil: mayBeNil(b) };
    default:
      return checkSignature(checker, node, a, b);
  }
}

function checkSignature(checker: Checker, node: BinaryNode, a: Type, b: Type): Type {
  const { operator, right } = node;
  if (operator === "matches" && right.kind === "literal" && typeof right.value === "string") {
    checkPattern(checker, right, right.value);
  }
  if (operator === "%" && right.kind === "literal" && right.value === 0n) {
    return checker.mismatch(node, "the remainder of a division by zero");
  }
  const result = matched(signatures[operator] ?? [], a, b);
  if (result === undefined) return mismatched(checker, node, a, b);
  return isUnknown(a) || isUnknown(b) ? (results[operator] ?? unknown) : result;
}

function checkPattern(checker: Checker, node: Node, source: string): void {
  const obstacle = source.length <= LONGEST_PATTERN ? checker.budget.spend(patternSize(source)) : undefined;
  if (obstacle !== undefined) checker.refuse(node, obstacle, new CompileBudgetExceeded());
  pattern(source, (detail) => checker.refuse(node, detail));
}

/** The result of the first signature that may fit the types. */
function matched(rows: readonly Signature[], a: Type, b: Type): Type | undefined {
  const row = rows.find(([left, right]) => fits(a, left) && fits(b, right));
  if (row === undefined) return undefined;
  return typeof row[2] === "function" ? row[2](a, b) : row[2];
}

function fits(type: Type, family: Family): boolean {
  if (isUnknown(type)) return true;
  return family === "number" ? isNumber(type) : family === "whole" ? isWhole(type) : type.kind === family;
}

function mismatched(checker: Checker, node: BinaryNode, a: Type, b: Type): Type {
  const hint =
    (node.operator === "%" || node.operator === "..") && isNumber(a) && isNumber(b)
      ? ": it takes integers, and the numbers of an event are floats: write int(…) around them"
      : "";
  return checker.mismatch(node, `\`${node.operator}\` cannot be applied to ${named(a)} and ${named(b)}${hint}`);
}

function mayEqual(a: Type, b: Type): boolean {
  if (isUnknown(a) || isUnknown(b) || a.kind === "nil" || b.kind === "nil") return true;
  if (isNamed(a) || isNamed(b)) return a.kind === b.kind || isNumber(a) || isNumber(b);
  return (isNumber(a) && isNumber(b)) || a.kind === b.kind;
}

function checkIn(checker: Checker, node: BinaryNode, a: Type, b: Type): Type {
  if (b.kind === "map" && !isUnknown(a) && a.kind !== "string" && b.item === undefined) {
    return checker.mismatch(node.left, `the key of a map is a text, found ${named(a)}`);
  }
  if (b.kind === "array" && !mayEqual(a, itemOf(b))) {
    return checker.mismatch(node, `${named(a)} is never in an array of ${named(itemOf(b))}`);
  }
  return b.kind === "map" || b.kind === "array" || isUnknown(b) ? bool : mismatched(checker, node, a, b);
}

export function checkLogical(checker: Checker, { operator, operands }: LogicalNode, scope: TypeScope): Type {
  const mustBeBool = (operand: Node, type: Type): void => {
    if (type.kind === "bool" || isUnknown(type)) return;
    checker.mismatch(operand, `\`${operator}\` expects a bool, found ${named(type)}`);
  };
  const [first, ...others] = operands;
  if (first !== undefined) mustBeBool(first, checker.type(first, scope));
  for (const operand of others) mustBeBool(operand, checker.branch(operand, scope));
  return bool;
}

export function checkComparison(checker: Checker, node: ComparisonNode, scope: TypeScope): Type {
  const types = node.operands.map((operand) => checker.type(operand, scope));
  node.operators.forEach((operator, index) => {
    const [a, b] = [types[index] ?? unknown, types[index + 1] ?? unknown];
    if (matched(comparable, a, b) !== undefined) return;
    const span = { start: node.operands[index]?.start ?? node.start, end: node.operands[index + 1]?.end ?? node.end };
    checker.mismatch(
      span,
      `\`${operator}\` compares two numbers, texts, times or durations, found ${named(a)} and ${named(b)}`,
    );
  });
  return bool;
}
