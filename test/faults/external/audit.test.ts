/** @module-tag rest */
import { describe, expect, test } from "vitest";
import type { Span } from "../spans.ts";
import { audit, type Evidence, type ExternalAudit } from "./audit.ts";

const once: Span = { least: 1, most: 1 };
const perhaps: Span = { least: 0, most: 1 };
const pipeline_id = "p";

const batch = (number: number, token: string) => ({ pipeline_id, batch: number, token, rows: 2 });
const rows = (token: string, ...ids: string[]) => ids.map((id) => ({ id, token, times: 1 }));
const uncertain = (number: number, choice: string) => ({ pipeline_id, batch: number, rows: 2, choice });

/** Events a and b of batch 1, c and d of batch 2, are there as they must be. */
const exact: Evidence = {
  rows: [...rows("t1", "a", "b"), ...rows("t2", "c", "d")],
  letters: new Map(),
  expected: { row: new Map(["a", "b", "c", "d"].map((id) => [id, once])), letter: new Map() },
  others: new Map(),
  prepared: [batch(1, "t1"), batch(2, "t2")],
  uncertain: [],
};

const nothing = { doubledBatches: 0, doubledRows: 0, lostRows: 0, broken: [] };

const cases: [title: string, evidence: Partial<Evidence>, found: Partial<ExternalAudit>][] = [
  ["each event once", {}, { ...nothing, rows: 4 }],
  [
    "an uncertain batch that was inserted anew may be there twice",
    {
      rows: [...exact.rows, ...rows("t3", "a", "b")],
      prepared: [...exact.prepared, batch(1, "t3")],
      uncertain: [uncertain(1, "insert")],
    },
    { ...nothing, rows: 6, doubledBatches: 1, doubledRows: 2 },
  ],
  [
    "one that was never uncertain may not",
    {
      rows: [...exact.rows, ...rows("t3", "a", "b")],
      prepared: [...exact.prepared, batch(1, "t3")],
      uncertain: [uncertain(2, "insert")],
    },
    { broken: ["batch 1 is there 2 times, and was inserted anew 0 times"] },
  ],
  [
    "nor three times where it was uncertain once",
    {
      rows: [...exact.rows, ...rows("t3", "a", "b"), ...rows("t4", "a", "b")],
      prepared: [...exact.prepared, batch(1, "t3"), batch(1, "t4")],
      uncertain: [uncertain(1, "insert")],
    },
    { broken: ["batch 1 is there 3 times, and was inserted anew 1 times"] },
  ],
  [
    "nor with other rows",
    {
      rows: [...exact.rows, ...rows("t3", "a")],
      prepared: [...exact.prepared, batch(1, "t3")],
      uncertain: [uncertain(1, "insert")],
    },
    { broken: ["batch 1 is there 2 times, each time with other rows"] },
  ],
  [
    "a batch that was made again under another token, and is there once",
    { rows: [...rows("t3", "a", "b"), ...rows("t2", "c", "d")], prepared: [...exact.prepared, batch(1, "t3")] },
    { ...nothing, rows: 4 },
  ],
  [
    "a token that was taken twice",
    { rows: [...exact.rows, ...rows("t1", "a", "b")] },
    { broken: ["2 rows doubled: a, b"] },
  ],
  [
    "one event in two batches",
    { rows: [...rows("t1", "a", "b"), ...rows("t2", "b", "c", "d")] },
    { broken: ["1 rows doubled: b"] },
  ],
  [
    "rows of an insert that no batch made",
    { rows: [...exact.rows, ...rows("t9", "a")] },
    { broken: ['1 rows with the token "t9" of no batch: a'] },
  ],
  ["a batch that is missing", { rows: rows("t1", "a", "b") }, { broken: ["2 rows lost, of which 0 may be: c, d"] }],
  [
    "one that was skipped may be missing",
    { rows: rows("t1", "a", "b"), uncertain: [uncertain(2, "skip")] },
    { ...nothing, rows: 2, lostRows: 2 },
  ],
  [
    "one that was skipped and is there excuses none",
    { rows: rows("t1", "a", "b"), uncertain: [uncertain(1, "skip")] },
    { broken: ["2 rows lost, of which 0 may be: c, d"] },
  ],
  [
    "what was not answered may be missing",
    {
      rows: rows("t1", "a", "b"),
      expected: {
        ...exact.expected,
        row: new Map([
          ["a", once],
          ["b", once],
          ["c", perhaps],
        ]),
      },
    },
    nothing,
  ],
  [
    "dead letters are there once",
    {
      letters: new Map([
        ["x", 2],
        ["z", 1],
      ]),
      expected: {
        ...exact.expected,
        letter: new Map([
          ["x", once],
          ["y", once],
        ]),
      },
    },
    {
      broken: [
        "1 dead letters lost: y",
        "1 dead letters doubled: x",
        "1 dead letters of events that were never sent: z",
      ],
    },
  ],
  [
    "the other writer's rows are there once, with and without a token, and are not ours",
    {
      rows: [...exact.rows, ...rows("", "m", "n"), ...rows("another-1", "n")],
      others: new Map([
        ["k", once],
        ["l", perhaps],
        ["m", once],
        ["n", once],
      ]),
    },
    { rows: 4, broken: ["1 rows of the other writer lost: k", "1 rows of the other writer doubled: n"] },
  ],
];

describe("what is there is held against what was sent and what was counted", () => {
  test.each(cases)("%s", (_title, evidence, found) => {
    expect(audit({ ...exact, ...evidence })).toMatchObject(found);
  });
});
