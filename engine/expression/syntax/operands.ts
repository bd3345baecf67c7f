import type { LiteralNode, Node, PointerNode } from "./ast.ts";
import { unary } from "./operators.ts";
import type { Parser } from "./parser.ts";
import { predicates } from "./predicates.ts";
import type { Cursor } from "./cursor.ts";

/** An operand with its unary operators and its postfixes. */
export function operand(parser: Parser): Node {
  const token = parser.cursor.current;
  const operator = token.kind === "operator" ? unary.get(token.value) : undefined;
  if (operator !== undefined) {
    parser.cursor.take();
    const value = parser.expression(operator.level);
    return parser.make({ kind: "unary", operator: operator.is, operand: value, start: token.start, end: value.end });
  }
  return postfix(parser, primary(parser));
}

function primary(parser: Parser): Node {
  const token = parser.cursor.current;
  const value = literal(parser.cursor);
  if (value !== undefined) return parser.make(value);
  if (token.kind === "name") return named(parser);
  if (parser.cursor.accept("(")) {
    const node = parser.sequence();
    parser.cursor.expect(")");
    return node;
  }
  if (parser.inPredicate && (parser.cursor.is("#") || parser.cursor.is("."))) return pointer(parser);
  if (parser.cursor.is("[")) return array(parser);
  if (parser.cursor.is("{")) return map(parser);
  return parser.cursor.refuse("expected a value");
}

function named(parser: Parser): Node {
  const { value: name, start, end } = parser.cursor.take();
  return parser.cursor.is("(") ? call(parser, name, start, []) : parser.make({ kind: "name", name, start, end });
}

/** `#`, `#index`, `#acc`; before `.field` the item itself is implied. */
function pointer(parser: Parser): PointerNode {
  const { start, end } = parser.cursor.current;
  if (!parser.cursor.accept("#")) return parser.make({ kind: "pointer", name: "item", start, end: start });
  const { current } = parser.cursor;
  if (current.kind !== "name" || current.start !== end)
    return parser.make({ kind: "pointer", name: "item", start, end });
  if (current.value !== "index" && current.value !== "acc") parser.cursor.refuse("expected #, #index or #acc");
  parser.cursor.take();
  return parser.make({ kind: "pointer", name: current.value, start, end: current.end });
}

/** The call of `name`, whose `(` comes next; `given` holds the piped argument. */
export function call(parser: Parser, name: string, start: number, given: readonly Node[]): Node {
  parser.cursor.expect("(");
  let position = given.length;
  const rest = list(parser, ")", () => {
    position += 1;
    return predicates.has(name) && position === 2 ? parser.predicate() : parser.expression(0);
  });
  return parser.make({ kind: "call", name, args: [...given, ...rest], start, end: parser.cursor.end });
}

/** The postfixes of an operand: `.key`, `?.key`, `[index]`, `[from:to]` and calls of methods. */
export function postfix(parser: Parser, first: Node): Node {
  let node = first;
  for (;;) {
    const optional = parser.cursor.is("?.");
    if (optional || parser.cursor.is(".")) {
      parser.cursor.take();
      node = optional && parser.cursor.is("[") ? bracket(parser, node, true) : dot(parser, node, optional);
    } else if (parser.cursor.is("[")) {
      node = bracket(parser, node, false);
    } else {
      return node;
    }
  }
}

function dot(parser: Parser, object: Node, optional: boolean): Node {
  const { kind, value, start, end } = parser.cursor.current;
  if (kind !== "name" && !(kind === "operator" && /^\p{L}/u.test(value)))
    parser.cursor.refuse("expected the name of a field");
  parser.cursor.take();
  if (parser.cursor.accept("(")) {
    const args = list(parser, ")", () => parser.expression(0));
    return parser.make({
      kind: "method",
      object,
      name: value,
      args,
      optional,
      start: object.start,
      end: parser.cursor.end,
    });
  }
  const key = parser.make({ kind: "literal" as const, value, start, end });
  return parser.make({ kind: "member", object, key, optional, computed: false, start: object.start, end });
}

function bracket(parser: Parser, object: Node, optional: boolean): Node {
  parser.cursor.expect("[");
  const from = parser.cursor.is(":") ? undefined : parser.expression(0);
  if (!parser.cursor.is(":") && from !== undefined) {
    parser.cursor.expect("]");
    const span = { start: object.start, end: parser.cursor.end };
    return parser.make({ kind: "member", object, key: from, optional, computed: true, ...span });
  }
  if (optional) parser.cursor.refuse("expected an index: ?.[ ] takes no slice");
  parser.cursor.expect(":");
  const to = parser.cursor.is("]") ? undefined : parser.expression(0);
  parser.cursor.expect("]");
  return parser.make({ kind: "slice", object, from, to, start: object.start, end: parser.cursor.end });
}

/** `[a, b]` */
function array(parser: Parser): Node {
  const { start } = parser.cursor.expect("[");
  const items = list(parser, "]", () => parser.expression(0));
  return parser.make({ kind: "array", items, start, end: parser.cursor.end });
}

/** `{key: value}`: a key is a name, a text, a number, or an expression in parentheses. */
function map(parser: Parser): Node {
  const { start } = parser.cursor.expect("{");
  const pairs = list(parser, "}", () => {
    const key = mapKey(parser);
    parser.cursor.expect(":");
    return { key, value: parser.expression(0) };
  });
  return parser.make({ kind: "map", pairs, start, end: parser.cursor.end });
}

function mapKey(parser: Parser): Node {
  const { kind, value, start, end } = parser.cursor.current;
  if (parser.cursor.is("(")) return parser.expression(0);
  if (kind === "end" || kind === "operator") {
    return parser.cursor.refuse("expected a key: a name, a text, a number, or an expression in parentheses");
  }
  parser.cursor.take();
  return parser.make({ kind: "literal", value, start, end });
}

/** Elements between commas up to `close`; a comma before `close` is allowed. */
function list<T>(parser: Parser, close: string, element: () => T): T[] {
  const elements: T[] = [];
  while (!parser.cursor.accept(close)) {
    if (elements.length > 0) {
      parser.cursor.expect(",");
      if (parser.cursor.accept(close)) break;
    }
    elements.push(element());
  }
  return elements;
}

const words: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["nil", null],
]);

const LARGEST = 2n ** 63n - 1n;
/** Enough for the largest integer in binary, with leading zeros. */
const MOST_DIGITS = 100;

/** Takes a literal, if one comes next. */
function literal(cursor: Cursor): LiteralNode | undefined {
  const { kind, value, start, end } = cursor.current;
  if (kind === "name") {
    const word = words.get(value);
    if (word === undefined) return undefined;
    cursor.take();
    return { kind: "literal", value: word, start, end };
  }
  if (kind !== "text" && kind !== "int" && kind !== "float") return undefined;
  const decoded = kind === "text" ? value : kind === "int" ? integer(cursor, value) : float(cursor, value);
  cursor.take();
  return { kind: "literal", value: decoded, start, end };
}

function integer(cursor: Cursor, digits: string): bigint {
  const value = digits.length > MOST_DIGITS ? undefined : BigInt(digits.toLowerCase());
  if (value !== undefined && value <= LARGEST) return value;
  throw cursor.error(cursor.current, `this integer is too large: the largest is ${LARGEST}`);
}

function float(cursor: Cursor, digits: string): number {
  const value = Number(digits);
  if (Number.isFinite(value)) return value;
  throw cursor.error(cursor.current, "this number is too large");
}
