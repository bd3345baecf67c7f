import type { Entries } from "./entry.ts";

/** Binary operators, by their canonical spelling. */
export const operatorEntries: Entries = {
  "|": ["a | f(b)", "`f(a, b)`: the left side becomes the first argument of the call on the right.", `name | upper()`],
  or: [
    "a or b, a || b",
    "True if a side is; the right side is evaluated only if needed, and the left one not beside a known `true`.",
    "ok or nothing",
  ],
  and: [
    "a and b, a && b",
    "False if the left side is, without evaluating the right side; nil on the left gives nil.",
    `ok and status >= 500`,
  ],
  "==": [
    "a == b",
    "Equal by value; numbers of any kind compare, values of other kinds are unequal.",
    "status == 503.0",
  ],
  "!=": ["a != b", "Not equal.", `level != "INFO"`],
  "<": ["a < b", "Between numbers, texts, times or durations. `1 < x < 5` chains.", "400 < status < 500"],
  "<=": ["a <= b", "At most.", "ratio <= 2.5"],
  ">": ["a > b", "More than.", "status > 500"],
  ">=": ["a >= b", "At least.", `"b" >= "a"`],
  in: ["a in b, a not in b", "Whether an array has the value, or a map the key. Nothing is in nil.", `"a" in tags`],
  matches: [
    "a matches b, a not matches b",
    "Whether a regular expression (RE2) matches anywhere.",
    `name matches "^A.n"`,
  ],
  contains: [
    "a contains b, a not contains b",
    "Whether a text contains another; false where a side is nil.",
    `name contains "Lee"`,
  ],
  startsWith: [
    "a startsWith b",
    "Whether a text begins with another; false where a side is nil.",
    `nothing startsWith "x"`,
  ],
  endsWith: ["a endsWith b", "Whether a text ends with another; false where a side is nil.", `name endsWith "Lee"`],
  "..": ["a..b", "The integers from one to the other, both included.", "1..4"],
  "+": ["a + b", "Adds numbers, joins texts, adds a duration to a time.", `level + ":" + string(status)`],
  "-": ["a - b", "Subtracts; two times give a duration.", `date(ts) - duration("1h")`],
  "*": ["a * b", "Multiplies.", "ratio * 2"],
  "/": ["a / b", "Divides; always a float. Division by zero gives infinity or NaN.", "7 / 2"],
  "%": ["a % b", "The remainder, only of integers: write `int(…)` around the numbers of an event.", "int(status) % 10"],
  "**": ["a ** b, a ^ b", "The power, always a float; from the right.", "2 ** 3 ** 2"],
  "??": ["a ?? b", "The left side unless it is nil. Binds tightest: put it in parentheses.", `(nothing ?? 0) + 1`],
};

/** Unary operators. */
export const unaryEntries: Entries = {
  not: [
    "not a, !a",
    "The opposite of a bool. Binds tighter than a comparison: write `not (a == b)`.",
    `not (level == "INFO")`,
  ],
  "-": ["-a", "The negative number.", "-2 ** 2"],
  "+": ["+a", "The number itself.", "+ratio"],
};

/** All other elements of an expression. */
export const syntaxEntries: Entries = {
  literal: ["42 0x2A 1_000 0.5 1e3 true nil", "Integers, floats, bools and nil. There is no `null`.", "0x2A + 1_000"],
  text: ["\"…\" '…' `…`", "Texts; back quotes have no escapes.", 'len("a\\n") + len(`a\\n`)'],
  array: ["[a, b]", "An array.", "[status, nil, 1..2]"],
  map: ['{a: 1, "b c": 2}', "A map; if a key occurs twice, the first value counts.", `{a: 1, "b c": ok}`],
  field: ["name, $env", "A field of the record, nil if it is missing; `$env` is the whole record.", `$env["name"]`],
  member: [
    "a.b, a[i]",
    "A key or an item; -1 is the last. An error on nil and for an index out of range.",
    "items[-1].sku",
  ],
  optional: ["a?.b, a?.[i]", "nil where the left side is nil.", "nothing?.id"],
  slice: ["a[from:to]", "Part of an array or a text; ends are clamped.", `tags[1:]`],
  conditional: [
    "c ? a : b, if c {a} else {b}",
    "The first value if the condition is true, else the second.",
    `status >= 500 ? "server" : "client"`,
  ],
  let: ["let x = a; b", "A name for a value.", "let n = len(tags); n * n"],
  predicate: ["#, .field, #index", "In a predicate: the item, a field of it, its index.", "filter(items, .n > 2)"],
  comment: ["/* … */ and // …", "Comments.", "1 /* one */ + 1"],
};
