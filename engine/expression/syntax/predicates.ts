/**
 * Builtins whose second argument is evaluated once per item of the first, with how many arguments they take.
 * `reduce` and `sortBy` take a third, ordinary one.
 */
export const predicates: ReadonlyMap<string, { readonly least: number; readonly most: number }> = new Map([
  ["all", { least: 2, most: 2 }],
  ["none", { least: 2, most: 2 }],
  ["any", { least: 2, most: 2 }],
  ["one", { least: 2, most: 2 }],
  ["filter", { least: 2, most: 2 }],
  ["map", { least: 2, most: 2 }],
  ["count", { least: 1, most: 2 }],
  ["sum", { least: 1, most: 2 }],
  ["find", { least: 2, most: 2 }],
  ["findIndex", { least: 2, most: 2 }],
  ["findLast", { least: 2, most: 2 }],
  ["findLastIndex", { least: 2, most: 2 }],
  ["groupBy", { least: 2, most: 2 }],
  ["sortBy", { least: 2, most: 3 }],
  ["reduce", { least: 2, most: 3 }],
]);
