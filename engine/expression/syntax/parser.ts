import { children, type ComparisonNode, type LetNode, type Node } from "./ast.ts";
import { Cursor } from "./cursor.ts";
import type { Span } from "./errors.ts";
import { call, operand, postfix } from "./operands.ts";
import { binary, type BinaryOperator } from "./operators.ts";
import type { Comparator } from "../values/comparison.ts";

/** Nodes in one expression (docs/reference/expressions.md, Limits). */
export const MOST_NODES = 10_000;
/** How deep an expression may nest; chains of `and`, `or` and comparisons count once. */
export const DEEPEST = 250;

/** Parses an expression by precedence climbing over the table of operators. Throws ExpressionError. */
export function parse(source: string): Node {
  return new Parser(source).parse();
}

/**
 * Parses statements and operators; `operands.ts` parses the operands between them and calls back for nested
 * expressions.
 */
export class Parser {
  readonly cursor: Cursor;
  #nodes = 0;
  #depth = 0;
  /** The number of predicates around the current token. */
  #predicates = 0;

  constructor(source: string) {
    this.cursor = new Cursor(source);
  }

  parse(): Node {
    const node = this.sequence();
    if (this.cursor.current.kind !== "end") this.cursor.refuse("expected an operator or the end of the expression");
    if (depth(node) > DEEPEST) throw this.#tooDeep(node);
    return node;
  }

  /** Counts a node that has been read. */
  make<N extends Node>(node: N): N {
    this.#nodes += 1;
    if (this.#nodes > MOST_NODES) {
      throw this.cursor.error(
        node,
        `the expression is too long: it may have at most ${MOST_NODES} operators and values`,
      );
    }
    return node;
  }

  /** Whether `#` and `.field` are defined at the current token. */
  get inPredicate(): boolean {
    return this.#predicates > 0;
  }

  /** The second argument of `filter`, `map`, …: evaluated for each item, with or without braces. */
  predicate(): Node {
    this.#predicates += 1;
    const node = this.cursor.is("{") ? this.block() : this.expression(0);
    this.#predicates -= 1;
    return node;
  }

  #tooDeep(span: Span): Error {
    return this.cursor.error(span, `the expression nests too deep: at most ${DEEPEST} levels are allowed`);
  }

  /** `a; b; c`, with an optional `;` at the end. */
  sequence(): Node {
    const first = this.expression(0);
    const steps = [first];
    while (this.cursor.accept(";")) {
      if (this.cursor.current.kind === "end") break;
      steps.push(this.expression(0));
    }
    return steps.length === 1
      ? first
      : this.make({ kind: "sequence", steps, start: first.start, end: this.cursor.end });
  }

  /** An expression whose operators bind at least as tightly as `level`. */
  expression(level: number): Node {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw this.#tooDeep(this.cursor.current);
    const node = this.#statement(level) ?? this.#operations(level);
    this.#depth -= 1;
    return node;
  }

  #statement(level: number): Node | undefined {
    if (level !== 0) return undefined;
    if (this.cursor.is("let")) return this.#let();
    return this.cursor.is("if") ? this.#if() : undefined;
  }

  #let(): LetNode {
    const { start } = this.cursor.expect("let");
    const name = this.cursor.expectKind("name", "the name of a variable").value;
    this.cursor.expect("=");
    const value = this.expression(0);
    this.cursor.expect(";");
    const body = this.sequence();
    return this.make({ kind: "let", name, value, body, start, end: body.end });
  }

  #if(): Node {
    const { start } = this.cursor.expect("if");
    const condition = this.expression(0);
    const whenTrue = this.block();
    this.cursor.expect("else");
    const whenFalse = this.cursor.is("if") ? this.#elseIf() : this.block();
    return this.make({ kind: "conditional", condition, whenTrue, whenFalse, start, end: this.cursor.end });
  }

  /** Counts as a level, so that a long chain is refused before it is read to its end. */
  #elseIf(): Node {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw this.#tooDeep(this.cursor.current);
    const node = this.#if();
    this.#depth -= 1;
    return node;
  }

  /** `{ a; b }` */
  block(): Node {
    this.cursor.expect("{");
    const node = this.sequence();
    this.cursor.expect("}");
    return node;
  }

  #operations(level: number): Node {
    let left = operand(this);
    let before = "";
    for (;;) {
      const negated = this.#negates(level);
      const token = negated ? this.cursor.following : this.cursor.current;
      const operator = token.kind === "operator" ? binary.get(token.value) : undefined;
      if (operator === undefined || operator.level < level) break;
      if (before === "??" && operator.is !== "??" && operator.is !== "|") {
        throw this.cursor.error(
          token,
          "?? cannot be followed by another operator: put parentheses around one of the two",
        );
      }
      if (negated) this.cursor.take();
      const node = this.#operation(left, operator.family, operator.is, operator.level);
      left = negated
        ? this.make({ kind: "unary", operator: "not", operand: node, start: left.start, end: node.end })
        : node;
      before = operator.is;
    }
    return level === 0 ? this.#conditional(left) : left;
  }

  /** Whether `not in`, `not contains`, … comes next and binds tightly enough. */
  #negates(level: number): boolean {
    if (!this.cursor.is("not")) return false;
    const operator = binary.get(this.cursor.following.value);
    if (this.cursor.following.kind !== "operator" || operator?.negatable !== true) {
      return this.cursor.refuse(
        "expected an operator (`not` between two values needs in, contains, matches, startsWith or endsWith)",
      );
    }
    return operator.level >= level;
  }

  #operation(left: Node, family: "pipe" | "logical" | "comparator" | "binary", operator: string, level: number): Node {
    if (family === "comparator") return this.#comparison(left);
    const spelling = this.cursor.take();
    if (family === "pipe") return this.#piped(left);
    const right = this.expression(binary.get(spelling.value)?.right === true ? level : level + 1);
    const span = { start: left.start, end: right.end };
    if (family === "binary") {
      return this.make({ kind: "binary", operator: operator as BinaryOperator, left, right, ...span });
    }
    const operands = left.kind === "logical" && left.operator === operator ? left.operands : [left];
    return this.make({ kind: "logical", operator: operator as "and" | "or", operands: [...operands, right], ...span });
  }

  /** `a < b <= c` */
  #comparison(first: Node): ComparisonNode {
    const operands = [first];
    const operators: Comparator[] = [];
    for (;;) {
      const token = this.cursor.current;
      const operator = token.kind === "operator" ? binary.get(token.value) : undefined;
      if (operator?.family !== "comparator") break;
      this.cursor.take();
      operators.push(operator.is as Comparator);
      operands.push(this.expression(operator.level + 1));
    }
    return this.make({ kind: "comparison", operators, operands, start: first.start, end: this.cursor.end });
  }

  #piped(left: Node): Node {
    const name = this.cursor.expectKind("name", "the name of a function after `|`");
    return postfix(this, call(this, name.value, left.start, [left]));
  }

  #conditional(condition: Node): Node {
    let node = condition;
    while (this.cursor.accept("?")) {
      const whenTrue = this.cursor.is(":") ? undefined : this.expression(0);
      this.cursor.expect(":");
      const whenFalse = this.expression(0);
      node = this.make({
        kind: "conditional",
        condition: node,
        whenTrue,
        whenFalse,
        start: node.start,
        end: whenFalse.end,
      });
    }
    return node;
  }
}

/** Levels below and including `root`, without recursion. */
function depth(root: Node): number {
  let level: readonly Node[] = [root];
  let levels = 0;
  while (level.length > 0) {
    levels += 1;
    level = level.flatMap((node) => children(node));
  }
  return levels;
}
