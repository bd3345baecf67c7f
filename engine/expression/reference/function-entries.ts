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
  repeat: ["repeat(text, times)", "The text, repeated.", `repeat("ab", 3)`],
  join: ["join(list, separator?)", "The texts of an array, joined.", `join(tags, "-")`],
  indexOf: ["indexOf(text, part)", "The byte index of the first occurrence, or -1.", `indexOf(name, "e")`],
  lastIndexOf: ["lastIndexOf(text, part)", "The byte index of the last occurrence, or -1.", `lastIndexOf(name, "e")`],
  hasPrefix: ["hasPrefix(text, prefix)", "Whether the text begins with the prefix.", `hasPrefix(name, "Ann")`],
  hasSuffix: ["hasSuffix(text, suffix)", "Whether the text ends with the suffix.", `hasSuffix(name, "Lee")`],
};

export const numberEntries: Entries = {
  abs: ["abs(number)", "The absolute value.", "abs(-3)"],
  ceil: ["ceil(number)", "The next whole number above, a float.", "ceil(ratio)"],
  floor: ["floor(number)", "The next whole number below, a float.", "floor(ratio)"],
  round: ["round(number)", "The nearest whole number, half away from zero, a float.", "round(ratio)"],
  max: [
    "max(number or list, …)",
    "The largest number or duration; nil without any. A single value of another kind is itself.",
    "max(status, [1, 900])",
  ],
  min: ["min(number or list, …)", "The smallest, likewise.", "min(map(items, .n))"],
  mean: ["mean(number or list, …)", "The mean of numbers and durations (nanoseconds); 0 without any.", "mean(1..4)"],
  median: ["median(number or list, …)", "The median, likewise.", "median([5, 1, 9])"],
  int: ["int(value)", "The integer of a number (cut) or of a text of digits.", "int(ratio)"],
  float: ["float(value)", "The float of a number or of a text.", `float("1e3")`],
};

export const conversionEntries: Entries = {
  len: ["len(value)", "Characters of a text, items of an array, keys of a map.", "len(name)"],
  type: ["type(value)", "The kind: nil, bool, int, float, string, array or map.", "type(status)"],
  string: ["string(value)", "As text; floats from a million on have an exponent.", "string(1e6)"],
  toJSON: ["toJSON(value)", "As JSON, indented, keys sorted.", "toJSON(tags[:1])"],
  fromJSON: ["fromJSON(text)", "The value of a JSON text.", `fromJSON("[1, true]")`],
  toBase64: ["toBase64(text)", "Its bytes in base64.", `toBase64("Ann")`],
  fromBase64: ["fromBase64(text)", "The text of bytes in base64.", `fromBase64("QW5u")`],
};

export const arrayEntries: Entries = {
  first: [
    "first(list)",
    "The first item, or the first byte of a text; nil where there is none, and for what has no items.",
    "first(tags)",
  ],
  last: ["last(list)", "The last one, likewise.", "last(tags)"],
  take: ["take(list, count)", "The first items.", "take(tags, 2)"],
  reverse: ["reverse(list)", "The items in reverse order.", "reverse(1..3)"],
  uniq: ["uniq(list)", "The first of equal items.", "uniq(tags)"],
  concat: ["concat(list, …)", "The arrays, concatenated.", "concat(tags, [1])"],
  flatten: ["flatten(list)", "The items of arrays within, at any depth.", "flatten([1, [2, [3]]])"],
  sort: [
    "sort(list, order?)",
    'Sorted; `"desc"` reverses the order. An empty array for what is no array.',
    `sort(tags, "desc")`,
  ],
};

export const mapEntries: Entries = {
  keys: ["keys(map)", "The keys, sorted.", "keys(user)"],
  values: ["values(map)", "The values, in the order of the keys.", "values(user)"],
  toPairs: ["toPairs(map)", "Pairs of key and value, in the order of the keys.", "toPairs(user)"],
  fromPairs: ["fromPairs(list)", "The map of such pairs.", `fromPairs([["a", 1]])`],
  get: [
    "get(container, key)",
    "An item or the value of a key; nil where there is none, and for a number, a bool or nil.",
    `get(user, "nope")`,
  ],
};

