import * as fc from "fast-check";
import type { Node } from "../../engine/expression/syntax/ast.ts";
import { builtins } from "../../engine/expression/functions/builtins.ts";
import { helpers } from "../../engine/expression/functions/helpers.ts";
import { predicates } from "../../engine/expression/syntax/predicates.ts";
import { print } from "../../engine/expression/syntax/print.ts";

/** Fields of the records that `records` makes; `hostile` ones are names that every JavaScript object inherits. */
const fields = [
  "text",
  "number",
  "flag",
  "list",
  "people",
  "map",
  "nothing",
  "missing",
  "constructor",
  "__proto__",
  "toString",
];

const at = { start: 0, end: 0 };
const texts = ["", "a", "abc", "héllo", "😀", "2024-03-01", "k", "constructor", "__proto__", "1", "x=1&y=2", "a+", "("];
const numbers = [0, 0.5, 1, 2.5, -3.7, 1e21, 1e-7, 2 ** 53];
const integers = [0n, 1n, 2n, 3n, 7n, 64n, 1000n, 2n ** 53n + 1n, 2n ** 63n - 1n];

const literal = fc.oneof(
  fc.constantFrom<null | boolean>(null, true, false),
  fc.constantFrom(...texts),
  fc.constantFrom(...numbers.filter((value) => value >= 0)),
  fc.constantFrom(...integers),
);

/** A function with a number of arguments that is right most of the time. */
const callees = [...new Set([...builtins.keys(), ...helpers.keys()])];

/** Trees of every kind of node; most of them make no sense, and all of them can be written down. */
const trees = fc.letrec<{ node: Node; leaf: Node; whole: Node }>((tie) => ({
  leaf: fc.oneof(
    literal.map((value): Node => ({ kind: "literal", value, ...at })),
    fc.constantFrom(...fields, "$env").map((name): Node => ({ kind: "name", name, ...at })),
  ),
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    fc.array(tie("node"), { maxLength: 3 }).map((items): Node => ({ kind: "array", items, ...at })),
    fc
      .array(fc.record({ key: fc.constantFrom(...texts), value: tie("node") }), { maxLength: 2 })
      .map((pairs): Node => ({
        kind: "map",
        pairs: pairs.map(({ key, value }) => ({ key: { kind: "literal", value: key, ...at }, value })),
        ...at,
      })),
    fc
      .record({ operator: fc.constantFrom("not" as const, "-" as const, "+" as const), operand: tie("node") })
      .map((parts): Node => ({ kind: "unary", ...parts, ...at })),
    fc
      .record({
        operator: fc.constantFrom(
          ...(["==", "!=", "in", "matches", "contains", "startsWith", "endsWith", "..", "+", "-", "*"] as const),
          ...(["/", "%", "**", "??"] as const),
        ),
        left: tie("node"),
        right: tie("node"),
      })
      .map((parts): Node => ({ kind: "binary", ...parts, ...at })),
    fc
      .record({
        operator: fc.constantFrom("and" as const, "or" as const),
        operands: fc.array(tie("node"), { minLength: 2, maxLength: 3 }),
      })
      .map(flattened),
    fc
      .record({
        operators: fc.array(fc.constantFrom("<" as const, "<=" as const, ">" as const), { minLength: 1, maxLength: 2 }),
        operands: fc.array(tie("node"), { minLength: 3, maxLength: 3 }),
      })
      .map(({ operators, operands }): Node => {
        return { kind: "comparison", operators, operands: operands.slice(0, operators.length + 1), ...at };
      }),
    fc
      .record({
        object: tie("node"),
        key: fc.constantFrom("k", "name", "constructor", "__proto__"),
        optional: fc.boolean(),
      })
      .map(({ object, key, optional }): Node => {
        return {
          kind: "member",
          object,
          key: { kind: "literal", value: key, ...at },
          optional,
          computed: false,
          ...at,
        };
      }),
    fc
      .record({ object: tie("node"), key: tie("node"), optional: fc.boolean() })
      .map((parts): Node => ({ kind: "member", computed: true, ...parts, ...at })),
    fc
      .record({
        object: tie("node"),
        from: fc.option(tie("node"), { nil: undefined }),
        to: fc.option(tie("node"), { nil: undefined }),
      })
      .map((parts): Node => ({ kind: "slice", ...parts, ...at })),
    fc
      .record({ name: fc.constantFrom(...callees), args: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) })
      .map((parts): Node => ({ kind: "call", ...parts, ...at })),
    fc
      .record({ name: fc.constantFrom(...predicates.keys()), list: tie("node"), predicate: tie("whole") })
      .map(({ name, list, predicate }): Node => ({ kind: "call", name, args: [list, inside(predicate)], ...at })),
    fc
      .record({
        object: tie("node"),
        name: fc.constantFrom("Year", "Hours", "constructor"),
        args: fc.array(tie("leaf"), { maxLength: 1 }),
      })
      .map((parts): Node => ({ kind: "method", optional: false, ...parts, ...at })),
    fc
      .record({ condition: tie("node"), whenTrue: fc.option(tie("node"), { nil: undefined }), whenFalse: tie("node") })
      .map((parts): Node => ({ kind: "conditional", ...parts, ...at })),
  ),
  whole: fc.oneof(
    { weight: 6, arbitrary: tie("node") },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("node"), tie("node"))
        .map(([value, body]): Node => ({ kind: "let", name: "v", value, body, ...at })),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(tie("node"), { minLength: 2, maxLength: 3 })
        .map((steps): Node => ({ kind: "sequence", steps, ...at })),
    },
  ),
}));

/** The parser joins a chain of one logical operator where it stands on the left. */
function flattened({ operator, operands }: { operator: "and" | "or"; operands: Node[] }): Node {
  const [first, ...rest] = operands;
  const left =
    first?.kind === "logical" && first.operator === operator ? first.operands : first === undefined ? [] : [first];
  return { kind: "logical", operator, operands: [...left, ...rest], ...at };
}

/** The same tree with the leaves of names turned to `#` where that is possible, so that predicates look at their item. */
function inside(node: Node): Node {
  if (node.kind === "name") return { kind: "pointer", name: node.name === "flag" ? "index" : "item", ...at };
  if (node.kind === "binary") return { ...node, left: inside(node.left), right: node.right };
  return node.kind === "comparison" ? { ...node, operands: node.operands.map(inside) } : node;
}

/** Trees that may come from the parser. */
export const expressionTrees: fc.Arbitrary<Node> = trees.whole;

/** Texts of expressions that parse. */
export const expressions: fc.Arbitrary<string> = trees.whole.map(print);

/** Records with a value of every kind, and keys that are traps. */
export const records: fc.Arbitrary<Record<string, unknown>> = fc
  .record({
    text: fc.constantFrom(...texts),
    number: fc.constantFrom(...numbers),
    flag: fc.boolean(),
    list: fc.array(fc.oneof(fc.constantFrom(...texts), fc.constantFrom(...numbers), fc.boolean(), fc.constant(null)), {
      maxLength: 4,
    }),
    people: fc.array(fc.record({ name: fc.constantFrom(...texts), k: fc.constantFrom(...numbers) }), { maxLength: 3 }),
    map: fc.dictionary(
      fc.constantFrom("k", "name", "constructor", "__proto__"),
      fc.constantFrom<unknown>(1, "a", null, [1], { k: 2 }),
    ),
    nothing: fc.constant(null),
  })
  // Through JSON, as records come: then `__proto__` is an own key.
  .map((record) => JSON.parse(JSON.stringify(record)) as Record<string, unknown>);
