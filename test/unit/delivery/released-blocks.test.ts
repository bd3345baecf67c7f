import { expect, test } from "vitest";
import type { BatchRecord, BatchState } from "../../../engine/core/journal.ts";
import type { Answer, Block, Reading } from "../../../engine/core/sink.ts";
import type { PreparedBatch } from "../../../engine/delivery/prepared-batch.ts";
import { BatchSender, type SenderOptions } from "../../../engine/delivery/sender.ts";
import { Event, EventList } from "../../../engine/event/event.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";

const target: Reading = {
  table: "one",
  time: 1_000_000,
  blocks: 500,
  uptime: 600,
  window: { entries: 100, seconds: Infinity },
  altered: 0,
  description: "",
  taken: Date.now(),
};
const ok: Answer = { kind: "ok" };
const failed = (kind: "refused" | "unknown"): Answer => {
  return { kind, failure: { class: "transient", name: "network_io", text: "no answer" } };
};

function newBlock(): Block {
  const events = EventList.of([new Event(1, 0, Buffer.from('{"id":1}'))]);
  return { events, body: Buffer.from('{"id":1}\n'), rejected: [] };
}

/** Sends one batch with these answers and readings; what was sent and what was released, block by block. */
async function sent(state: BatchState, answers: Answer[], readings: Reading[] = []): Promise<string[]> {
  const record: BatchRecord = {
    batch: 1,
    pipeline_id: "orders",
    madeOf: { kind: "source", ranges: [{ feed: "", base: 0, first: 1, last: 1, count: 1 }] },
    revision: 1,
    token: "token",
    clock: 0,
    oldest: 0,
    rows: 1,
    rejections: [],
    excluded: [],
    keys: [],
    waiting: [],
    state,
  };
  const blocks: Block[] = [];
  const told: string[] = [];
  const tell = (what: string, block: Block): void => {
    if (!blocks.includes(block)) blocks.push(block);
    told.push(`${what} ${blocks.indexOf(block) + 1}`);
  };
  const sink = { release: (block: Block) => tell("release", block) };
  const prepared = { record, builder: { encode: newBlock }, block: newBlock(), compiled: { sink } };
  const options = {
    options: { on_uncertain: "insert", on_lost: "pause", on_view_error: "pause" },
    journal: { amend: async (one: BatchRecord) => one, prepare: async (one: BatchRecord) => one },
    target: {
      insert: async (_sink: unknown, block: Block) => {
        tell("send", block);
        return answers.shift()!;
      },
      read: async () => readings.shift()!,
      reopen: async () => undefined,
      noteWritten: () => undefined,
    },
    pauses: { leaveIfAborted: () => undefined, end: () => undefined, wait: async () => undefined },
    telemetry: new Proxy({} as Telemetry, { get: () => () => undefined }),
    source: { mayWrite: async () => undefined },
    onTooLarge: () => undefined,
  };
  await new BatchSender(prepared as unknown as PreparedBatch, options as unknown as SenderOptions).run();
  expect([answers, readings]).toEqual([[], []]);
  return told;
}

test("the bytes of a block that was sent once are released when it is settled", async () => {
  expect(await sent({ kind: "prepared", target }, [ok])).toEqual(["send 1", "release 1"]);
});

test("an OK to a repeat is no reason to release a block: it may have to be sent again", async () => {
  const answers = [ok, ok];
  // The same block numbers before and after: the token had no rows.
  expect(await sent({ kind: "sent", target }, answers, [target, target])).toEqual(["send 1", "send 1"]);
});

test.each(["refused", "unknown"] as const)("after a request that was %s, nothing is released", async (kind) => {
  const readings = kind === "unknown" ? [target, { ...target, blocks: 501 }] : [target];
  expect(await sent({ kind: "prepared", target }, [failed(kind), ok], readings)).toEqual(["send 1", "send 2"]);
});

test("without an insert nothing is released", async () => {
  expect(await sent({ kind: "written" }, [])).toEqual([]);
});