export const timeEntries: Entries = {
  now: ["now(zone?)", "The time of the batch: a replay sees the same.", "now()"],
  date: [
    "date(text, layout?, zone?)",
    "The time in a text; layouts are written as `2006-01-02 15:04:05`.",
    `date("06.05.2024", "02.01.2006")`,
  ],
  duration: ["duration(text)", "A span such as `1h30m`; there is no `d`.", `duration("90s")`],
  timezone: ["timezone(name)", "A time zone.", `date(ts).In(timezone("Europe/Berlin")).Hour()`],
};

export const bitEntries: Entries = {
  bitand: ["bitand(a, b)", "Bits set in both.", "bitand(12, 10)"],
  bitor: ["bitor(a, b)", "Bits set in one or both.", "bitor(12, 10)"],
  bitxor: ["bitxor(a, b)", "Bits set in only one.", "bitxor(12, 10)"],
  bitnand: ["bitnand(a, b)", "Bits set in only the first.", "bitnand(12, 10)"],
  bitnot: ["bitnot(a)", "All bits inverted.", "bitnot(12)"],
  bitshl: ["bitshl(a, places)", "Shifted left.", "bitshl(3, 2)"],
  bitshr: ["bitshr(a, places)", "Shifted right; keeps the sign.", "bitshr(-8, 1)"],
  bitushr: ["bitushr(a, places)", "Shifted right, filled with zeros.", "bitushr(8, 1)"],
};

/** Functions whose second argument is evaluated for each item of the first. */
export const predicateEntries: Entries = {
  all: ["all(list, predicate)", "Whether the predicate holds for every item.", "all(items, .n > 1)"],
  none: ["none(list, predicate)", "Whether it holds for no item.", `none(tags, # == "z")`],
  any: ["any(list, predicate)", "Whether it holds for some item.", `any(tags, # == "a")`],
  one: ["one(list, predicate)", "Whether it holds for exactly one item.", `one(tags, # == "a")`],
  filter: ["filter(list, predicate)", "The items for which it holds.", `filter(tags, # != "a")`],
  map: ["map(list, predicate)", "The result of the predicate for each item.", "map(items, .n * 10)"],
  count: ["count(list, predicate?)", "For how many items it holds.", "count(items, .n > 2)"],
  sum: ["sum(list, predicate?)", "The sum of the items, or of the results of the predicate.", "sum(items, .n)"],
  find: ["find(list, predicate)", "The first item for which it holds, or nil.", "find(items, .n > 2)"],
  findIndex: ["findIndex(list, predicate)", "The index of that item, or nil.", "findIndex(items, .n > 2)"],
  findLast: ["findLast(list, predicate)", "The last item for which it holds, or nil.", `findLast(tags, # > "a")`],
  findLastIndex: ["findLastIndex(list, predicate)", "The index of that item, or nil.", `findLastIndex(tags, # > "a")`],
  groupBy: ["groupBy(list, predicate)", "The items, by the result of the predicate.", "groupBy(tags, #)"],
  sortBy: [
    "sortBy(list, predicate, order?)",
    'The items, sorted by the result of the predicate; `"desc"` reverses the order.',
    `sortBy(items, .n, "desc")`,
  ],
  reduce: [
    "reduce(list, predicate, initial?)",
    "The last result of the predicate; `#acc` is its result for the previous item.",
    "reduce(1..4, #acc * #)",
  ],
};

