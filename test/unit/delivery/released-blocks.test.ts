import { expect, test } from "vitest";
import type { BatchState } from "../../../engine/core/journal.ts";
import type { Answer, Reading } from "../../../engine/core/sink.ts";
import { sendBatch, target } from "./one-batch.ts";

const ok: Answer = { kind: "ok" };
const failed = (kind: "refused" | "unknown"): Answer => {
  return { kind, failure: { class: "transient", name: "network_io", text: "no answer" } };
};

/** Sends one batch with these answers and readings; what was sent and what was released, block by block. */
async function sent(state: BatchState, answers: Answer[], readings: Reading[] = []): Promise<string[]> {
  const { told } = await sendBatch({ record: { state }, answers, readings });
  return told.filter((what) => what.startsWith("send") || what.startsWith("release"));
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
