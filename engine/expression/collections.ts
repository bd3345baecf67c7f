import type { Node } from "./ast.ts";
import type { Parser } from "./parser.ts";

/** `[a, b]` */
export function array(parser: Parser): Node {
  const { start } = parser.cursor.expect("[");
  const items = list(parser, "]", () => parser.expression(0));
  return parser.make({ kind: "array", items, start, end: parser.cursor.end });
}

/** `{key: value}`: a key is a name, a text, a number, or an expression in parentheses. */
export function map(parser: Parser): Node {
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
export function list<T>(parser: Parser, close: string, element: () => T): T[] {
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
