import { expect, test } from "vitest";
import { freeNames } from "../../../engine/expression/syntax/free-names.ts";
import { ExpressionError } from "../../../engine/expression/syntax/errors.ts";

test.each([
  ["a + b * a", "a b"],
  ["user.name + user.id", "user:map"],
  ['user["name"]', "user:map"],
  ["user?.name ?? other", "user:map other"],
  ["tags[0] + tags[i]", "tags:array i"],
  ["tags[1:n]", "tags n"],
  ["upper(name) + (city | trim())", "name city"],
  ["let x = a; x + b + x.c", "a b"],
  ["let x = x; x", "x"],
  ["(let x = 1; x) + x", "x"],
  ["filter(items, # > low and .price < high)", "items low high"],
  ["all(items, {let low = #; low > a})", "items a"],
  ['$env["odd name"] + $env.plain', "odd name plain"],
  ['$env?.maybe == nil or "k" in $env', ""],
  ["$env[key]", "key"],
  ["created.Year() > y", "created y"],
  ["{a: b, (c): d}", "b c d"],
  ["if a {b} else {c}", "a b c"],
  ["1 + 2", ""],
])("%s reads %s", (expression, names) => {
  const read = freeNames(expression).map(({ name, is }) => (is === undefined ? name : `${name}:${is}`));
  expect(read.join(" ")).toBe(names);
});

test.each(["", "a +", "a) or (b"])("%j is refused", (expression) => {
  expect(() => freeNames(expression)).toThrow(ExpressionError);
});
