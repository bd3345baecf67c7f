import type { Fail } from "./arithmetic.ts";
import type { BinaryNode, ComparisonNode, Node } from "./ast.ts";
import type { Compiler } from "./compile.ts";
import { equal } from "./equality.ts";
import type { Code } from "./frame.ts";
import type { Comparator } from "./operators.ts";
import { ordered, verdicts } from "./ordering.ts";
import type { Scope } from "./scope.ts";

/** `a < b`, and `a < b <= c` as `a < b and b <= c` with `b` evaluated once. */
export function compileComparison(compiler: Compiler, node: ComparisonNode, scope: Scope): Code {
  const codes = node.operands.map((operand) => compiler.code(operand, scope));
  const fail = compiler.fail(node);
  const [first, second] = codes as [Code, Code];
  const [operator] = node.operators as [Comparator];
  if (codes.length > 2) return chain(codes, node.operators, fail);
  const limit = numeric(node.operands[1]);
  return limit === undefined ? chain(codes, node.operators, fail) : against(first, second, operator, limit, fail);
}

function chain(codes: readonly Code[], operators: readonly Comparator[], fail: Fail): Code {
  const tests = operators.map((operator) => verdicts[operator]);
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

/** A comparison with a literal number, the most frequent one: floats are compared at once. */
function against(value: Code, literal: Code, operator: Comparator, limit: number, fail: Fail): Code {
  const verdict = verdicts[operator];
  const slow = (found: unknown): boolean => verdict(ordered(found, literal(undefined as never), fail));
  switch (operator) {
    case "<":
      return (frame) => number(value(frame), slow, (found) => found < limit);
    case "<=":
      return (frame) => number(value(frame), slow, (found) => found <= limit);
    case ">":
      return (frame) => number(value(frame), slow, (found) => found > limit);
    default:
      return (frame) => number(value(frame), slow, (found) => found >= limit);
  }
}

function number(found: unknown, slow: (found: unknown) => boolean, fast: (found: number) => boolean): boolean {
  return typeof found === "number" ? fast(found) : slow(found);
}

/** `==` and `!=`, with shortcuts for a literal on the right. */
export function compileEquality(compiler: Compiler, node: BinaryNode, scope: Scope): Code {
  const [left, right] = [compiler.code(node.left, scope), compiler.code(node.right, scope)];
  const wanted = node.operator === "==";
  const limit = numeric(node.right);
  if (limit !== undefined) {
    return (frame) => {
      const found = left(frame);
      return (found === limit || (typeof found === "bigint" && Number(found) === limit)) === wanted;
    };
  }
  if (node.right.kind === "literal" && typeof node.right.value !== "bigint" && typeof node.right.value !== "number") {
    const { value } = node.right;
    return (frame) => (left(frame) === value) === wanted;
  }
  return (frame) => equal(left(frame), right(frame), frame.budget) === wanted;
}

/** The value of a literal number that a float holds exactly. */
function numeric(node: Node | undefined): number | undefined {
  if (node?.kind !== "literal") return undefined;
  if (typeof node.value === "number") return node.value;
  return typeof node.value === "bigint" && Number.isSafeInteger(Number(node.value)) ? Number(node.value) : undefined;
}
