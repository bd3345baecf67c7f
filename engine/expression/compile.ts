import { member, slice } from "./access.ts";
import { negated } from "./arithmetic.ts";
import type { Fail } from "./arithmetic.ts";
import type {
  ConditionalNode,
  LetNode,
  LogicalNode,
  MapNode,
  MemberNode,
  MethodNode,
  Node,
  SliceNode,
  UnaryNode,
} from "./ast.ts";
import { BudgetExceeded } from "./budget.ts";
import type { Catalog } from "./catalog.ts";
import { compileCall } from "./calls.ts";
import { compileComparison } from "./comparisons.ts";
import { ExpressionError } from "./errors.ts";
import type { Span } from "./errors.ts";
import { Frame } from "./frame.ts";
import type { Code } from "./frame.ts";
import { compileLoop } from "./loops.ts";
import { method } from "./methods.ts";
import { compileBinary } from "./operations.ts";
import { predicates } from "./predicates.ts";
import { Scope } from "./scope.ts";
import { kindOf, put } from "./values.ts";
import type { TextMap } from "./values.ts";

/** Runs an expression on a record. Throws ExpressionError and nothing else. */
export type Program = (record: TextMap, clock: number) => unknown;

/** Compiles a tree to closures. The tree has been checked; what the check could not know is checked at run time. */
export function compile(root: Node, source: string, functions: Catalog): Program {
  const frame = new Frame();
  const code = new Compiler(source, functions, frame).code(root, new Scope());
  return (record, clock) => {
    frame.begin(record, clock);
    try {
      return code(frame);
    } catch (error) {
      throw placed(error, source, root);
    }
  };
}

/** Gives a place to what can happen anywhere: a spent budget, or values nested too deep for the stack. */
function placed(error: unknown, source: string, root: Span): ExpressionError {
  if (error instanceof ExpressionError) return error;
  const detail =
    error instanceof BudgetExceeded
      ? "the evaluation needs more time or memory than one record may use"
      : "the evaluation cannot go on: its values are too large or nest too deep";
  return new ExpressionError("evaluate", source, root, detail, error);
}

/** One compilation. The files that compile a family of nodes come back here for the nodes below. */
export class Compiler {
  readonly source: string;
  readonly functions: Catalog;
  readonly frame: Frame;

  constructor(source: string, functions: Catalog, frame: Frame) {
    this.source = source;
    this.functions = functions;
    this.frame = frame;
  }

  /** Ends an evaluation with an error that shows `span`. */
  fail(span: Span): Fail {
    return (detail) => {
      throw new ExpressionError("evaluate", this.source, span, detail);
    };
  }

  code(node: Node, scope: Scope): Code {
    switch (node.kind) {
      case "literal": {
        const { value } = node;
        return () => value;
      }
      case "name":
        return scope.variable(node.name) ?? field(node.name);
      case "pointer":
        return scope.pointer(node.name, this.fail(node));
      case "array":
        return this.#array(node.items.map((item) => this.code(item, scope)));
      case "map":
        return this.#map(node, scope);
      case "unary":
        return this.#unary(node, scope);
      case "binary":
        return compileBinary(this, node, scope);
      case "logical":
        return this.#logical(node, scope);
      case "comparison":
        return compileComparison(this, node, scope);
      case "member":
      case "method":
        return this.#chain(node, scope);
      case "slice":
        return this.#slice(node, scope);
      case "call":
        return predicates.has(node.name) ? compileLoop(this, node, scope) : compileCall(this, node, scope);
      case "conditional":
        return this.#conditional(node, scope);
      case "let":
        return this.#let(node, scope);
      default:
        return this.#sequence(node.steps.map((step) => this.code(step, scope)));
    }
  }

