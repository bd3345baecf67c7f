import { expect, test } from "vitest";
import type { Block, Failure, Probe } from "../../../engine/core/sink.ts";
import { findBadRows } from "../../../engine/delivery/bad-rows.ts";
import { Event, EventList } from "../../../engine/event/event.ts";
import type { Target } from "../../../engine/delivery/target.ts";

const failure: Failure = { class: "row", code: 6, name: "CANNOT_PARSE_TEXT", text: "cannot parse" };

interface Search {
  /** The revision has written to the table as it is. */
  hasWritten?: boolean;
  takesAny?: "yes" | "no" | "unknown";
  /** The row that the error of the insert names. */
  row?: number;
  /** Is told how many rows each probe tries. */
  probed?: number[];
}

/** Looks for the bad rows of a block of so many rows, by a table that takes rows and answers its probes so, in turn. */
function search(
  count: number,
  probes: Probe[],
  { hasWritten = false, takesAny = "yes", row, probed = [] }: Search = {},
): ReturnType<typeof findBadRows> {
  const events = EventList.of(Array.from({ length: count }, (_, at) => new Event(at + 1, 0, Buffer.from("{}"))));
  const target = {
    read: () => Promise.resolve({}),
    hasWritten: () => hasWritten,
    takesAny: () => Promise.resolve(takesAny),
    probe: (_sink: unknown, block: Block) => {
      const rows = block.body.toString().split("\n").length - 1;
      expect(rows).toBe(block.events.length);
      probed.push(rows);
      return Promise.resolve(probes.shift() ?? { kind: "found", rows: [] });
    },
  };
  const block = { events, body: Buffer.from("{}\n".repeat(count)) };
  const named = row === undefined ? failure : { ...failure, row };
  const refused = { record: { rejections: [] }, block, failure: named, codes: {} };
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

test("the only row of a block is bad without another look where the revision has written to the table as it is", async () => {
  const probed: number[] = [];
  expect(await search(1, [], { hasWritten: true, probed })).toMatchObject({ kind: "rows", rows: [{ row: 0 }] });
  expect(probed).toEqual([]);
});

test("a table that takes none of the first hundred rows, and no other row, is wrong: the rest is not tried", async () => {
  const hundred = Array.from({ length: 100 }, (_, row) => row);
  const probed: number[] = [];
  expect(await search(150, [bad(...hundred)], { takesAny: "no", probed })).toMatchObject({
    kind: "trouble",
    trouble: { class: "row", text: "the first rows of a batch of 150 do not fit: cannot parse" },
  });
  expect(probed).toEqual([100]);
});

test.each<[title: string, first: Probe]>([
  ["where some of the first rows fit", bad(...Array.from({ length: 99 }, (_, row) => row))],
  ["where the first rows cannot be tried", { kind: "failed", failure: { ...failure, class: "transient" } }],
])("all rows of a large block are tried %s", async (_title, first) => {
  const probed: number[] = [];
  expect(await search(150, [first, bad(0, 149)], { takesAny: "no", probed })).toMatchObject({
    kind: "rows",
    rows: [{ row: 0 }, { row: 149 }],
  });
  expect(probed).toEqual([100, 150]);
});

test("of a block of a hundred rows no sample is tried: it would be the whole", async () => {
  const probed: number[] = [];
  const found = await search(100, [bad(0, 99)], { takesAny: "no", probed });
  expect(found).toMatchObject({ kind: "rows", rows: [{ row: 0 }, { row: 99 }] });
  expect(probed).toEqual([100]);
});

test("where rows cannot be tried, the one that the error names is bad, unless the failure passes", async () => {
  const away: Failure = { class: "transient", name: "network_io", text: "no answer" };
  const refused: Failure = { class: "setup", code: 60, name: "UNKNOWN_TABLE", text: "no table" };
  const named = { hasWritten: true, row: 1 };
  expect(await search(2, [{ kind: "failed", failure: away }], named)).toEqual({ kind: "trouble", trouble: away });
  for (const probe of [{ kind: "failed", failure: refused } as const, { kind: "forbidden", grant: "GRANT" } as const]) {
    expect(await search(2, [probe], named)).toMatchObject({ kind: "rows", rows: [{ row: 1 }] });
  }
  expect(await search(2, [{ kind: "failed", failure: refused }], { hasWritten: true })).toEqual({
    kind: "trouble",
    trouble: refused,
  });
});
