import type { Entries } from "./entry.ts";

/** Functions whose second argument is evaluated for each item of the first. */
export const predicateEntries: Entries = {
  all: ["all(list, predicate)", "Whether the predicate holds for every item.", "all(items, .n > 1)"],
  none: ["none(list, predicate)", "Whether it holds for no item.", `none(tags, # == "z")`],
  any: ["any(list, predicate)", "Whether it holds for some item.", `any(tags, # == "a")`],
  one: ["one(list, predicate)", "Whether it holds for exactly one item.", `one(tags, # == "a")`],
  filter: ["filter(list, predicate)", "The items for which it holds.", `filter(tags, # != "a")`],
  map: ["map(list, predicate)", "What it gives for each item.", "map(items, .n * 10)"],
  count: ["count(list, predicate?)", "For how many items it holds.", "count(items, .n > 2)"],
  sum: ["sum(list, predicate?)", "The sum of the items, or of what it gives for each.", "sum(items, .n)"],
  find: ["find(list, predicate)", "The first item for which it holds, or nil.", "find(items, .n > 2)"],
  findIndex: ["findIndex(list, predicate)", "The index of that item, or nil.", "findIndex(items, .n > 2)"],
  findLast: ["findLast(list, predicate)", "The last item for which it holds, or nil.", `findLast(tags, # > "a")`],
  findLastIndex: ["findLastIndex(list, predicate)", "The index of that item, or nil.", `findLastIndex(tags, # > "a")`],
  groupBy: ["groupBy(list, predicate)", "The items by what it gives for them.", "groupBy(tags, #)"],
  sortBy: [
    "sortBy(list, predicate, order?)",
    'The items in the order of what it gives; `"desc"` turns it round.',
    `sortBy(items, .n, "desc")`,
  ],
  reduce: [
    "reduce(list, predicate, initial?)",
    "`#acc` holds what it gave for the items before.",
    "reduce(1..4, #acc * #)",
  ],
};
