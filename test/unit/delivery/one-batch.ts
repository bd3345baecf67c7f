import { expect } from "vitest";
import type { Rejection } from "../../../engine/core/dead-letter.ts";
import type { BatchRecord } from "../../../engine/core/journal.ts";
import type { Answer, Block, Probe, Reading } from "../../../engine/core/sink.ts";
import type { PreparedBatch } from "../../../engine/delivery/prepared-batch.ts";
import type { SendOptions } from "../../../engine/delivery/protocol.ts";
import { BatchSender, type SenderOptions } from "../../../engine/delivery/sender.ts";
import { Event, EventList } from "../../../engine/event/event.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";

/** A reading of the table that is as old as the batch. */
export const target: Reading = {
  table: "one",
  time: 1_000_000,
  blocks: 500,
  uptime: 600,
  window: { entries: 100, seconds: Infinity },
  altered: 0,
  description: "",
  taken: Date.now(),
};

/** What a batch meets. */
interface Story {
  record?: Partial<BatchRecord>;
  /** The target's answers to inserts, its readings and probes, in turn. An error is thrown. */
  answers?: (Answer | Error)[];
  readings?: (Reading | Error)[];
  probes?: Probe[];
  /** Its events are encoded to these blocks, in turn, and then to the last one. */
  blocks?: Block[];
  options?: Partial<SendOptions>;
}

/** What was done for a batch, in order, as `send 1` of the first block. */
interface Sent {
  told: string[];
  /** The records that the journal got, by the call. */
  writes: ["prepare" | "amend", BatchRecord][];
  /** The events of telemetry, with their facts. */
  reported: [event: string, facts: unknown][];
  /** The texts of the pauses. */
  waits: string[];
  /** What ended the sending; undefined where the batch is settled. */
  error: unknown;
}

/** A block with a row for each of these positions, and dead letters at others. */
export function blockOf(positions: number[], dead: number[] = []): Block {
  const events = EventList.of(positions.map((position) => new Event(position, 0, Buffer.from(`{"id":${position}}`))));
  return { events, body: Buffer.from(positions.map((id) => `{"id":${id}}\n`).join("")), rejected: dead.map(rejection) };
}

/** The dead letter of the event at a position. */
export function rejection(position: number): Rejection {
  return { component: "sink", reason: "schema_mismatch", error: "does not fit", original_message: "{}", position };
}

/** Sends one batch of the events 1 and 2. Expects that it asks the target as often as the story says. */
export async function sendBatch(story: Story): Promise<Sent> {
  const { answers = [], readings = [], probes = [], blocks = [blockOf([1])] } = story;
  const sent: Sent = { told: [], writes: [], reported: [], waits: [], error: undefined };
  const seen: Block[] = [];
  const tell = (what: string, block: Block): void => {
    if (!seen.includes(block)) seen.push(block);
    sent.told.push(`${what} ${seen.indexOf(block) + 1}`);
  };
  const record: BatchRecord = {
    batch: 1,
    pipeline_id: "orders",
    madeOf: { kind: "source", ranges: [{ feed: "", base: 0, first: 1, last: 2, count: 2 }] },
    revision: 1,
    token: "token",
    clock: 0,
    oldest: 0,
    rows: blocks[0]!.events.length,
    rejections: blocks[0]!.rejected,
    excluded: [],
    keys: [],
    waiting: [],
    state: { kind: "prepared", target },
    ...story.record,
  };
  // A block of its own for each time, as an encoder makes them.
  const encode = (): Block => ({ ...(blocks.length > 1 ? blocks.shift()! : blocks[0]!) });
  const builder = { encode, letter: ({ position }: Event) => rejection(position), mayBeRow: () => true };
  const sink = { release: (block: Block) => tell("release", block) };
  const prepared = { record, builder, block: encode(), compiled: { sink, revision: 1 } };
  const write =
    (call: "prepare" | "amend") =>
    async (one: BatchRecord): Promise<BatchRecord> => {
      sent.writes.push([call, one]);
      return one;
    };
  const options = {
    options: { on_uncertain: "insert", on_lost: "pause", on_view_error: "pause", ...story.options },
    journal: { amend: write("amend"), prepare: write("prepare") },
    target: {
      insert: async (_sink: unknown, block: Block) => {
        tell("send", block);
        return unlessError(answers.shift()!);
      },
      read: async () => unlessError(readings.shift()!),
      probe: async () => probes.shift()!,
      hasWritten: () => true,
      reopen: async () => undefined,
      noteWritten: () => sent.told.push("note written"),
    },
    pauses: {
      leaveIfAborted: () => undefined,
      end: () => sent.told.push("end pause"),
      wait: async ({ text }: { text: string }) => void sent.waits.push(text),
    },
    telemetry: new Proxy({} as Telemetry, {
      get: (_target, event: string) => (facts: unknown) => void sent.reported.push([event, facts]),
    }),
    source: { mayWrite: async () => undefined },
    onTooLarge: () => sent.told.push("shrink"),
  };
  const sender = new BatchSender(prepared as unknown as PreparedBatch, options as unknown as SenderOptions);
  await sender.run().catch((error: unknown) => (sent.error = error));
  expect([answers, readings, probes]).toEqual([[], [], []]);
  return sent;
}

function unlessError<T>(value: T | Error): T {
  if (value instanceof Error) throw value;
  return value;
}
