import type { Span } from "./errors.ts";
import type { BinaryOperator, UnaryOperator } from "./operators.ts";
import type { Comparator } from "../values/comparison.ts";

/**
 * The syntax tree. Every node carries the span of its text. Chains of one logical operator and chains of comparisons are
 * one flat node each, so that a long filter is not a deep tree.
 */
export type Node =
  | LiteralNode
  | NameNode
  | PointerNode
  | ArrayNode
  | MapNode
  | UnaryNode
  | BinaryNode
  | LogicalNode
  | ComparisonNode
  | MemberNode
  | SliceNode
  | CallNode
  | MethodNode
  | ConditionalNode
  | LetNode
  | SequenceNode;

/** `null` is nil, a bigint is an integer, a number is a float. */
export interface LiteralNode extends Span {
  readonly kind: "literal";
  readonly value: null | boolean | bigint | number | string;
}

/** A field of the record, a `let` variable, or `$env`, the whole record. */
export interface NameNode extends Span {
  readonly kind: "name";
  readonly name: string;
}

/** `#`, `#index` or `#acc` in a predicate. */
export interface PointerNode extends Span {
  readonly kind: "pointer";
  readonly name: "item" | "index" | "acc";
}

export interface ArrayNode extends Span {
  readonly kind: "array";
  readonly items: readonly Node[];
}

export interface MapNode extends Span {
  readonly kind: "map";
  readonly pairs: readonly { readonly key: Node; readonly value: Node }[];
}

export interface UnaryNode extends Span {
  readonly kind: "unary";
  readonly operator: UnaryOperator;
  readonly operand: Node;
}

export interface BinaryNode extends Span {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Node;
  readonly right: Node;
}

/** `a and b and c`: at least two operands. */
export interface LogicalNode extends Span {
  readonly kind: "logical";
  readonly operator: "and" | "or";
  readonly operands: readonly Node[];
}

/** `a < b <= c`: one operator less than operands. */
export interface ComparisonNode extends Span {
  readonly kind: "comparison";
  readonly operators: readonly Comparator[];
  readonly operands: readonly Node[];
}

/**
 * `object.key` or, `computed`, `object[key]`; `optional` with `?.`. A nil object of an optional member makes the whole
 * following chain of dots nil; brackets begin a new chain.
 */
export interface MemberNode extends Span {
  readonly kind: "member";
  readonly object: Node;
  readonly key: Node;
  readonly optional: boolean;
  readonly computed: boolean;
}

export interface SliceNode extends Span {
  readonly kind: "slice";
  readonly object: Node;
  readonly from: Node | undefined;
  readonly to: Node | undefined;
}

/** A builtin or helper. In a call that takes a predicate the predicate is an ordinary argument, evaluated per item. */
export interface CallNode extends Span {
  readonly kind: "call";
  readonly name: string;
  readonly args: readonly Node[];
}

/** `object.name(args)`: times and durations have methods. */
export interface MethodNode extends Span {
  readonly kind: "method";
  readonly object: Node;
  readonly name: string;
  readonly args: readonly Node[];
  readonly optional: boolean;
}

/** `condition ? whenTrue : whenFalse`, `if`; without `whenTrue` it is `condition ?: whenFalse`. */
export interface ConditionalNode extends Span {
  readonly kind: "conditional";
  readonly condition: Node;
  readonly whenTrue: Node | undefined;
  readonly whenFalse: Node;
}

/** `let name = value; body` */
export interface LetNode extends Span {
  readonly kind: "let";
  readonly name: string;
  readonly value: Node;
  readonly body: Node;
}

/** `a; b; c`: the value of the last. At least two steps. */
export interface SequenceNode extends Span {
  readonly kind: "sequence";
  readonly steps: readonly Node[];
}

/** The nodes directly below `node`, in the order of evaluation. */
export function children(node: Node): readonly Node[] {
  switch (node.kind) {
    case "literal":
    case "name":
    case "pointer":
      return [];
    case "array":
      return node.items;
    case "map":
      return node.pairs.flatMap(({ key, value }) => [key, value]);
    case "unary":
      return [node.operand];
    case "binary":
      return [node.left, node.right];
    case "logical":
    case "comparison":
      return node.operands;
    case "member":
      return [node.object, node.key];
    case "slice":
      return [node.object, node.from, node.to].filter((part) => part !== undefined);
    case "call":
      return node.args;
    case "method":
      return [node.object, ...node.args];
    case "conditional":
      return [node.condition, node.whenTrue, node.whenFalse].filter((part) => part !== undefined);
    case "let":
      return [node.value, node.body];
    default:
      return node.steps;
  }
}
