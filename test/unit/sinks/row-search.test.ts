import { describe, expect, test } from "vitest";
import type { Answer, Failure } from "../../../engine/core/sink.ts";
import { findBadRows } from "../../../engine/sinks/clickhouse/insert/probe.ts";
import { Random } from "../../support/random.ts";

const bad: Failure = { class: "row", code: 469, name: "VIOLATED_CONSTRAINT", text: "no" };

/** A server that refuses the rows of `refused`, and names the last one of them, the first, or none. */
function serverThat(refused: ReadonlySet<number>, names: "first" | "last" | "none") {
  const sent: number[][] = [];
  return {
    sent,
    async send(rows: readonly number[]): Promise<Answer> {
      sent.push([...rows]);
      const failing = rows.flatMap((row, index) => (refused.has(row) ? [index] : []));
      const row = names === "first" ? failing[0] : failing.at(-1);
      if (row === undefined) return { kind: "ok" };
      return { kind: "refused", failure: names === "none" ? bad : { ...bad, row } };
    },
  };
}

async function found(count: number, server: ReturnType<typeof serverThat>): Promise<number[]> {
  const search = await findBadRows(count, (rows) => server.send(rows));
  if (search.kind === "failed") throw new Error(search.failure.text);
  expect(search.rows).toEqual(search.rows.map(({ row }) => ({ row, failure: { ...bad, row } })));
  return search.rows.map(({ row }) => row);
}

test("a large block of which all rows are bad is searched in a time that grows with its rows", async () => {
  const answer: Answer = { kind: "refused", failure: { ...bad, row: 0 } };
  const search = await findBadRows(100_000, () => Promise.resolve(answer));
  expect(search).toMatchObject({ kind: "found", rows: { length: 100_000 } });
});

describe.each(["first", "last", "none"] as const)("where the server names %s of the bad rows", (names) => {
  test.each([
    ["no row", 0, []],
    ["no bad row", 2500, []],
    ["one row, which is bad", 1, [0]],
    ["the first and the last row", 2500, [0, 2499]],
    ["neighbours", 50, [20, 21, 22]],
    ["one in each piece", 5000, [10, 1010, 2010, 3999, 4000]],
  ])("%s: all are found", async (_title, count, rows) => {
    expect(await found(count, serverThat(new Set(rows), names))).toEqual(rows);
  });

  test("whatever rows are bad, exactly these are found", async () => {
    const random = new Random(7);
    for (let round = 0; round < 15; round += 1) {
      const [count, oneIn] = [random.below(3000), random.pick(1, 2, 5, 30, 300, 3000)];
      const rows = Array.from({ length: count }, (_, row) => row).filter(() => random.below(oneIn) === 0);
      expect(await found(count, serverThat(new Set(rows), names))).toEqual(rows);
    }
  });

  test.each([
    ["all are", 1],
    ["every other one is", 2],
    ["one in ten is", 10],
  ])("each row is sent a few times where %s bad", async (_title, step) => {
    const rows = Array.from({ length: 5000 / step }, (_, index) => index * step);
    const server = serverThat(new Set(rows), names);
    expect(await found(5000, server)).toEqual(rows);
    expect(server.sent.reduce((sum, sent) => sum + sent.length, 0)).toBeLessThan(8 * 5000);
  });

  test("few bad rows take few attempts", async () => {
    const server = serverThat(new Set([777, 5001, 9999]), names);
    expect(await found(10_000, server)).toHaveLength(3);
    expect(server.sent.length).toBeLessThan(10 + 3 * 17);
  });
});

test("rows are sent a thousand at a time, in order", async () => {
  const server = serverThat(new Set(), "none");
  await found(2500, server);
  expect(server.sent.map((rows) => [rows[0], rows.length])).toEqual([
    [0, 1000],
    [1000, 1000],
    [2000, 500],
  ]);
});

test("an answer that is not about rows ends the search", async () => {
  const failure: Failure = { class: "transient", name: "network_io", text: "no answer" };
  expect(await findBadRows(10, async () => ({ kind: "unknown", failure }))).toEqual({ kind: "failed", failure });
});
