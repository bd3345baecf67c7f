import { expect, test } from "vitest";
import { readTests } from "../../../reconciler/pipeline-tests/read-tests.ts";
import { textLine } from "../../../reconciler/validate/formats/text.ts";

const read = (text: string) => readTests({ path: "orders.test.yaml", bytes: Buffer.from(text) });

function problems(text: string): string[] {
  const found = read(text);
  return "problems" in found ? found.problems.map(textLine) : [];
}

test("lines that end in a carriage return alone are lines", () => {
  const text = "# Of orders\rtests:\r  - name: a\r    events: [{ event: { id: 1 } }]\r";
  const file = "orders.test.yaml";
  expect(read(text)).toEqual({ tests: [{ file, name: "a", line: 3, index: 0, events: [{ event: { id: 1 } }] }] });
});

test("values are read as they are written, and tests have what the file says for all", () => {
  const text = `now: 2026-01-02T00:00:00Z
tests:
  - name: a
    events: [{ event: { n: 9007199254740993, small: 7, empty: "", none: null, list: [] } }]
  - name: b
    now: 2026-01-03T00:00:00Z
    events: []
`;
  const event = { n: 9007199254740993n, small: 7, empty: "", none: null, list: [] };
  const shared = { file: "orders.test.yaml", now: "2026-01-02T00:00:00Z" };
  expect(read(text)).toEqual({
    tests: [
      { ...shared, name: "a", line: 3, index: 0, events: [{ event }] },
      { ...shared, name: "b", line: 5, index: 1, events: [], now: "2026-01-03T00:00:00Z" },
    ],
  });
});

test.each([
  ["", "orders.test.yaml:1:1: error EMPTY_FILE"],
  ["tests: [", "error YAML_SYNTAX"],
  ["tests: []\n---\ntests: []\n", "orders.test.yaml:3:1: error VALUE: file: expected one document"],
  ["test: []\n", "1:1: error UNKNOWN_KEY: test: expected one of the keys pipeline_id, now, create, tests"],
  [
    "tests: [{ name: a, events: [{ after: soon, event: {} }] }]\n",
    'tests[0].events[0].after: expected a duration such as "30s"',
  ],
  [
    "tests: [{ name: a, now: today, events: [] }]\n",
    "tests[0].now: expected a time in UTC such as 2026-01-01T00:00:00Z",
  ],
  ["tests: [{ name: a, events: [{ source: s }] }]\n", "tests[0].events[0]: expected event or text, got neither"],
  ['tests: [{ name: a, events: [{ event: {}, text: "" }] }]\n', "tests[0].events[0]: expected event or text, got both"],
  ["tests: [{ name: a, events: [] }, { name: a, events: [] }]\n", "tests[1].name: expected a name of its own"],
  [
    "tests: [{ name: a, events: [{ event: {}, after: 99999999d }] }]\n",
    "tests[0].events[0].after: expected at most 87600h, got 99999999d",
  ],
  ["now: 2026-13-45T25:00:00Z\ntests: []\n", 'now: expected a time that there is, got "2026-13-45T25:00:00Z"'],
  ["tests: [{ name: a, now: 2026-02-31T00:00:00Z, events: [] }]\n", "tests[0].now: expected a time that there is"],
  [
    'tests: [{ name: a, events: [], expect: { rows: [{ id: { $matches: "(" } }] } }]\n',
    "tests[0].expect.rows[0].id.$matches: expected a regular expression of RE2",
  ],
  [
    `tests: [{ name: a, events: [{ event: { e: &e { a: 1 }, f: &f { x: *e }, list: [${"*f, ".repeat(60)}${"{ y: *f }, ".repeat(60)}] } }] }]\n`,
    "expected aliases that stand for at most 100 values together",
  ],
  ["tests: [{ name: a, events: [], expect: { filtered: -1 } }]\n", "tests[0].expect.filtered: expected"],
  [
    "tests: [{ name: a, events: [], expect: { dead_letters: [{ code: x }] } }]\n",
    "error UNKNOWN_KEY: tests[0].expect.dead_letters[0].code",
  ],
])("%j is refused with its place", (text, expected) => {
  expect(problems(text)).toContainEqual(expect.stringContaining(expected));
});
