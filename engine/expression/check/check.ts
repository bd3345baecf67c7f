import type {
  CallNode,
  ConditionalNode,
  LetNode,
  MapNode,
  NameNode,
  Node,
  PointerNode,
  UnaryNode,
} from "../syntax/ast.ts";
import type { Catalog } from "../functions/catalog.ts";
import { checkCall, checkPredicateCall } from "./calls.ts";
import { checkMember, checkMethod, checkSlice } from "./members.ts";
import { checkBinary, checkComparison, checkLogical } from "./operators.ts";
import { ExpressionError, MisspeltField, type Span } from "../syntax/errors.ts";
import { nearest } from "../syntax/nearest.ts";
import { predicates } from "../syntax/predicates.ts";
import { CompileBudget, type CompileBudgetExceeded } from "../values/compile-budget.ts";
import {
  arrayOf,
  bool,
  float,
  integer,
  isNumber,
  isUnknown,
  map,
  mayBeNil,
  named,
  nil,
  text,
  type Type,
  unknown,
} from "../values/types.ts";

/** The meaning of names at one place of an expression. */
export interface TypeScope {
  readonly variables: ReadonlyMap<string, Type>;
  /** The types of `#`, `#index` and `#acc` in the innermost predicate. */
  readonly pointers: Readonly<Partial<Record<PointerNode["name"], Type>>> | undefined;
}

/** What the check of an expression has found. */
export interface Checked {
  type: Type;
  /** Kinds that do not fit together, in code that runs for some records only: those become dead letters. And nested fields that are probably misspelt. */
  warnings: readonly ExpressionError[];
}

/**
 * Finds errors that do not depend on the record: unknown names and functions, wrong numbers of arguments, kinds that do
 * not fit together. Without an environment every name is known and of unknown type. Throws ExpressionError.
 */
export function check(
  root: Node,
  source: string,
  functions: Catalog,
  environment: Type | undefined,
  budget = new CompileBudget(),
): Checked {
  const checker = new Checker(source, functions, environment, budget);
  const type = checker.type(root, { variables: new Map(), pointers: undefined });
  return { type, warnings: checker.warnings };
}

/** One check. The files that check a family of nodes call it for the child nodes. */
export class Checker {
  readonly source: string;
  readonly functions: Catalog;
  readonly environment: Type | undefined;
  readonly budget: CompileBudget;
  readonly warnings: ExpressionError[] = [];
  /** How many branches the code is in that is checked: it may not run. */
  #branches = 0;

  constructor(source: string, functions: Catalog, environment: Type | undefined, budget: CompileBudget) {
    this.source = source;
    this.functions = functions;
    this.environment = environment;
    this.budget = budget;
  }

  /** What can never run: a name or a function that does not exist. */
  refuse(span: Span, detail: string, cause?: CompileBudgetExceeded): never {
    throw new ExpressionError("compile", this.source, span, detail, cause);
  }

  /**
   * A call that cannot run. Without an environment, where names that do not exist are nil, it fails where it runs: in a
   * branch or a predicate it is a warning.
   */
  misused(span: Span, detail: string, { pointers }: TypeScope): Type {
    const runs = this.#branches === 0 && pointers === undefined;
    if (this.environment !== undefined || runs) return this.refuse(span, detail);
    this.warnings.push(new ExpressionError("compile", this.source, span, detail));
    return unknown;
  }

  /** A nested field that is probably misspelt. */
  doubt(span: Span, detail: string): void {
    this.warnings.push(new ExpressionError("compile", this.source, span, detail, new MisspeltField()));
  }

