import { children } from "./ast.ts";
import type { MemberNode, Node } from "./ast.ts";
import { parse } from "./parser.ts";

/** A field of the record that an expression reads by its name. */
export interface FreeName {
  readonly name: string;
  /**
   * The type that the first use of the field needs: a map for `user.id`, an array for `tags[0]`; undefined for other
   * uses.
   */
  readonly is: "map" | "array" | undefined;
}

/**
 * The fields that an expression reads, each once, in the order in which they are read. Functions, `let` variables and
 * `$env` are not fields, but `$env.name` reads a field. Throws ExpressionError for a text that does not parse.
 */
export function freeNames(expression: string): FreeName[] {
  const found = new Map<string, FreeName>();
  for (const one of namesIn(parse(expression), new Set())) if (!found.has(one.name)) found.set(one.name, one);
  return [...found.values()];
}

/**
 * The keys of the record that expressions may read; undefined where an expression uses the whole record and so may read
 * any key. Throws ExpressionError for a text that does not parse.
 */
export function namesRead(expressions: readonly string[]): string[] | undefined {
  const found = new Set(expressions.flatMap((expression) => namedIn(parse(expression))));
  return found.has("$env") ? undefined : [...found];
}

/** Every name except those of functions and members. This includes variables, which does no harm. */
function namedIn(node: Node): string[] {
  return node.kind === "name" ? [node.name] : children(node).flatMap(namedIn);
}

function* namesIn(node: Node, bound: ReadonlySet<string>): Iterable<FreeName> {
  if (node.kind === "name") {
    if (node.name !== "$env" && !bound.has(node.name)) yield { name: node.name, is: undefined };
  } else if (node.kind === "let") {
    yield* namesIn(node.value, bound);
    yield* namesIn(node.body, new Set(bound).add(node.name));
  } else if (node.kind === "member") {
    yield* namesOfMember(node, bound);
  } else {
    for (const child of children(node)) yield* namesIn(child, bound);
  }
}

function* namesOfMember(node: MemberNode, bound: ReadonlySet<string>): Iterable<FreeName> {
  const { object, key, optional } = node;
  const constant = key.kind === "literal" ? key.value : undefined;
  if (object.kind !== "name" || bound.has(object.name)) yield* namesIn(object, bound);
  else if (object.name !== "$env") yield { name: object.name, is: holderOf(constant) };
  // An optional member of the record may be a field that is not declared.
  else if (typeof constant === "string" && !optional) yield { name: constant, is: undefined };
  yield* namesIn(key, bound);
}

function holderOf(key: unknown): FreeName["is"] {
  if (typeof key === "string") return "map";
  return typeof key === "bigint" ? "array" : undefined;
}
