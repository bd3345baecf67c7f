import type { Node, PointerNode } from "./ast.ts";
import { array, list, map } from "./collections.ts";
import { literal } from "./literals.ts";
import { unary } from "./operators.ts";
import type { Parser } from "./parser.ts";
import { postfix } from "./postfix.ts";
import { predicates } from "./predicates.ts";

/** An operand with what stands before and behind it. */
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
