import type { Node } from "./ast.ts";
import { list } from "./collections.ts";
import type { Parser } from "./parser.ts";

/** What follows an operand: `.key`, `?.key`, `[index]`, `[from:to]` and calls of methods. */
export function postfix(parser: Parser, operand: Node): Node {
  let node = operand;
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
