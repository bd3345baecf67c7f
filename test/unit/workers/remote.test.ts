import { expect, test } from "vitest";
import type { BatchRecord } from "../../../engine/core/journal.ts";
import type { FromThread, PipelineSpec } from "../../../engine/workers/protocol.ts";
import { Remote } from "../../../engine/workers/remote.ts";

const pipeline_id = "orders";
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function remote(): { sent: FromThread[][]; remote: Remote } {
  const sent: FromThread[][] = [];
  const port = { postMessage: (messages: FromThread[]) => void sent.push(messages), on: () => undefined };
  return { sent, remote: new Remote(port) };
}

test("the messages of one turn are sent together, in their order", async () => {
  const { sent, remote: of } = remote();
  const journal = of.journal({ pipeline_id, pending: [] } as unknown as PipelineSpec);
  const record = (batch: number): BatchRecord => ({ pipeline_id, batch, keys: [] }) as unknown as BatchRecord;
  void journal.commit(record(1));
  await Promise.resolve();
  of.telemetry.eventsRead({ pipeline_id, count: 10, bytes: 100, ingested: 10, seconds: 0 });
  void journal.prepare(record(2));
  expect(sent).toEqual([]);
  await nextTurn();
  expect(sent.map((messages) => messages.map(({ type }) => type))).toEqual([["commit", "telemetry", "prepare"]]);
  of.telemetry.eventsRead({ pipeline_id, count: 10, bytes: 100, ingested: 10, seconds: 0 });
  await nextTurn();
  expect(sent).toHaveLength(2);
});

test("what must be known of a thread that dies in this turn is sent at once, after what waits", async () => {
  const { sent, remote: of } = remote();
  of.post({ type: "started", pipeline_id });
  of.postNow({ type: "trying", pipeline_id });
  of.log.error({ pipeline_id }, "Out of memory.");
  expect(sent.map((messages) => messages.map(({ type }) => type))).toEqual([["started", "trying"], ["logged"]]);
  await nextTurn();
  expect(sent).toHaveLength(2);
});
