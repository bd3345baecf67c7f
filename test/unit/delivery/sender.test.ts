import { expect, test } from "vitest";
import { LeftForLater } from "../../../engine/core/errors.ts";
import type { Answer, Failure } from "../../../engine/core/sink.ts";
import { blockOf, rejection, sendBatch, target } from "./one-batch.ts";

const ok: Answer = { kind: "ok" };
const refused = (failure: Partial<Failure> = {}): Answer => {
  return {
    kind: "refused",
    failure: { class: "transient", name: "TOO_MANY_PARTS", text: "too many parts", ...failure },
  };
};
const left = new LeftForLater("the pipeline leaves");

test("a batch whose insert is under way when its pipeline leaves may be in the table at the next start", async () => {
  // Its record stays as it was before the insert, which is read as `sent`.
  expect(await sendBatch({ answers: [left] })).toMatchObject({ error: left, told: ["send 1"], writes: [] });
});

test("a batch that was not sent when its pipeline leaves is in no table at the next start", async () => {
  const { error, told, writes } = await sendBatch({ record: { state: { kind: "prepared" } }, readings: [left] });
  expect([error, told]).toEqual([left, []]);
  expect(writes).toMatchObject([["amend", { state: { kind: "refused" } }]]);
});

test("a row that the table refuses is a dead letter before the others are sent, in one write", async () => {
  const failure = { class: "row", code: 469, name: "VIOLATED_CONSTRAINT", text: "refused" } as const;
  const { told, writes } = await sendBatch({
    blocks: [blockOf([1, 2]), blockOf([1])],
    answers: [refused(failure), ok],
    probes: [{ kind: "found", rows: [{ row: 1, failure }] }],
  });
  expect(writes).toMatchObject([["amend", { rows: 1, excluded: [2], rejections: [{ position: 2 }] }]]);
  expect(told.slice(0, 2)).toEqual(["send 1", "send 2"]);
});

test("what fits the columns by now, and what does not, is durable before it is sent", async () => {
  const { writes } = await sendBatch({
    blocks: [blockOf([1], [2]), blockOf([2], [1])],
    answers: [refused(), ok],
    readings: [target],
  });
  const [call, record] = writes.find(([, { rejections }]) => rejections[0]?.position === 1) ?? [];
  expect([call, record?.rows, record?.rejections]).toEqual(["prepare", 1, [rejection(1)]]);
  expect(writes.at(-1)![1].rejections).toEqual([rejection(1)]);
});

test("where the server had too little memory, later batches are smaller, and what was excluded stays so", async () => {
  const { told, writes } = await sendBatch({
    record: { excluded: [2], rejections: [rejection(2)] },
    answers: [refused({ code: 241, name: "MEMORY_LIMIT_EXCEEDED" }), ok],
    readings: [target],
  });
  expect(told.slice(0, 3)).toEqual(["send 1", "shrink", "send 2"]);
  expect(writes.map(([, { excluded, rows }]) => [excluded, rows])).toEqual(writes.map(() => [[2], 1]));
});

test("a pause ends with an insert and with a batch without rows, and not with one that was settled before", async () => {
  const inserted = await sendBatch({ answers: [ok] });
  const withoutRows = await sendBatch({ blocks: [blockOf([], [1, 2])] });
  const before = await sendBatch({ record: { state: { kind: "written" } } });
  const hasEnded = [inserted, withoutRows, before].map(({ told }) => told.includes("end pause"));
  expect(hasEnded).toEqual([true, true, false]);
});

test("a failed insert is told with its failure, and whether its rows may be in the table", async () => {
  const answer = refused();
  const { reported } = await sendBatch({ answers: [answer, ok], readings: [target] });
  const failure = answer.kind === "ok" ? undefined : answer.failure;
  expect(reported).toEqual([["insertFailed", { pipeline_id: "orders", rows: 1, failure, unknown: false }]]);
});

test.each(["sent", "viewFailed"] as const)(
  "the pause of a batch that is %s names the option that ends it",
  async (kind) => {
    const { waits } = await sendBatch({
      record: { state: { kind, target } },
      options: { on_uncertain: "pause", on_view_error: "pause" },
      answers: [ok],
      // Of another table, and then of the one that it was sent to; an OK to what may be there is verified.
      readings: [{ ...target, table: "two" }, target, ...(kind === "sent" ? [{ ...target, blocks: 501 }] : [])],
    });
    expect(waits).toHaveLength(1);
    expect(waits[0]).toContain(kind === "sent" ? "x-sluice.on_uncertain" : "x-sluice.on_view_error");
  },
);
