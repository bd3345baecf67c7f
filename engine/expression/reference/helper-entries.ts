import type { Entries } from "./entry.ts";

/** Helpers that replace a builtin of their name. */
export const replacingEntries: Entries = {
  trim: ["trim(value)", "Without white space at both ends.", `trim(" a ")`],
  upper: ["upper(value)", "In capitals.", "upper(nothing)"],
  lower: ["lower(value)", "In small letters.", "lower(ok)"],
  split: ["split(value, separator)", "The parts; of an empty text the empty text.", `split(query, "&")`],
  replace: ["replace(value, old, new)", "With all occurrences replaced.", `replace(status, "0", "x")`],
  join: ["join(list, separator)", "The items as texts in one; of no array the empty text.", `join([1, nil, "a"], "-")`],
  hasPrefix: ["hasPrefix(value, prefix)", "Whether it begins so; an empty text never does.", `hasPrefix("", "")`],
  hasSuffix: ["hasSuffix(value, suffix)", "Whether it ends so; an empty text never does.", `hasSuffix(status, "3")`],
  keys: ["keys(map)", "The keys, sorted; of no map an empty array.", "keys(name)"],
};

/** Helpers that filters do not have by any name. */
export const helperEntries: Entries = {
  toInt: ["toInt(value)", "The integer of a text; a fraction is rounded down; 0 for anything else.", `toInt("-4.2")`],
  toFloat: ["toFloat(value)", "The float of a text; 0 for anything else.", `toFloat("x")`],
  // Without `as const` the type of every object's toString gets in the way.
  toString: ["toString(value)", "As text, numbers without exponent.", "toString(big)"] as const,
  containsStr: [
    "containsStr(value, part)",
    "Whether it holds the part; an empty text holds nothing.",
    `containsStr(name, "nn")`,
  ],
  waterfall: [
    "waterfall(a, b, …)",
    "The first value that is neither nil nor empty, as text; an array alone gives its items.",
    `waterfall(nothing, "", 0)`,
  ],
  parseISO8601: ["parseISO8601(text)", "Unix seconds; 0 for a text in another layout.", "parseISO8601(ts)"],
  toDate: ["toDate(value)", "The day, in UTC, of Unix seconds or a time; 0 for anything else.", "toDate(1709288430)"],
  parseQuery: ["parseQuery(text)", "The parameters of a query; repeated ones are arrays.", "parseQuery(query)"],
  getQueryParam: [
    "getQueryParam(query, name)",
    "One parameter; the empty text if it is missing.",
    `getQueryParam(query, "id")`,
  ],
  getNestedParam: [
    "getNestedParam(query, name)",
    "The same; a dot in the name is a dot.",
    `getNestedParam("a.b=1", "a.b")`,
  ],
  urlDecode: ["urlDecode(text)", "With `%XX` and `+` decoded; a bad escape is an error.", `urlDecode("a%20b+c")`],
  extractPathType: ["extractPathType(path)", "`collect`, `set_cookie` or `unknown`.", `extractPathType("/g/collect")`],
  parseUserAgent: [
    "parseUserAgent(agent, what)",
    "The `device`, `browser` or `os` that a browser claims.",
    `parseUserAgent(agent, "os")`,
  ],
  hasKeyPrefix: [
    "hasKeyPrefix(map, prefixes)",
    "Whether a key begins with one of the prefixes.",
    `hasKeyPrefix(user, ["te"])`,
  ],
  hasAnyKey: ["hasAnyKey(map, keys)", "Whether one of the keys is there.", `hasAnyKey(user, ["x", "id"])`],
};
