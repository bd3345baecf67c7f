import { type Fail, negated } from "../values/arithmetic.ts";
import type { CallNode, ConditionalNode, LetNode, LogicalNode, MapNode, Node, UnaryNode } from "../syntax/ast.ts";
import { BudgetExceeded } from "../values/budget.ts";
import {
  type Call,
  type Catalog,
  expected,
  type FunctionDefinition,
  isGuarded,
  misuse,
  type Parameter,
  parameter,
  takes,
} from "../functions/catalog.ts";
import { compileComparison } from "./comparisons.ts";
import { ExpressionError, type Span } from "../syntax/errors.ts";
import { type Code, Frame, Scope } from "./frame.ts";
import { keyReader } from "../../event/field-path.ts";
import { compileLoop } from "./loops.ts";
import { deciding } from "./known.ts";
import { compileChain, compileSlice } from "./members.ts";
import { compileBinary } from "./operations.ts";
import { predicates } from "../syntax/predicates.ts";
import { unnamedByte } from "../values/named.ts";
import { kindOf, put, type TextMap } from "../values/values.ts";

/** Runs an expression on a record. Throws ExpressionError and nothing else. */
export type Program = (record: TextMap, clock: number) => unknown;

/**
 * Compiles a tree to closures. The tree has been checked; types that the check could not know are checked at run time.
 */
export function compile(root: Node, source: string, functions: Catalog): Program {
  const frame = new Frame();
  const code = new Compiler(source, functions, frame).code(root, new Scope());
  return (record, clock) => {
    frame.begin(record, clock);
    try {
      return code(frame);
    } catch (error) {
      throw located(error, source, root);
    }
  };
}

/** Adds the place to errors that can occur anywhere: an exceeded budget, or values that nest too deep for the stack. */
function located(error: unknown, source: string, root: Span): ExpressionError {
  if (error instanceof ExpressionError) return error;
  return new ExpressionError("evaluate", source, root, reason(error), error);
}

function reason(error: unknown): string {
  if (error instanceof BudgetExceeded) return "the evaluation needs more time or memory than one record may use";
  if (error instanceof RangeError) return "the values are too large or nest too deep";
  return "internal error of the evaluator: please report the expression";
}

/** One compilation. The files that compile a family of nodes call it for the child nodes. */
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
        return compileChain(this, node, scope);
      case "slice":
        return compileSlice(this, node, scope);
      case "call":
        return compileCall(this, node, scope);
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

  /** If a key occurs twice, the first value counts. */
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

  /** All operands except the last must be bool; nil ends an `and` with nil. The last one is returned as it is. Operands that are known are left out. */
  #logical({ operator, operands: written }: LogicalNode, scope: Scope): Code {
    const stop = operator === "or";
    const operands = deciding(written, stop);
    if (typeof operands === "boolean") return () => operands;
    const codes = operands.map((operand) => this.code(operand, scope));
    const fails = operands.map((operand) => this.fail(operand));
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

/** A field of the record. Only own keys count, also for names that every object inherits. */
export function field(name: string): Code {
  if (name === "$env") return ({ record }) => record;
  if (name in Object.prototype) return ({ record }) => (Object.hasOwn(record, name) ? (record[name] ?? null) : null);
  const read = keyReader(name);
  return ({ record }) => read(record) ?? null;
}

/** Calls a function. The kinds of its arguments are checked where it is called. */
function compileCall(compiler: Compiler, node: CallNode, scope: Scope): Code {
  const detail = misuse(node, compiler.functions);
  if (detail !== undefined) return () => compiler.fail(node)(detail);
  const definition = compiler.functions.get(node.name);
  if (definition === undefined || predicates.has(node.name)) return compileLoop(compiler, node, scope);
  const [first] = node.args;
  // It makes no array, so it can be said of a map too, whose items have no order.
  if (node.name === "len" && first?.kind === "call" && first.name === "filter")
    return compileLoop(compiler, first, scope, "count");
  const { frame } = compiler;
  const call: Call = { fail: compiler.fail(node), budget: frame.budget, clock: () => frame.clock };
  const codes = node.args.map((argument, index) => {
    return guarded(compiler.code(argument, scope), parameter(definition, index), compiler.fail(argument), node.name);
  });
  return applied(definition, call, codes);
}

function guarded(code: Code, wanted: Parameter, fail: Fail, name: string): Code {
  if (!isGuarded(wanted)) return code;
  const quick = wanted === "string" ? "string" : undefined;
  return (frame) => {
    const value = code(frame);
    if (typeof value === quick) return value;
    const kind = kindOf(value);
    return takes(wanted, kind) ? unnamedByte(value) : fail(`${name} expects ${expected(wanted)}, found ${kind}`);
  };
}

/** Calls with up to three arguments allocate no array. */
function applied({ run }: FunctionDefinition, call: Call, codes: readonly Code[]): Code {
  const [a, b, c] = codes;
  if (a === undefined) return () => run(call);
  if (b === undefined) return (frame) => run(call, a(frame));
  if (c === undefined) return (frame) => run(call, a(frame), b(frame));
  if (codes.length === 3) return (frame) => run(call, a(frame), b(frame), c(frame));
  return (frame) => run(call, ...codes.map((code) => code(frame)));
}
