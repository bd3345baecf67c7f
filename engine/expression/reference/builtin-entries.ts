import type { Entries } from "./entry.ts";

export const textEntries: Entries = {
  trim: ["trim(text, characters?)", "Without white space, or those characters, at both ends.", `trim("--a--", "-")`],
  trimPrefix: ["trimPrefix(text, prefix?)", "Without the prefix, or one space.", `trimPrefix("/api/x", "/api")`],
  trimSuffix: ["trimSuffix(text, suffix?)", "Without the suffix, or one space.", `trimSuffix("a.json", ".json")`],
  upper: ["upper(text)", "In capitals.", "upper(name)"],
  lower: ["lower(text)", "In small letters.", "lower(level)"],
  split: ["split(text, separator, limit?)", "The parts between separators, at most `limit`.", `split("a,b,c", ",")`],
  splitAfter: [
    "splitAfter(text, separator, limit?)",
    "The same, each part with its separator.",
    `splitAfter("a,b", ",")`,
  ],
  replace: [
    "replace(text, old, new, limit?)",
    "With the first `limit`, or all, occurrences replaced.",
    `replace("a-b-c", "-", "+")`,
  ],
  repeat: ["repeat(text, times)", "So many times.", `repeat("ab", 3)`],
  join: ["join(list, separator?)", "The texts of an array in one.", `join(tags, "-")`],
  indexOf: ["indexOf(text, part)", "The byte at which the part begins first, or -1.", `indexOf(name, "e")`],
  lastIndexOf: ["lastIndexOf(text, part)", "The byte at which it begins last, or -1.", `lastIndexOf(name, "e")`],
  hasPrefix: ["hasPrefix(text, prefix)", "Whether the text begins so.", `hasPrefix(name, "Ann")`],
  hasSuffix: ["hasSuffix(text, suffix)", "Whether the text ends so.", `hasSuffix(name, "Lee")`],
};

export const numberEntries: Entries = {
  abs: ["abs(number)", "Without its sign.", "abs(-3)"],
  ceil: ["ceil(number)", "The next whole number above, a float.", "ceil(ratio)"],
  floor: ["floor(number)", "The next whole number below, a float.", "floor(ratio)"],
  round: ["round(number)", "The nearest whole number, half away from zero, a float.", "round(ratio)"],
  max: ["max(number or list, …)", "The largest; nil of none.", "max(status, [1, 900])"],
  min: ["min(number or list, …)", "The smallest; nil of none.", "min(map(items, .n))"],
  mean: ["mean(number or list, …)", "The mean; 0 of none.", "mean(1..4)"],
  median: ["median(number or list, …)", "The median; 0 of none.", "median([5, 1, 9])"],
  int: ["int(value)", "The integer of a number (cut) or of a text of digits.", "int(ratio)"],
  float: ["float(value)", "The float of a number or of a text.", `float("1e3")`],
};

export const conversionEntries: Entries = {
  len: ["len(value)", "Characters of a text, items of an array, keys of a map.", "len(name)"],
  type: ["type(value)", "The kind: nil, bool, int, float, string, array or map.", "type(status)"],
  string: ["string(value)", "As text; floats from a million on have an exponent.", "string(1e6)"],
  toJSON: ["toJSON(value)", "As JSON, indented, keys sorted.", "toJSON(tags[:1])"],
  fromJSON: ["fromJSON(text)", "The value that JSON says.", `fromJSON("[1, true]")`],
  toBase64: ["toBase64(text)", "Its bytes in base64.", `toBase64("Ann")`],
  fromBase64: ["fromBase64(text)", "The text whose bytes these are.", `fromBase64("QW5u")`],
};

export const arrayEntries: Entries = {
  first: ["first(list)", "The first item, or nil.", "first(tags)"],
  last: ["last(list)", "The last item, or nil.", "last(tags)"],
  take: ["take(list, count)", "The first items.", "take(tags, 2)"],
  reverse: ["reverse(list)", "From the end.", "reverse(1..3)"],
  uniq: ["uniq(list)", "The first of equal items.", "uniq(tags)"],
  concat: ["concat(list, …)", "One after the other.", "concat(tags, [1])"],
  flatten: ["flatten(list)", "The items of arrays within, at any depth.", "flatten([1, [2, [3]]])"],
  sort: ["sort(list, order?)", 'In order; `"desc"` turns it round.', `sort(tags, "desc")`],
};

export const mapEntries: Entries = {
  keys: ["keys(map)", "The keys, sorted.", "keys(user)"],
  values: ["values(map)", "The values, in the order of the keys.", "values(user)"],
  toPairs: ["toPairs(map)", "Pairs of key and value, in the order of the keys.", "toPairs(user)"],
  fromPairs: ["fromPairs(list)", "The map of such pairs.", `fromPairs([["a", 1]])`],
  get: ["get(container, key)", "An item or the value of a key; nil where there is none.", `get(user, "nope")`],
};

export const timeEntries: Entries = {
  now: ["now(zone?)", "The time of the batch: a replay sees the same.", "now()"],
  date: [
    "date(text, layout?, zone?)",
    "The time that a text says; layouts are written as `2006-01-02 15:04:05`.",
    `date("06.05.2024", "02.01.2006")`,
  ],
  duration: ["duration(text)", "A span such as `1h30m`; there is no `d`.", `duration("90s")`],
  timezone: ["timezone(name)", "A time zone.", `date(ts).In(timezone("Europe/Berlin")).Hour()`],
};

export const bitEntries: Entries = {
  bitand: ["bitand(a, b)", "Bits that both have.", "bitand(12, 10)"],
  bitor: ["bitor(a, b)", "Bits that one has.", "bitor(12, 10)"],
  bitxor: ["bitxor(a, b)", "Bits that only one has.", "bitxor(12, 10)"],
  bitnand: ["bitnand(a, b)", "Bits that only the first has.", "bitnand(12, 10)"],
  bitnot: ["bitnot(a)", "All bits turned.", "bitnot(12)"],
  bitshl: ["bitshl(a, places)", "Moved up.", "bitshl(3, 2)"],
  bitshr: ["bitshr(a, places)", "Moved down, the sign stays.", "bitshr(-8, 1)"],
  bitushr: ["bitushr(a, places)", "Moved down, zeros come in.", "bitushr(8, 1)"],
};
