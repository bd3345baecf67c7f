import type { CallNode, Node } from "../syntax/ast.ts";
import { expected, type FunctionDefinition, mayTake, parameter } from "../functions/catalog.ts";
import type { Checker, TypeScope } from "./check.ts";
import { predicates } from "../syntax/predicates.ts";
import { arrayOf, bool, integer, isUnknown, itemOf, named, type Type, unknown } from "../values/types.ts";
import { editsBetween } from "../../../schemas/edits-between.ts";

/** Checks a call of a function of the catalog: that it exists, and takes these arguments. */
export function checkCall(checker: Checker, node: CallNode, scope: TypeScope): Type {
  const definition = checker.functions.get(node.name);
  if (definition === undefined) {
    const names = [...checker.functions.keys(), ...predicates.keys()];
    return checker.refuse(node, `unknown function ${node.name}${nearest(node.name, names)}`);
  }
  checkCount(checker, node, definition);
  const types = node.args.map((argument, index) => {
    const type = checker.type(argument, scope);
    checkArgument(checker, node.name, definition, index, argument, type);
    return type;
  });
  return typeof definition.gives === "function" ? definition.gives(types) : definition.gives;
}

function checkCount(checker: Checker, node: CallNode, { takes, optional = 0, rest }: FunctionDefinition): void {
  const least = takes.length - optional;
  const most = rest === undefined ? takes.length : Infinity;
  refuseCount(checker, node, least, most);
}

/** Throws if the call does not have `least` to `most` arguments. */
function refuseCount(checker: Checker, node: CallNode, least: number, most: number): void {
  const count = node.args.length;
  if (count >= least && count <= most) return;
  const range = most === Infinity ? `at least ${least}` : least === most ? String(least) : `${least} to ${most}`;
  checker.refuse(node, `${node.name} takes ${range} argument${range.endsWith("1") ? "" : "s"}, found ${count}`);
}

function checkArgument(
  checker: Checker,
  name: string,
  definition: FunctionDefinition,
  index: number,
  argument: Node,
  type: Type,
): void {
  const wanted = parameter(definition, index);
  if (mayTake(wanted, type)) return;
  const hint = wanted === "int" && type.kind === "integral" ? ": the numbers of an event are floats, write int(…)" : "";
  checker.mismatch(argument, `${name} expects ${expected(wanted)}, found ${named(type)}${hint}`);
}

/** Functions whose predicate must give a bool. */
const boolPredicates = new Set("all none any one filter count find findIndex findLast findLastIndex".split(" "));

/** From the types of an item and of the predicate to the type of the call. */
const results: Readonly<Record<string, (item: Type, predicate: Type) => Type>> = {
  all: () => bool,
  none: () => bool,
  any: () => bool,
  one: () => bool,
  count: () => integer,
  filter: (item) => arrayOf(item),
  map: (_, predicate) => arrayOf(predicate),
  find: (item) => item,
  findIndex: () => integer,
  findLast: (item) => item,
  findLastIndex: () => integer,
  sum: (_, predicate) => predicate,
  groupBy: (item) => ({ kind: "map", item: arrayOf(item) }),
  sortBy: (item) => arrayOf(item),
  reduce: (_, predicate) => predicate,
};

/** A call that takes a predicate. */
export function checkPredicateCall(checker: Checker, node: CallNode, scope: TypeScope): Type {
  const { name, args } = node;
  const { least, most } = predicates.get(name) ?? { least: 0, most: 0 };
  refuseCount(checker, node, least, most);
  const [list, predicate, extra] = args;
  const collection = list === undefined ? unknown : checker.type(list, scope);
  if (list !== undefined && !["array", "string", "unknown"].includes(collection.kind)) {
    checker.mismatch(list, `${name} expects an array, found ${named(collection)}`);
  }
  if (extra !== undefined) checker.type(extra, scope);
  // A loop over a text sees its bytes.
  const item = collection.kind === "string" ? integer : itemOf(collection);
  const pointers = { item, index: integer, ...(name === "reduce" && { acc: unknown }) };
  const result = predicate === undefined ? item : checker.type(predicate, { ...scope, pointers });
  if (boolPredicates.has(name) && result.kind !== "bool" && !isUnknown(result)) {
    checker.mismatch(predicate ?? node, `the predicate of ${name} is a bool, found ${named(result)}`);
  }
  return results[name]?.(item, result) ?? unknown;
}

/** `; did you mean level?` if one of the names is close enough, otherwise the empty text. */
export function nearest(name: string, names: readonly string[]): string {
  const most = Math.max(1, Math.floor(name.length / 3));
  const ranked = names
    .filter((candidate) => Math.abs(candidate.length - name.length) <= most)
    .map((candidate) => ({ candidate, distance: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter((found) => found.distance <= most)
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0] === undefined ? "" : `; did you mean ${ranked[0].candidate}?`;
}
