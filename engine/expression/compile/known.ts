import type { Node } from "../syntax/ast.ts";

/**
 * The operands of an `and` or `or` that decide it: those that are known to be its neutral value are left out. If one is
 * known to be `stop`, or no other is left, the value of the whole. What is left out never runs, wherever it stands.
 */
export function deciding(operands: readonly Node[], stop: boolean): readonly Node[] | boolean {
  const known = operands.map(knownBool);
  if (known.includes(stop)) return stop;
  const left = operands.filter((_, index) => known[index] === undefined);
  return left.length === 0 ? !stop : left;
}

/** The value of a bool that no record changes; undefined for any other node. */
function knownBool(node: Node): boolean | undefined {
  if (node.kind === "literal") return typeof node.value === "boolean" ? node.value : undefined;
  if (node.kind === "unary" && node.operator === "not") {
    const value = knownBool(node.operand);
    return value === undefined ? undefined : !value;
  }
  if (node.kind === "binary" && node.operator === "==") return sameLiteral(node.left, node.right);
  if (node.kind !== "logical") return undefined;
  const left = deciding(node.operands, node.operator === "or");
  return typeof left === "boolean" ? left : undefined;
}

/** Whether two literals of one kind are the same; floats are left to the run. */
function sameLiteral(left: Node, right: Node): boolean | undefined {
  if (left.kind !== "literal" || right.kind !== "literal" || typeof left.value !== typeof right.value) return undefined;
  return ["bigint", "string", "boolean"].includes(typeof left.value) ? left.value === right.value : undefined;
}
