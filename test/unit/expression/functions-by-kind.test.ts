import { expect, test } from "vitest";
import { builtins } from "../../../engine/expression/functions/builtins.ts";
import { helpers } from "../../../engine/expression/functions/helpers.ts";
import { predicates } from "../../../engine/expression/syntax/predicates.ts";
import { inFilter, inTransform } from "./evaluate.ts";

/** An expression for a value of each kind, none of which is empty. */
const values: Readonly<Record<string, string>> = {
  nil: "nul",
  bool: "b",
  int: "int(n)",
  float: "f",
  string: "t",
  array: "a",
  map: "m",
  time: "date(ts)",
  duration: `duration("90m")`,
  timezone: `timezone("Europe/Berlin")`,
  month: "date(ts).Month()",
  weekday: "date(ts).Weekday()",
};

/** The arguments after the first one, where a function needs them. */
const others: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...predicates.keys()].map((name) => [name, name === "reduce" ? "#acc" : "true"])),
  sum: "1",
  groupBy: "1",
  sortBy: "#index",
  map: "#index",
  findIndex: "#index == 1",
  ...Object.fromEntries(
    "split splitAfter join indexOf lastIndexOf trimPrefix trimSuffix".split(" ").map((name) => [name, `"b"`]),
  ),
  ...Object.fromEntries("hasPrefix hasSuffix containsStr".split(" ").map((name) => [name, `"2"`])),
  ...Object.fromEntries(
    "bitand bitor bitxor bitnand bitshl bitshr bitushr repeat take".split(" ").map((name) => [name, "1"]),
  ),
  ...Object.fromEntries("getQueryParam getNestedParam".split(" ").map((name) => [name, `"x"`])),
  replace: `"b", "c"`,
  get: `"k"`,
  parseUserAgent: `"os"`,
  hasKeyPrefix: `["k"]`,
  hasAnyKey: `["k"]`,
};

function call(name: string, value: string): string {
  const further = others[name];
  return `${name}(${further === undefined ? value : `${value}, ${further}`})`;
}

/** What a function gives for a value of each kind. */
function row(name: string, evaluate: (expression: string) => string): string[] {
  return Object.entries(values).map(
    ([kind, value]) => `  ${kind.padEnd(9)} ${evaluate(call(name, value)).replaceAll("\n", "\\n")}`,
  );
}

const replaced = [...helpers.keys()].filter((name) => helpers.get(name) !== builtins.get(name));
const names = [...builtins.keys(), ...predicates.keys()].toSorted();

/** Results that hold nothing of their argument. */
const empty = /^(?:string |int 0|float 0|array \[\]|map map\[\]|nil <nil>)$/;

/** Why a function gives nothing for a value of a kind: as in the service whose files Sluice runs. */
const explained: readonly (readonly [why: string, functions: RegExp, kinds: RegExp])[] = [
  ["nil is the empty text, and 0", /./, /^nil$/],
  ["what is neither an array nor a text has no item", /^(?:first|last)$/, /^(?:bool|float|map|month|weekday)$/],
  ["arrays and maps are the empty text for helpers", /./, /^(?:array|map)$/],
  ["only an array has items to join", /^join$/, /./],
  ["only a map has keys", /^keys$/, /./],
  ["what is no array has nothing to sort", /^sort$/, /./],
  ["a scalar has no item", /^get$/, /^(?:bool|float)$/],
  ["a text in another layout is 0", /^(?:parseISO8601|toDate)$/, /./],
  ["a text that is no number is 0", /^(?:toInt|toFloat)$/, /^(?:bool|string|time|timezone)$/],
  ["the query has no such parameter", /^get(?:Query|Nested)Param$/, /./],
  ["only a text can be encoded", /^urlDecode$/, /^(?:bool|int|float)$/],
];

test("each function, for a value of each kind: the value, or an error", async () => {
  const table = [
    "In filters and stateless transforms",
    ...names.flatMap((name) => [call(name, "…"), ...row(name, inFilter)]),
    "",
    "Helpers of stateless transforms",
    ...replaced.toSorted().flatMap((name) => [call(name, "…"), ...row(name, inTransform)]),
    "",
  ].join("\n");
  await expect(table).toMatchFileSnapshot("functions-by-kind.txt");
});

test("nothing is empty without a reason that is written down", () => {
  const found = [
    ...names.map((name) => [name, inFilter] as const),
    ...replaced.map((name) => [name, inTransform] as const),
  ];
  const silent = found.flatMap(([name, evaluate]) =>
    Object.entries(values).flatMap(([kind, value]) => {
      const isExplained = explained.some(([, functions, kinds]) => functions.test(name) && kinds.test(kind));
      return empty.test(evaluate(call(name, value))) && !isExplained
        ? [`${call(name, kind)} gives ${evaluate(call(name, value))}`]
        : [];
    }),
  );
  expect(silent).toEqual([]);
});
