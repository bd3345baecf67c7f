import { expect, test } from "vitest";
import { EventList } from "../../../engine/event/event.ts";
import { JoinSink } from "../../../engine/join/join-sink.ts";
import type { StepResult, TemporalJoin } from "../../../engine/join/temporal-join.ts";

const block = { events: new EventList(), body: Buffer.alloc(8), rejected: [] };

function sinkOf(step: () => Promise<StepResult>): { sink: JoinSink; steps: StepResult[] } {
  const steps: StepResult[] = [];
  const open = (): Promise<TemporalJoin> => Promise.resolve({ step } as unknown as TemporalJoin);
  return { sink: new JoinSink({ sides: () => [], open, onStep: (result) => void steps.push(result) }), steps };
}

test("a step that may be durable all the same is not refused: it is repeated with its token", async () => {
  const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const { sink, steps } = sinkOf(() => Promise.reject(full));
  await sink.open();
  const answer = await sink.insert(block, "token");
  expect(answer).toMatchObject({ kind: "unknown", failure: { class: "disk", name: "storage" } });
  expect(steps).toEqual([]);
});

test("a damaged log ends the pipeline", async () => {
  const { sink } = sinkOf(() => Promise.reject(new Error("the part at byte 48 is damaged")));
  await sink.open();
  await expect(sink.insert(block, "token")).rejects.toMatchObject({ code: "STORAGE_FAILED" });
});

test("a reading never makes a batch uncertain, however old it is", async () => {
  const { sink } = sinkOf(() => Promise.reject(new Error("unused")));
  await sink.open();
  const read = await sink.read();
  expect(read).toMatchObject({
    kind: "read",
    reading: { window: { seconds: Infinity }, blocks: 0, isReplicated: true },
  });
});
