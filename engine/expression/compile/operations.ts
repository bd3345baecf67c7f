import { contained, range } from "../values/access.ts";
import { arithmetic, type Fail } from "../values/arithmetic.ts";
import type { BinaryNode, Node } from "../syntax/ast.ts";
import type { Budget } from "../values/budget.ts";
import type { Compiler } from "./compile.ts";
import { compileEquality } from "./comparisons.ts";
import type { Code, Frame, Scope } from "./frame.ts";
import { isFound, pattern } from "../values/patterns.ts";
import { indexIn } from "../values/search.ts";
import { kindOf } from "../values/values.ts";

type Strict = (a: unknown, b: unknown, fail: Fail, budget: Budget) => unknown;

/** Operators that always evaluate both operands. */
const strict: Readonly<Record<string, Strict>> = { ...arithmetic, in: contained, "..": range };

type TextTest = (text: string, other: string, fail: Fail, budget: Budget) => boolean;

const textTests: Readonly<Record<string, TextTest>> = {
  contains: (text, other, _, budget) => {
    budget.read(text.length);
    return indexIn(text, other) !== -1;
  },
  startsWith: (text, other) => text.startsWith(other),
  endsWith: (text, other) => text.endsWith(other),
  matches: (text, other, fail, budget) => isFound(pattern(other, fail, budget), text, budget),
};

export function compileBinary(compiler: Compiler, node: BinaryNode, scope: Scope): Code {
  const { operator, left, right } = node;
  if (operator === "==" || operator === "!=") return compileEquality(compiler, node, scope);
  if (operator === "??") return coalesce(compiler.code(left, scope), compiler.code(right, scope));
  const test = textTests[operator];
  if (test !== undefined) return compileTextTest(compiler, node, test, scope);
  const membership = operator === "in" ? literalMembership(compiler, left, right, scope) : undefined;
  if (membership !== undefined) return membership;
  const operation = strict[operator] as Strict;
  return folded(compiler, node, operation) ?? applied(compiler, node, operation, scope);
}

function applied(compiler: Compiler, node: BinaryNode, operation: Strict, scope: Scope): Code {
  const [a, b] = [compiler.code(node.left, scope), compiler.code(node.right, scope)];
  const fail = compiler.fail(node);
  return (frame) => operation(a(frame), b(frame), fail, frame.budget);
}

/** Arithmetic on two literals is done once, unless it fails. */
function folded(compiler: Compiler, { left, right, operator }: BinaryNode, operation: Strict): Code | undefined {
  if (left.kind !== "literal" || right.kind !== "literal" || operator === ".." || operator === "in") return undefined;
  let failed = false;
  const fail = (): never => {
    failed = true;
    throw new Error("not foldable");
  };
  try {
    const value = operation(left.value, right.value, fail, compiler.frame.budget);
    return () => value;
  } catch (error) {
    if (failed) return undefined;
    throw error;
  }
}

function coalesce(left: Code, right: Code): Code {
  return (frame) => left(frame) ?? right(frame);
}

/** nil on either side gives false; any other value that is not a text is an error. */
function compileTextTest(compiler: Compiler, node: BinaryNode, test: TextTest, scope: Scope): Code {
  const [left, right] = [compiler.code(node.left, scope), compiler.code(node.right, scope)];
  const fail = compiler.fail(node);
  const run = node.operator === "matches" && isText(node.right) ? literalPattern(node.right.value, fail) : test;
  return (frame) => {
    const [text, other] = [left(frame), right(frame)];
    if (typeof text === "string" && typeof other === "string") return run(text, other, fail, frame.budget);
    if (text === null || other === null) return false;
    return fail(`\`${node.operator}\` expects two texts, found ${kindOf(text)} and ${kindOf(other)}`);
  };
}

/** The pattern of a literal is compiled once. */
function literalPattern(source: string, fail: Fail): TextTest {
  const compiled = pattern(source, fail);
  return (text, _, __, budget) => isFound(compiled, text, budget);
}

/** `x in ["a", "b"]`: a literal array of texts becomes a set. */
function literalMembership(compiler: Compiler, left: Node, right: Node, scope: Scope): Code | undefined {
  if (right.kind !== "array" || !right.items.every(isText)) return undefined;
  const texts = new Set<unknown>(right.items.map((item) => item.value));
  const value = compiler.code(left, scope);
  return (frame: Frame) => texts.has(value(frame));
}

function isText(node: Node): node is Extract<Node, { kind: "literal" }> & { value: string } {
  return node.kind === "literal" && typeof node.value === "string";
}
