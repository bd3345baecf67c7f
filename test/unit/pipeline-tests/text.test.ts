import { expect, test } from "vitest";
import { detailsOf } from "../../../reconciler/pipeline-tests/text.ts";

test("a line of a foreign error is no command to a CI system", () => {
  const events: never[] = [];
  const failure = "Code: 395.\n::error file=a::no\n  ::error::no";
  const result = { status: "broken", test: { name: "a", file: "a.test.yaml", line: 1, index: 0, events }, failure };
  const lines = detailsOf({ ...result, milliseconds: 1, outcomes: [] } as Parameters<typeof detailsOf>[0]);
  expect(lines.map(({ text }) => text)).toEqual(["  Code: 395.", "  | ::error file=a::no", "  |   ::error::no"]);
});
