import type { Fail } from "../values/arithmetic.ts";
import type { BinaryNode, ComparisonNode, LiteralNode, Node } from "../syntax/ast.ts";
import type { Compiler } from "./compile.ts";
import { type Comparator, equal, ordered, orderTests } from "../values/comparison.ts";
import type { Code, Scope } from "./frame.ts";

/** `a < b`, and `a < b <= c` as `a < b and b <= c` with `b` evaluated once. */
export function compileComparison(compiler: Compiler, node: ComparisonNode, scope: Scope): Code {
  const codes = node.operands.map((operand) => compiler.code(operand, scope));
  const fail = compiler.fail(node);
  const [, right] = node.operands;
  const [operator, another] = node.operators;
  const limit = numeric(right);
  if (operator === undefined || another !== undefined || limit === undefined) return chain(codes, node.operators, fail);
  const literal = (right as LiteralNode).value as number | bigint;
  return against(codes[0] as Code, literal, limit, operator, fail);
}

function chain(codes: readonly Code[], operators: readonly Comparator[], fail: Fail): Code {
  const tests = operators.map((operator) => orderTests[operator]);
  return (frame) => {
    let left = (codes[0] as Code)(frame);
    for (let index = 0; index < tests.length; index += 1) {
      const right = (codes[index + 1] as Code)(frame);
      if (!(tests[index] as (order: number) => boolean)(ordered(left, right, fail))) return false;
      left = right;
    }
    return true;
  };
}

/** A comparison with a literal number, which is the most frequent: floats are compared directly. */
function against(value: Code, literal: number | bigint, limit: number, operator: Comparator, fail: Fail): Code {
  const test = orderTests[operator];
  const slow = (found: unknown): boolean => test(ordered(found, literal, fail));
  switch (operator) {
    case "<":
      return (frame) => {
        const found = value(frame);
        return typeof found === "number" ? found < limit : slow(found);
      };
    case "<=":
      return (frame) => {
        const found = value(frame);
        return typeof found === "number" ? found <= limit : slow(found);
      };
    case ">":
      return (frame) => {
        const found = value(frame);
        return typeof found === "number" ? found > limit : slow(found);
      };
    default:
      return (frame) => {
        const found = value(frame);
        return typeof found === "number" ? found >= limit : slow(found);
      };
  }
}

/** `==` and `!=`, with shortcuts for a literal on the right. */
export function compileEquality(compiler: Compiler, node: BinaryNode, scope: Scope): Code {
  const [left, right] = [compiler.code(node.left, scope), compiler.code(node.right, scope)];
  const wanted = node.operator === "==";
  const limit = numeric(node.right);
  if (limit !== undefined) {
    return (frame) => {
      const found = left(frame);
      if (typeof found === "number" || found === null) return (found === limit) === wanted;
      return equal(found, limit, frame.budget) === wanted;
    };
  }
  if (node.right.kind === "literal" && typeof node.right.value !== "bigint" && typeof node.right.value !== "number") {
    const { value } = node.right;
    return (frame) => (left(frame) === value) === wanted;
  }
  return (frame) => equal(left(frame), right(frame), frame.budget) === wanted;
}

/** The value of a literal number, if a float holds it exactly. */
function numeric(node: Node | undefined): number | undefined {
  if (node?.kind !== "literal") return undefined;
  if (typeof node.value === "number") return node.value;
  return typeof node.value === "bigint" && Number.isSafeInteger(Number(node.value)) ? Number(node.value) : undefined;
}
