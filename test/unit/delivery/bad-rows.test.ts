import { expect, test } from "vitest";
import type { Failure, Probe } from "../../../engine/core/sink.ts";
import { findBadRows } from "../../../engine/delivery/bad-rows.ts";
import type { Target } from "../../../engine/delivery/target.ts";

const failure: Failure = { class: "row", code: 6, name: "CANNOT_PARSE_TEXT", text: "cannot parse" };

/** Looks for the bad rows of a block of so many rows, by a table that takes rows and answers its probes so, in turn. */
function search(count: number, probes: Probe[]): ReturnType<typeof findBadRows> {
  const events = Array.from({ length: count }, () => ({}));
  const target = {
    read: () => Promise.resolve({}),
    hasWritten: () => false,
    takesAny: () => Promise.resolve("yes"),
    probe: () => Promise.resolve(probes.shift() ?? { kind: "found", rows: [] }),
  };
  const refused = { record: { rejections: [] }, block: { events }, failure, codes: {} };
  return findBadRows(refused as never, { revision: 1 } as never, target as unknown as Target);
}

const bad = (...rows: number[]): Probe => ({ kind: "found", rows: rows.map((row) => ({ row, failure })) });

test("rows that a table refused, and takes after it was mended during the search, are not bad", async () => {
  expect(await search(1, [])).toMatchObject({ kind: "trouble", trouble: { class: "setup" } });
  expect(await search(2, [bad(0, 1)])).toMatchObject({ kind: "trouble", trouble: { class: "setup" } });
});

test("of those that it refused, the rows that it refuses again are bad", async () => {
  expect(await search(1, [bad(0)])).toMatchObject({ kind: "rows", rows: [{ row: 0 }] });
  expect(await search(2, [bad(0, 1), bad(1)])).toMatchObject({ kind: "rows", rows: [{ row: 1 }] });
  expect(await search(2, [bad(0, 1), bad(0, 1)])).toMatchObject({ kind: "rows", rows: [{ row: 0 }, { row: 1 }] });
});
