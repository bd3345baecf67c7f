import type { CallNode, Node } from "../syntax/ast.ts";
import { builtins } from "../functions/builtins.ts";
import { expected, type FunctionDefinition, mayTake, misuse, parameter } from "../functions/catalog.ts";
import type { Checker, TypeScope } from "./check.ts";
import { arrayOf, bool, integer, isNumber, isUnknown, itemOf, named, type Type, unknown } from "../values/types.ts";

/**
 * Checks a call of a function of the catalog: that it exists, and takes these arguments. What a helper gives is known
 * only where there is a schema: without one, functions that take any value take it.
 */
export function checkCall(checker: Checker, node: CallNode, scope: TypeScope): Type {
  const definition = checker.functions.get(node.name);
  const detail = misuse(node, checker.functions);
  if (definition === undefined || detail !== undefined) {
    const type = checker.misused(node, detail ?? "", scope);
    for (const argument of node.args) checker.type(argument, scope);
    return type;
  }
  const types = node.args.map((argument, index) => {
    const type = checker.type(argument, scope);
    checkArgument(checker, node.name, definition, index, argument, type);
    return type;
  });
  if (checker.environment === undefined && builtins.get(node.name) !== definition) return unknown;
  return typeof definition.gives === "function" ? definition.gives(types) : definition.gives;
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
  const hint =
    (wanted === "int" || wanted === "count") && isNumber(type)
      ? ": the numbers of an event are floats, write int(…)"
      : "";
  checker.mismatch(argument, `${name} expects ${expected(wanted)}, found ${named(type)}${hint}`);
}

/** Functions whose predicate must give a bool. */
const boolPredicates = new Set("all none any one filter count find findIndex findLast findLastIndex".split(" "));

/** From the types of an item and of the predicate to the type of the call; that of another call is the array of the items. */
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
  reduce: (_, predicate) => predicate,
};

/** A call that takes a predicate. */
export function checkPredicateCall(checker: Checker, node: CallNode, scope: TypeScope): Type {
  const { name, args } = node;
  const detail = misuse(node, checker.functions);
  if (detail !== undefined) return checker.misused(node, detail, scope);
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
  if (predicate !== undefined && boolPredicates.has(name) && result.kind !== "bool" && !isUnknown(result)) {
    checker.mismatch(predicate, `the predicate of ${name} is a bool, found ${named(result)}`);
  }
  // It gives what it takes, whatever that is.
  if (name === "sortBy" && isUnknown(collection)) return unknown;
  return results[name]?.(item, result) ?? arrayOf(item);
}
