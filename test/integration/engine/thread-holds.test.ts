import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withHold } from "../../../engine/machine.ts";
import { entryPoint } from "../../../engine/system/entry-point.ts";
import { holdPause } from "../../../engine/workers/pool.ts";
import { TestEngine } from "../../support/engine.ts";
import { createTable, upperCasePipeline } from "../../support/pipelines.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 90_000 });

/** A thread of pipelines in which making a text that holds "slow" upper case takes 1.7 seconds, the first time. */
const slowThread = `
  const upper = String.prototype.toUpperCase;
  const done = new Set();
  String.prototype.toUpperCase = function () {
    const text = String(this);
    if (text.includes("slow") && !done.has(text)) {
      done.add(text);
      for (const end = performance.now() + 1700; performance.now() < end;);
    }
    return upper.call(this);
  };
  void import(${JSON.stringify(pathToFileURL(entryPoint("thread")).href)});
`;

let running: TestEngine;
let spawned = 0;

beforeEach(async () => {
  spawned = 0;
  running = await TestEngine.open({
    threads: 1,
    machine: {
      spawnThread: () => {
        spawned += 1;
        return withHold((options) => new Worker(slowThread, { eval: true, ...options }));
      },
    },
  });
});

afterEach(async () => {
  await running.close();
});

const ids = (table: string): Promise<number[]> => running.ids(table);

/** The pauses of a pipeline for its thread that were logged, by their reasons. Its server may be slow beside them. */
const pausesOf = (pipeline_id: string): unknown[] =>
  running.log.lines
    .filter(({ sentence, fields }) => sentence === "Pipeline is paused." && fields["pipeline_id"] === pipeline_id)
    .filter(({ fields }) => fields["class"] === "thread")
    .map(({ fields }) => fields["reason"]);

test("a pipeline that keeps its thread from others is moved to its own, is not well, and every event is one row", async () => {
  const { access_token: guilty } = await running.engine.create(upperCasePipeline("guilty"), createTable);
  const { access_token: beside } = await running.engine.create(upperCasePipeline("beside"), createTable);
  // Both slow ones may be in one batch: together they are shorter than what a thread is taken away for.
  for (const id of span(1, 20)) {
    await running.post("guilty", guilty!, { id, level: id % 7 === 0 ? `slow ${id}` : "fine" });
    await running.post("beside", beside!, { id, level: "fine" });
  }
  await running.until("guilty", ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
  await running.until("beside", ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
  expect(await ids("guilty")).toEqual(span(1, 20));
  expect(await ids("beside")).toEqual(span(1, 20));
  expect(new Set(pausesOf("guilty"))).toEqual(new Set([holdPause.text]));
  expect(pausesOf("beside")).toEqual([]);
  expect(spawned).toBe(2);
  expect(running.engine.health("guilty").counters.dead_lettered).toBe(0);
});