/** Helpers that replace a builtin of their name. */
export const replacingEntries: Entries = {
  trim: ["trim(value)", "Without white space at both ends.", `trim(" a ")`],
  upper: ["upper(value)", "In capitals.", "upper(nothing)"],
  lower: ["lower(value)", "In small letters.", "lower(ok)"],
  split: ["split(value, separator)", "The parts; the empty text for an empty text.", `split(query, "&")`],
  replace: ["replace(value, old, new)", "With all occurrences replaced.", `replace(status, "0", "x")`],
  join: [
    "join(list, separator)",
    "The items as texts, joined; the empty text for anything but an array.",
    `join([1, nil, "a"], "-")`,
  ],
  hasPrefix: [
    "hasPrefix(value, prefix)",
    "Whether it begins with the prefix; an empty text never does.",
    `hasPrefix("", "")`,
  ],
  hasSuffix: [
    "hasSuffix(value, suffix)",
    "Whether it ends with the suffix; an empty text never does.",
    `hasSuffix(status, "3")`,
  ],
  keys: ["keys(map)", "The keys, sorted; an empty array for anything but a map.", "keys(name)"],
};

/** Helpers that filters do not have. */
export const helperEntries: Entries = {
  toInt: [
    "toInt(value)",
    "The integer of a text or a number, of a duration, a month or a weekday; a fraction is rounded down; 0 for anything else.",
    `toInt("-4.2")`,
  ],
  toFloat: [
    "toFloat(value)",
    "The float of a text or a number, of a duration, a month or a weekday; 0 for anything else.",
    `toFloat("x")`,
  ],
  // Without `as const` the type of `Object.prototype.toString` conflicts.
  toString: ["toString(value)", "As text, numbers without exponent.", "toString(big)"] as const,
  containsStr: [
    "containsStr(value, part)",
    "Whether it contains the part; an empty text contains nothing.",
    `containsStr(name, "nn")`,
  ],
  waterfall: [
    "waterfall(a, b, …)",
    "The first value that is neither nil nor empty, as text; a single array stands for its items.",
    `waterfall(nothing, "", 0)`,
  ],
  parseISO8601: [
    "parseISO8601(text)",
    "Unix seconds of a text or a time; 0 for a text in another layout, and for anything else.",
    "parseISO8601(ts)",
  ],
  toDate: ["toDate(value)", "The day, in UTC, of Unix seconds or a time; 0 for anything else.", "toDate(1709288430)"],
  parseQuery: ["parseQuery(text)", "The parameters of a query; repeated ones are arrays.", "parseQuery(query)"],
  getQueryParam: [
    "getQueryParam(query, name)",
    "One parameter; the empty text if it is missing.",
    `getQueryParam(query, "id")`,
  ],
  getNestedParam: [
    "getNestedParam(query, name)",
    "The same; a dot in the name has no special meaning.",
    `getNestedParam("a.b=1", "a.b")`,
  ],
  urlDecode: ["urlDecode(text)", "With `%XX` and `+` decoded; a bad escape is an error.", `urlDecode("a%20b+c")`],
  extractPathType: ["extractPathType(path)", "`collect`, `set_cookie` or `unknown`.", `extractPathType("/g/collect")`],
  parseUserAgent: [
    "parseUserAgent(agent, what)",
    "The `device`, `browser` or `os` of a user agent.",
    `parseUserAgent(agent, "os")`,
  ],
  hasKeyPrefix: [
    "hasKeyPrefix(map, prefixes)",
    "Whether a key begins with one of the prefixes.",
    `hasKeyPrefix(user, ["te"])`,
  ],
  hasAnyKey: ["hasAnyKey(map, keys)", "Whether the map has one of the keys.", `hasAnyKey(user, ["x", "id"])`],
};

