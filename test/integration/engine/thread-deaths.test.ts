import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { entryPoint } from "../../../engine/system/entry-point.ts";
import { TestEngine } from "../../support/engine.ts";
import { createTable, upperCasePipeline } from "../../support/pipelines.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 90_000 });

/** A thread of pipelines in which making a text that holds "deadly" upper case ends the thread. */
const deadlyThread = `
  const upper = String.prototype.toUpperCase;
  String.prototype.toUpperCase = function () {
    if (this.includes("deadly")) process.exit(9);
    return upper.call(this);
  };
  void import(${JSON.stringify(pathToFileURL(entryPoint("thread")).href)});
`;

let running: TestEngine;

beforeEach(async () => {
  running = await TestEngine.open({ machine: { spawnThread: () => new Worker(deadlyThread, { eval: true }) } });
});

afterEach(async () => {
  await running.close();
});

const ids = (table: string): Promise<number[]> => running.ids(table);

/** How often a thread died that ran a pipeline. */
function deathsWith(pipeline_id: string): number {
  const deaths = running.log.lines.filter(({ sentence }) => sentence.startsWith("A pipeline thread died"));
  return deaths.filter(({ fields }) => (fields["pipelines"] as string[]).includes(pipeline_id)).length;
}

test("an event that ends its thread becomes a dead letter, all others become rows, and pipelines beside it go on", async () => {
  const { access_token: guilty } = await running.engine.create(upperCasePipeline("guilty"), createTable);
  const { access_token: beside } = await running.engine.create(upperCasePipeline("beside"), createTable);
  for (const id of span(1, 20)) {
    await running.post("guilty", guilty!, { id, level: id === 7 || id === 13 ? "deadly" : "fine" });
    await running.post("beside", beside!, { id, level: "fine" });
  }
  await running.until(
    "guilty",
    ({ dead_letters, stream }) => dead_letters.total_messages === 2 && stream!.messages === 0,
  );
  await running.until("beside", ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
  expect(await ids("guilty")).toEqual(span(1, 20).filter((id) => id !== 7 && id !== 13));
  expect(await ids("beside")).toEqual(span(1, 20));
  const { messages } = running.engine.deadLetters("guilty").list(10);
  expect(messages.map(({ original_message }) => JSON.parse(original_message) as object)).toEqual([
    { id: 7, level: "deadly" },
    { id: 13, level: "deadly" },
  ]);
  expect(messages[0]).toMatchObject({ component: "ingestor", reason: "thread_death" });
  expect(messages[0]!.error).toMatch(/^3 threads died while they processed this event: its thread died/);
  // One to learn that something is wrong, one to learn whose fault it is.
  expect(deathsWith("beside")).toBeLessThanOrEqual(2);
  expect(deathsWith("guilty")).toBeLessThanOrEqual(8);
  await running.engine.stop("guilty");
  await running.engine.stop("beside");
});
