import type { ComparisonNode, ConditionalNode, LiteralNode, Node, PointerNode } from "./ast.ts";
import { binary, unary } from "./operators.ts";
import { predicates } from "./predicates.ts";

/** The precedence of a printed node. Operators have the level of their table. */
const STATEMENT = -1;
const POSTFIX = 1000;

/**
 * The text of a tree in its canonical form: parsing it gives the same tree. Comments are lost, and only needed
 * parentheses are printed.
 */
export function print(node: Node): string {
  switch (node.kind) {
    case "literal":
      return printLiteral(node);
    case "name":
      return node.name;
    case "pointer":
      return printPointer(node);
    case "array":
      return `[${node.items.map((item) => within(item, 0)).join(", ")}]`;
    case "map":
      return `{${node.pairs.map(({ key, value }) => `${printKey(key)}: ${within(value, 0)}`).join(", ")}}`;
    case "unary":
      return printUnary(node.operator, node.operand);
    case "binary":
      return printBinary(node.operator, node.left, node.right);
    case "logical":
      return node.operands
        .map((operand) => operandText(operand, levelOf(node) + 1, levelOf(node)))
        .join(` ${node.operator} `);
    case "comparison":
      return printComparison(node);
    case "member":
      return `${within(node.object, POSTFIX)}${node.optional ? "?." : node.computed ? "" : "."}${printMember(node.key, node.computed)}`;
    case "slice":
      return `${within(node.object, POSTFIX)}[${optional(node.from)}:${optional(node.to)}]`;
    case "call":
      return `${node.name}(${printArguments(node.name, node.args)})`;
    case "method":
      return `${within(node.object, POSTFIX)}${node.optional ? "?." : "."}${node.name}(${printArguments("", node.args)})`;
    case "conditional":
      return printConditional(node);
    case "let":
      return `let ${node.name} = ${within(node.value, 0)}; ${print(node.body)}`;
    default:
      return node.steps.map((step) => within(step, 0)).join("; ");
  }
}

/** In parentheses, unless the precedence of the node is at least `level`. */
function within(node: Node, level: number): string {
  return levelOf(node) >= level ? print(node) : `(${print(node)})`;
}

function levelOf(node: Node): number {
  switch (node.kind) {
    case "sequence":
    case "let":
    case "conditional":
      return STATEMENT;
    case "logical":
    case "binary":
      return binary.get(node.operator)?.level ?? 0;
    case "comparison":
      return 20;
    case "unary":
      return unary.get(node.operator)?.level ?? 0;
    case "literal":
      return typeof node.value === "number" || typeof node.value === "bigint" ? POSTFIX - 1 : POSTFIX;
    default:
      return POSTFIX;
  }
}

function printLiteral({ value }: LiteralNode): string {
  if (value === null) return "nil";
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "number") return String(value);
  const digits = String(value);
  return /[.e]/.test(digits) ? digits : `${digits}.0`;
}

/** Writes characters as escapes that a quoted literal cannot hold, or that are not printable. */
function quoted(text: string): string {
  const escaped = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll("\u007f", String.raw`\u007f`);
  return `"${escaped}"`;
}

function printPointer({ name }: PointerNode): string {
  return name === "item" ? "#" : `#${name}`;
}

function printKey(key: Node): string {
  return key.kind === "literal" && typeof key.value === "string" ? quoted(key.value) : `(${print(key)})`;
}

/** An operator after a unary operator binds tighter, or is in parentheses. */
function printUnary(operator: string, operand: Node): string {
  const level = unary.get(operator)?.level ?? 0;
  const text = within(operand, level);
  return operator === "not" ? `not ${text}` : `${operator}${/^[+-]/.test(text) ? `(${text})` : text}`;
}

function printBinary(operator: string, left: Node, right: Node): string {
  const { level = 0, right: isRight } = binary.get(operator) ?? {};
  const [before, after] = isRight === true ? [level + 1, level] : [level, level + 1];
  return `${operandText(left, before, level)} ${operator} ${operandText(right, after, level)}`;
}

/** `??` takes no other operator beside it, and a unary operator on the left would take the whole. */
function operandText(node: Node, level: number, own: number): string {
  const mixes =
    (node.kind === "binary" && node.operator === "??" && own !== 500) || (node.kind === "unary" && own > levelOf(node));
  return mixes ? `(${print(node)})` : within(node, level);
}

function printComparison({ operands, operators }: ComparisonNode): string {
  const [first = "", ...rest] = operands.map((operand) => operandText(operand, 21, 20));
  return rest.reduce((text, operand, index) => `${text} ${operators[index] ?? ""} ${operand}`, first);
}

function printMember(key: Node, computed: boolean): string {
  return computed ? `[${within(key, 0)}]` : key.kind === "literal" ? String(key.value) : print(key);
}

function optional(node: Node | undefined): string {
  return node === undefined ? "" : within(node, 0);
}

function printArguments(name: string, args: readonly Node[]): string {
  return args
    .map((argument, index) => (predicates.has(name) && index === 1 ? `{${print(argument)}}` : within(argument, 0)))
    .join(", ");
}

function printConditional({ condition, whenTrue, whenFalse }: ConditionalNode): string {
  const middle = whenTrue === undefined ? "?:" : `? ${within(whenTrue, 0)} :`;
  return `${within(condition, 0)} ${middle} ${within(whenFalse, 0)}`;
}
