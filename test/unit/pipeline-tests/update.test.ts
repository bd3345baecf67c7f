import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { mismatchesOf } from "../../../reconciler/pipeline-tests/compare.ts";
import type { Found, Outcome, Row } from "../../../reconciler/pipeline-tests/outcome.ts";
import { readTests } from "../../../reconciler/pipeline-tests/read-tests.ts";
import { updated } from "../../../reconciler/pipeline-tests/update.ts";

const nothing: Outcome = { written: 0, filtered: 0, deduplicated: 0, dead_letters: [] };

/** The text of a file of one test after these rows were found; then the test passes. */
function after(text: string, rows: Row[], outcome: Partial<Outcome> = {}, isJson = false): string {
  const found: Found = { rows, outcomes: [{ ...nothing, ...outcome }] };
  const write = (before: string): string => {
    const read = readTests({ path: isJson ? "t.test.json" : "t.test.yaml", bytes: Buffer.from(before) });
    if ("problems" in read) throw new Error(read.problems.map(({ message }) => message).join());
    const [one] = read.tests;
    return updated(
      before,
      [{ test: one!, found, mismatches: mismatchesOf(one!, found), columns: ["id", "n"] }],
      isJson,
    );
  };
  const text1 = write(text);
  expect(write(text1), "a second update changes nothing").toBe(text1);
  return text1;
}

const head = `# About orders.
tests:
  - name: a # a name

    events:
      - event: { id: 1 }
`;

test("a file whose lines end in a carriage return alone gets what was found, in lines that end as usual", () => {
  expect(after(head.replaceAll("\n", "\r"), [{ id: 1, n: 2 }])).toBe(after(head, [{ id: 1, n: 2 }]));
});

describe("a file of tests gets what was found", () => {
  test("members that differ change, and comments stay", () => {
    const text = `${head}    expect:
      # Two rows.
      rows:
        - { id: 1, n: 2 } # the first
        - id: 2
          n: 9007199254740993 # large
      filtered: 3 # of three
`;
    expect(
      after(
        text,
        [
          { id: 1, n: 5, seen: 1 },
          { id: 2, n: 9007199254740995n },
        ],
        { filtered: 1 },
      ),
    ).toBe(text.replace("n: 2 }", "n: 5 }").replace("0993", "0995").replace("filtered: 3", "filtered: 1"));
  });

  test("lines that do not change stay as they are written", () => {
    const text = `tests:
    - name:   "a"   # wide
      events: [{event: {id: 1}}, {"event":{ }}]
      expect:
        filtered: [{id: 1}]
        rows:
        - {id:  7}
        - {id: 2}
`;
    const rows = [{ id: 8 }, { id: 2 }];
    expect(after(text, rows, { filtered: 1 })).toBe(
      text.replace("- {id:  7}\n        - {id: 2}\n", "- {id: 2}\n        - { id: 8 }\n"),
    );
  });

  test("a file with another indentation is printed anew", () => {
    const text = `tests:
- name: a # a name
  events: []
  expect:
        rows:
            - {id: 1}
            - {id: 5}
`;
    const printed = after(text, [{ id: 1, n: 1 }, { id: 3 }]);
    expect(printed).toContain("  - name: a # a name\n");
    expect(load(printed)).toEqual({
      tests: [{ name: "a", events: [], expect: { rows: [{ id: 1 }, { id: 3 }] } }],
    });
  });

  test("entries come and go", () => {
    const text = `${head}    expect:
      rows:
        - { id: 7 }
        # the other
        - { id: 2 }
`;
    const rows = [
      { id: 2, n: 2 },
      { id: 3, n: 3, seen: "x" },
      { id: 4, n: null },
    ];
    expect(after(text, rows)).toBe(`${head}    expect:
      rows:
        # the other
        - { id: 2 }
        - { id: 3, n: 3 }
        - { id: 4, n: null }
`);
  });

  test("a test without expectations gets all of them", () => {
    const letter = {
      component: "ingestor",
      reason: "parse_error",
      error: "in words",
      original_message: '{"id":1}',
    } as const;
    const refused = { status: 400, message: "no" };
    expect(after(head, [{ id: 1, n: 1 }], { dead_letters: [letter], deduplicated: 2, refused }))
      .toBe(`${head}    expect:
      rows:
        - { id: 1, n: 1 }
      dead_letters:
        - { component: ingestor, reason: parse_error, original_message: { id: 1 } }
      refused:
        - { status: 400, message: no }
      deduplicated: 2
`);
  });

  test("JSON stays JSON", () => {
    const text = `{ "tests": [ { "name": "a", "events": [], "expect": { "rows": [] } } ] }\n`;
    expect(JSON.parse(after(text, [{ id: "1", n: 1 }], {}, true))).toEqual({
      tests: [{ name: "a", events: [], expect: { rows: [{ id: "1", n: 1 }] } }],
    });
  });
});
