import type { CallNode } from "./ast.ts";
import type { Checker, Surroundings } from "./check.ts";
import { refuseCount } from "./check-calls.ts";
import { predicates } from "./predicates.ts";
import { arrayOf, bool, integer, isUnknown, itemOf, named, unknown } from "./types.ts";
import type { Type } from "./types.ts";

const tests = new Set("all none any one filter count find findIndex findLast findLastIndex".split(" "));

/** From the types of the collection and the predicate to the type of the call. */
const results: Readonly<Record<string, (collection: Type, predicate: Type) => Type>> = {
  all: () => bool,
  none: () => bool,
  any: () => bool,
  one: () => bool,
  count: () => integer,
  filter: (collection) => arrayOf(itemOf(collection)),
  map: (_, predicate) => arrayOf(predicate),
  find: (collection) => itemOf(collection),
  findIndex: () => integer,
  findLast: (collection) => itemOf(collection),
  findLastIndex: () => integer,
  sum: (_, predicate) => predicate,
  groupBy: (collection) => ({ kind: "map", item: arrayOf(itemOf(collection)) }),
  sortBy: (collection) => arrayOf(itemOf(collection)),
  reduce: (_, predicate) => predicate,
};

/** A call that takes a predicate. */
export function checkPredicateCall(checker: Checker, node: CallNode, around: Surroundings): Type {
  const { name, args } = node;
  const { least, most } = predicates.get(name) ?? { least: 0, most: 0 };
  refuseCount(checker, node, least, most);
  const [list, predicate, extra] = args;
  const collection = list === undefined ? unknown : checker.type(list, around);
  if (list !== undefined && collection.kind !== "array" && !isUnknown(collection)) {
    checker.refuse(list, `${name} expects an array, found ${named(collection)}`);
  }
  if (extra !== undefined) checker.type(extra, around);
  const item = itemOf(collection);
  const pointers = { item, index: integer, ...(name === "reduce" && { acc: unknown }) };
  const result = predicate === undefined ? item : checker.type(predicate, { ...around, pointers });
  if (tests.has(name) && result.kind !== "bool" && !isUnknown(result)) {
    checker.refuse(predicate ?? node, `the predicate of ${name} is a bool, found ${named(result)}`);
  }
  return results[name]?.(collection, result) ?? unknown;
}