  #array(items: readonly Code[]): Code {
    const { length } = items;
    return (frame) => {
      frame.budget.allocate(length);
      return items.map((item) => item(frame));
    };
  }

  /** Of a key that comes twice the first value counts. */
  #map({ pairs }: MapNode, scope: Scope): Code {
    const compiled = pairs.map(({ key, value }) => ({
      key: this.code(key, scope),
      value: this.code(value, scope),
      fail: this.fail(key),
    }));
    return (frame) => {
      frame.budget.allocate(compiled.length);
      const made: TextMap = {};
      for (const { key, value, fail } of compiled) {
        const name = key(frame);
        if (typeof name !== "string") return fail(`the key of a map is a text, found ${kindOf(name)}`);
        const found = value(frame);
        if (!Object.hasOwn(made, name)) put(made, name, found);
      }
      return made;
    };
  }

  #unary({ operator, operand, ...span }: UnaryNode, scope: Scope): Code {
    const value = this.code(operand, scope);
    const fail = this.fail(span);
    if (operator === "+") return value;
    if (operator === "-") return (frame) => negated(value(frame), fail);
    return (frame) => {
      const found = value(frame);
      return typeof found === "boolean" ? !found : fail(`\`not\` expects a bool, found ${kindOf(found)}`);
    };
  }

  /** All operands but the last must be bool; nil ends an `and` with nil. The last is returned as it is. */
  #logical({ operator, operands }: LogicalNode, scope: Scope): Code {
    const codes = operands.map((operand) => this.code(operand, scope));
    const fails = operands.map((operand) => this.fail(operand));
    const stop = operator === "or";
    const last = codes.length - 1;
    const end = codes[last] as Code;
    return (frame) => {
      for (let index = 0; index < last; index += 1) {
        const found = (codes[index] as Code)(frame);
        if (found === stop) return stop;
        if (found === !stop) continue;
        if (found === null && !stop) return null;
        return (fails[index] as Fail)(`\`${operator}\` expects a bool, found ${kindOf(found)}`);
      }
      return end(frame);
    };
  }

  /** A chain of members that ended at a nil before `?.` is undefined within the chain, and nil outside. */
  #chain(node: MemberNode | MethodNode, scope: Scope): Code {
    const link = this.#link(node, scope);
    return mayEnd(node) ? (frame) => link(frame) ?? null : link;
  }

  #link(node: MemberNode | MethodNode, scope: Scope): Code {
    const continues = isLink(node.object) && !(node.kind === "member" && node.computed);
    const object = continues ? this.#link(node.object, scope) : this.code(node.object, scope);
    const step = node.kind === "method" ? this.#method(node, scope) : this.#member(node, scope);
    if (!node.optional && !(continues && mayEnd(node.object))) return (frame) => step(object(frame), frame);
    const { optional } = node;
    return (frame) => {
      const found = object(frame);
      return found === undefined || (optional && found === null) ? undefined : step(found, frame);
    };
  }

  #member({ key, ...span }: MemberNode, scope: Scope): (object: unknown, frame: Frame) => unknown {
    const fail = this.fail(span);
    if (key.kind === "literal" && typeof key.value === "string" && !(key.value in Object.prototype)) {
      const name = key.value;
      return (object) => {
        const isPlain =
          typeof object === "object" && object !== null && Object.getPrototypeOf(object) === Object.prototype;
        return isPlain ? ((object as TextMap)[name] ?? null) : member(object, name, fail);
      };
    }
    const at = this.code(key, scope);
    return (object, frame) => member(object, at(frame), fail);
  }

  #method({ name, args, ...span }: MethodNode, scope: Scope): (object: unknown, frame: Frame) => unknown {
    const codes = args.map((argument) => this.code(argument, scope));
    const fail = this.fail(span);
    return (object, frame) =>
      method(
        object,
        name,
        codes.map((code) => code(frame)),
        fail,
      );
  }

  #slice({ object, from, to, ...span }: SliceNode, scope: Scope): Code {
    const value = this.code(object, scope);
    const first = from === undefined ? undefined : this.code(from, scope);
    const last = to === undefined ? undefined : this.code(to, scope);
    const fail = this.fail(span);
    return (frame) => slice(value(frame), first?.(frame), last?.(frame), fail, frame.budget);
  }

  #conditional({ condition, whenTrue, whenFalse }: ConditionalNode, scope: Scope): Code {
    const test = this.code(condition, scope);
    const fail = this.fail(condition);
    const yes = whenTrue === undefined ? () => true : this.code(whenTrue, scope);
    const no = this.code(whenFalse, scope);
    return (frame) => {
      const found = test(frame);
      if (found === true) return yes(frame);
      return found === false ? no(frame) : fail(`a condition is a bool, found ${kindOf(found)}`);
    };
  }

  #let({ name, value, body }: LetNode, scope: Scope): Code {
    const given = this.code(value, scope);
    const [slot, inner] = scope.declare(name);
    const rest = this.code(body, inner);
    return (frame) => {
      frame.slots[slot] = given(frame);
      return rest(frame);
    };
  }

  #sequence(steps: readonly Code[]): Code {
    return (frame) => {
      let last: unknown = null;
      for (const step of steps) last = step(frame);
      return last;
    };
  }
}

/** A field of the record. Names that every object inherits are looked up as own keys only. */
export function field(name: string): Code {
  if (name === "$env") return ({ record }) => record;
  if (name in Object.prototype) return ({ record }) => (Object.hasOwn(record, name) ? (record[name] ?? null) : null);
  return ({ record }) => record[name] ?? null;
}

function isLink(node: Node): node is MemberNode | MethodNode {
  return node.kind === "member" || node.kind === "method";
}

/** Whether the chain that ends in `node` may end at a nil before `?.`. */
function mayEnd(node: Node): boolean {
  if (!isLink(node)) return false;
  return node.optional || (!(node.kind === "member" && node.computed) && mayEnd(node.object));
}