  /** Kinds that do not fit together: an error when the code runs. In code that may not run it is a warning, and the check goes on. */
  mismatch(span: Span, detail: string): Type {
    const error = new ExpressionError("compile", this.source, span, detail);
    if (this.#branches === 0) throw error;
    this.warnings.push(error);
    return unknown;
  }

  /** The type of code that may not run: kinds in it that do not fit together are a warning. */
  branch(node: Node, scope: TypeScope): Type {
    this.#branches += 1;
    const type = this.type(node, scope);
    this.#branches -= 1;
    return type;
  }

  type(node: Node, scope: TypeScope): Type {
    switch (node.kind) {
      case "literal":
        return literalType(node.value);
      case "name":
        return this.#name(node, scope);
      case "pointer":
        return this.#pointer(node, scope);
      case "array":
        return arrayOf(common(node.items.map((item) => this.type(item, scope))));
      case "map":
        return this.#map(node, scope);
      case "unary":
        return this.#unary(node, scope);
      case "binary":
        return checkBinary(this, node, scope);
      case "logical":
        return checkLogical(this, node, scope);
      case "comparison":
        return checkComparison(this, node, scope);
      case "member":
        return checkMember(this, node, scope);
      case "method":
        return checkMethod(this, node, scope);
      case "slice":
        return checkSlice(this, node, scope);
      case "call":
        return this.#call(node, scope);
      case "conditional":
        return this.#conditional(node, scope);
      case "let":
        return this.#let(node, scope);
      default:
        return node.steps.map((step) => this.type(step, scope)).at(-1) ?? nil;
    }
  }

  #name(node: NameNode, { variables }: TypeScope): Type {
    const variable = variables.get(node.name);
    if (variable !== undefined) return variable;
    if (node.name === "$env" || this.environment === undefined) return unknown;
    return this.declared(node, node.name);
  }

  /** The type of a top-level field. */
  declared(span: Span, name: string): Type {
    const fields = this.environment?.fields ?? new Map<string, Type>();
    const type = fields.get(name);
    if (type !== undefined) return type;
    if (name === "null") return this.refuse(span, "unknown name: the language has `nil` instead");
    const what = fields.size === 0 ? "the schema declares no field" : "the schema declares no such field";
    return this.refuse(span, `unknown name: ${what}${nearest(name, [...fields.keys()])}`);
  }

  #pointer(node: PointerNode, { pointers }: TypeScope): Type {
    const type = pointers?.[node.name];
    return type ?? this.refuse(node, `#${node.name === "item" ? "" : node.name} has no meaning here`);
  }

  #map({ pairs }: MapNode, scope: TypeScope): Type {
    for (const { key, value } of pairs) {
      const type = this.type(key, scope);
      if (type.kind !== "string" && !isUnknown(type))
        this.mismatch(key, `the key of a map is a text, found ${named(type)}`);
      this.type(value, scope);
    }
    return map;
  }

  #unary({ operator, operand, ...span }: UnaryNode, scope: TypeScope): Type {
    const type = this.type(operand, scope);
    if (operator === "not") {
      if (type.kind === "bool" || isUnknown(type)) return bool;
      return this.mismatch(
        span,
        `\`not\` expects a bool, found ${named(type)}; it binds tighter than a comparison: write not (…)`,
      );
    }
    if (isNumber(type)) return { kind: type.kind };
    return isUnknown(type) ? type : this.mismatch(span, `expected a number, found ${named(type)}`);
  }

  #call(node: CallNode, scope: TypeScope): Type {
    return predicates.has(node.name) ? checkPredicateCall(this, node, scope) : checkCall(this, node, scope);
  }

  #conditional({ condition, whenTrue, whenFalse }: ConditionalNode, scope: TypeScope): Type {
    const test = this.type(condition, scope);
    if (test.kind !== "bool" && !isUnknown(test))
      this.mismatch(condition, `a condition is a bool, found ${named(test)}`);
    const yes = whenTrue === undefined ? bool : this.branch(whenTrue, scope);
    return either(yes, this.branch(whenFalse, scope));
  }

  #let(node: LetNode, scope: TypeScope): Type {
    const { name } = node;
    const taken =
      (this.environment?.fields?.has(name) === true && "a field") ||
      ((this.functions.has(name) || predicates.has(name)) && "a function") ||
      (scope.variables.has(name) && "a variable");
    if (taken !== false) this.refuse(node, `the name ${name} is already ${taken}: choose another for the variable`);
    const variables = new Map(scope.variables).set(name, this.type(node.value, scope));
    return this.type(node.body, { ...scope, variables });
  }
}

function literalType(value: unknown): Type {
  if (value === null) return nil;
  const types: Readonly<Record<string, Type>> = { boolean: bool, bigint: integer, number: float, string: text };
  return types[typeof value] ?? unknown;
}

/** The type of a value that has one of two types. */
export function either(a: Type, b: Type): Type {
  if (a.kind === "nil") return { ...b, orNil: true };
  if (b.kind === "nil") return { ...a, orNil: true };
  const orNil = mayBeNil(a) || mayBeNil(b);
  return { ...(a.kind === b.kind ? a : unknown), orNil };
}

function common(types: readonly Type[]): Type {
  const [first, ...rest] = types;
  if (first === undefined) return unknown;
  return rest.every(({ kind }) => kind === first.kind) ? first : unknown;
}
