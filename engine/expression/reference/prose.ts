import { MADE_PER_STEP, UNITS } from "../values/budget.ts";
import { LONGEST } from "../syntax/lexer.ts";
import { DEEPEST_OUTPUT } from "../output-types.ts";
import { DEEPEST, MOST_NODES } from "../syntax/parser.ts";
import { MOST_INSTRUCTIONS } from "../values/compile-budget.ts";
import { LARGEST_PATTERN, LONGEST_PATTERN } from "../values/patterns.ts";

const count = new Intl.NumberFormat("en-GB");

/** The kinds of values. */
export const kinds = `
| kind | what it is |
|---|---|
| nil | nothing: \`nil\`, a missing field, JSON's null |
| bool | \`true\`, \`false\` |
| int | 64 bits, wraps; literals, \`len\`, \`int(…)\`, and what is computed from integers |
| float | 64 bits; every number of an event, whole or not |
| string | text |
| uint | a byte of a text, 0 to 255: \`text[0]\`, \`first(text)\`, the items of a loop over a text; computed with as the int that it is |
| array, map | as in JSON |
| month, weekday | made by \`.Month()\` and \`.Weekday()\`: the name as text, the number where a number is wanted; equal to that number, without arithmetic |
| time, duration, timezone | made by \`date\`, \`now\`, \`duration\`, \`timezone\` |

A whole number of an event beyond 2^53 is an integer with all its digits, because a float could not hold it: it is
compared, printed and passed on exactly. Computed with another number of the event, which is a float, it gives a float.
A number beyond 64 bits keeps its digits only as long as nothing is computed with it.
`;

export const limits = `
| limit | of | what happens |
|---|---|---|
| ${count.format(LONGEST)} characters | one expression | refused |
| ${count.format(MOST_NODES)} operators and values | one expression | refused |
| ${DEEPEST} levels of nesting | one expression; chains of \`and\`, \`or\` and comparisons count once | refused |
| ${count.format(LONGEST_PATTERN)} characters, and ${count.format(LARGEST_PATTERN)} instructions with its repetitions written out | one regular expression | refused; one that is made of an event: the event fails |
| ${count.format(MOST_INSTRUCTIONS)} instructions | the regular expressions of one file together | refused |
| ${count.format(UNITS)} items made | one evaluation | the event fails |
| ${count.format(UNITS)} steps: items visited, and ${MADE_PER_STEP} characters of text made | one evaluation | the event fails |
| ${count.format(UNITS)} steps of the same kind | the outputs of one event together | the event fails |
| ${DEEPEST_OUTPUT} levels of nesting | one output | the event fails |

An instruction is about one character, or one copy of it: \`.{1,300}\` has 300. A Unicode class such as \`\\pL\` counts as 64, and so do large
ranges under \`(?i)\`, as they cost as much. Compiling a regular expression that is made of an event takes 16 steps for each instruction.

An event that fails becomes a dead letter; the other events of its batch are processed.
`;

/** The conversions of each output_type; the names in one cell are synonyms. */
export const outputRules: readonly (readonly [names: readonly string[], rule: string, fails: string])[] = [
  [
    ["string", "bytes", "datetime"],
    "texts, bools, numbers without exponent, times, durations, names of months, weekdays and zones",
    "arrays, maps",
  ],
  [
    ["int", "int8", "int16", "int32", "int64", "integer"],
    "numbers, cut; bools; durations as nanoseconds; months and weekdays; the empty text is 0; texts such as `42`, `4.9`, `0x10`, `010` (octal)",
    "other texts, arrays, maps, what does not fit 64 bits",
  ],
  [["uint", "uint8", "uint16", "uint32", "uint64"], "the same", "negative numbers too"],
  [
    ["float", "float32", "float64", "number"],
    "numbers, bools, durations as nanoseconds, months and weekdays, texts that are numbers; the empty text is 0",
    "NaN, infinity, other texts, arrays, maps",
  ],
  [
    ["bool", "boolean"],
    "bools; numbers are true unless 0; `1 t T TRUE true True`, `0 f F FALSE false False`",
    "other texts, arrays, maps",
  ],
  [["[]string"], "an array, its items as texts: nil becomes the empty one", "anything else"],
  [
    ["array", "map", "object"],
    "anything, as it is; times as RFC 3339, durations as nanoseconds",
    "NaN, infinity, keys that are not texts",
  ],
];

/** The differences from the language of the service whose pipelines Sluice runs. */
export const differences = `
- Arrays and maps of the schema are arrays and maps of unknown items in the check, so \`tags[0]\` and \`user.name\` are
  allowed; there they were texts, and refused. A filter that fails on an empty array or map is allowed for that reason.
- Precise type names such as \`int64\`, and \`datetime\` (a text), are allowed in every schema.
- Whole numbers beyond 2^53 keep their digits; there every number of an event was rounded to a float.
- A float that does not fit an integer is an error; there the result depended on the processor.
- \`keys\`, \`values\` and \`toPairs\` are sorted by key; there their order was random.
- \`now()\` is the time of the batch, so that a repeated batch gives the same rows.
- A month or a weekday equals the number that it stands for, and is compared with it; there it equalled none.
- \`min\` and \`max\` take durations within an array too; there only as arguments. An array that is empty among their arguments adds nothing; there it was
  an error.
- \`x in ["a", "b"]\` is false where x is no text, as \`==\` is; there it was an error, though \`x in ["a", 1]\` was false. nil is not in \`[""]\`; there it was.
- \`toInt\` and \`toFloat\` of a duration, a month or a weekday are its number, and \`parseISO8601\` of a time its seconds; there they were 0, which loses the value.
- \`sum\` adds numbers and durations, and is an error for texts; there \`sum([a, b])\`, written as a literal, joined them, and \`sum(texts)\` was an error.
- The sign of a byte is that of an int: \`-text[0]\` is negative; there it wrapped, to 256 less the byte.
- A time zone in \`toJSON\`, and \`in\` before a time, are errors; there they gave \`{}\` and false, as nobody means.
- Code that may not run may hold kinds that do not fit: a warning; there an error.
- The check takes what runs: loops over a declared text, whose items are its bytes, and \`sum\` of one; \`get\`, \`first\`, \`last\`, \`sort\`, \`min\` and \`max\` of a nil that
  is written as such; \`repeat\` with a float. There it refused them, though they ran with an event's value in that place.
- \`float(duration("1s"))\` is its nanoseconds, and \`(ok ? "a" : nil) == "a"\` is false where \`ok\` is false; there both were errors.
- A number of an event may be a position (\`tags[n]\`, slices, \`repeat\`) in the check of a filter too; there it needed \`int(…)\`, as \`..\` does.
- The check knows the kinds of declared nested fields and what functions of stateless transforms give, so \`user.id == "x"\` is refused where the id is a
  number, and \`sort(toString(x))\`; there they were false and \`[]\`.
- The last digit of a fraction that \`**\` gives may differ, and a time zone as a text is its name; there it was its fields in memory.
- \`toDate\` gives the day in UTC; there it was the zone of the process.
- A slice that cuts a character in two, and a lone surrogate, are U+FFFD.
- Unknown names of an \`output_type\` are refused, and every name of a number type converts; there most names converted nothing.
- \`[]string\` can feed an Array column.
- Regular expressions, layouts, time zones, nesting and the size of outputs are bounded, as the table of limits says.
`;