/** Methods of times. */
export const timeMethodEntries: Entries = {
  Year: [".Year()", "The year.", "date(ts).Year()"],
  Month: [".Month()", "The month: a number from 1 with a name.", "date(ts).Month()"],
  Day: [".Day()", "The day of the month.", "date(ts).Day()"],
  Hour: [".Hour()", "The hour.", "date(ts).Hour()"],
  Minute: [".Minute()", "The minute.", "date(ts).Minute()"],
  Second: [".Second()", "The second.", "date(ts).Second()"],
  Nanosecond: [".Nanosecond()", "The nanoseconds within the second.", "date(ts).Nanosecond()"],
  Weekday: [".Weekday()", "The day of the week: a number from 0, Sunday, with a name.", "int(date(ts).Weekday())"],
  YearDay: [".YearDay()", "The day of the year, from 1.", "date(ts).YearDay()"],
  Unix: [".Unix()", "Seconds since 1970.", "date(ts).Unix()"],
  UnixMilli: [".UnixMilli()", "Milliseconds since 1970.", "date(ts).UnixMilli()"],
  UnixMicro: [".UnixMicro()", "Microseconds since 1970.", "date(ts).UnixMicro()"],
  UnixNano: [".UnixNano()", "Nanoseconds since 1970.", "date(ts).UnixNano()"],
  UTC: [".UTC()", "The same time in UTC.", "date(ts).UTC()"],
  Local: [".Local()", "The same time in UTC, the zone of every process.", "date(ts).Local()"],
  Location: [".Location()", "Its zone.", "date(ts).Location().String()"],
  IsZero: [".IsZero()", "Whether it is January 1 of the year 1, 00:00 UTC.", "date(ts).IsZero()"],
  In: [".In(zone)", "The same time in a zone.", `date(ts).In(timezone("Asia/Tokyo"))`],
  Format: [".Format(layout)", "As text, by a layout.", `date(ts).Format("02.01.2006")`],
  String: [".String()", "As text.", "date(ts).String()"],
  Add: [".Add(duration)", "The time plus the duration.", `date(ts).Add(duration("1h"))`],
  AddDate: [".AddDate(years, months, days)", "The time plus integers of each.", "date(ts).AddDate(0, 1, -1)"],
  Sub: [".Sub(time)", "The span between two times.", "now().Sub(date(ts))"],
  Truncate: [".Truncate(duration)", "Down to a multiple of the duration.", `date(ts).Truncate(duration("1h"))`],
  Round: [".Round(duration)", "To the nearest multiple, half of one up.", `date(ts).Round(duration("1h"))`],
  Before: [".Before(time)", "Whether it is earlier.", "date(ts).Before(now())"],
  After: [".After(time)", "Whether it is later.", "date(ts).After(now())"],
  Equal: [".Equal(time)", "Whether it is the same time, in whatever zone.", "date(ts).Equal(date(ts).UTC())"],
  Compare: [".Compare(time)", "-1 if it is earlier, 0 if it is the same, 1 if it is later.", "date(ts).Compare(now())"],
};

/** Methods of durations. */
export const durationMethodEntries: Entries = {
  Hours: [".Hours()", "In hours, a float.", `duration("90m").Hours()`],
  Minutes: [".Minutes()", "In minutes, a float.", `duration("90m").Minutes()`],
  Seconds: [".Seconds()", "In seconds, a float.", `duration("1500ms").Seconds()`],
  Milliseconds: [".Milliseconds()", "In whole milliseconds.", `duration("1.5s").Milliseconds()`],
  Microseconds: [".Microseconds()", "In whole microseconds.", `duration("1.5ms").Microseconds()`],
  Nanoseconds: [".Nanoseconds()", "In nanoseconds.", `duration("1.5us").Nanoseconds()`],
  Abs: [".Abs()", "Without its sign.", `duration("-90s").Abs()`],
  Truncate: [".Truncate(duration)", "Toward zero to a multiple.", `duration("90s").Truncate(duration("1m"))`],
  Round: [
    ".Round(duration)",
    "To the nearest multiple, half of one away from zero.",
    `duration("90s").Round(duration("1m"))`,
  ],
  String: [".String()", "As text.", `duration("90s").String()`],
};

/** Methods of months, weekdays and time zones. */
export const nameMethodEntries: Entries = {
  String: [".String()", "The name.", "date(ts).Month().String()"],
};
