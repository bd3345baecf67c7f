import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { TableStore } from "../../../engine/core/store.ts";
import { thisMachine } from "../../../engine/machine.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

let running: TestEngine;

beforeAll(async () => {
  running = await TestEngine.open({ secrets: { "env:PASSWORD": "p" } });
});

afterAll(() => running.close());

/** Ends the engine and starts another one on its data dir, which knows no secret. */
async function restart(sweepEvery?: number): Promise<void> {
  await running.close({ keep: true });
  running = await TestEngine.open({ dataDir: running.dataDir, ...(sweepEvery !== undefined && { sweepEvery }) });
}

const event = (id: number): { id: number; level: string } => ({ id, level: "info" });

async function create(pipeline_id: string, over: Record<string, unknown> = {}): Promise<string> {
  return (await running.engine.create(webhookPipeline(pipeline_id, over), createTable)).access_token!;
}

async function post(pipeline_id: string, token: string, ...ids: number[]): Promise<void> {
  const answers = await Promise.all(ids.map((id) => running.post(pipeline_id, token, event(id))));
  expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 202));
}

const ids = (table: string): Promise<number[]> => running.ids(table);

const settled = (pipeline_id: string): Promise<unknown> =>
  running.until(pipeline_id, ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);

const slow = { max_batch_size: 1000, max_delay_time: "1h" };

function slowSink(table: string): Record<string, unknown> {
  return { ...webhookPipeline("any-one").sink, table, ...slow };
}

test("a stop writes what the stream held, without waiting for the delay; what comes later waits for the resume", async () => {
  const token = await create("stop-test", { sink: slowSink("stop_test") });
  await post("stop-test", token, 1, 2, 3);
  await running.engine.stop("stop-test");
  expect(running.engine.get("stop-test").status).toBe("Stopped");
  expect(await ids("stop_test")).toEqual([1, 2, 3]);

  await post("stop-test", token, 4, 5);
  expect(running.engine.health("stop-test").stream!.messages).toBe(2);
  await running.engine.resume("stop-test");
  await running.engine.stop("stop-test");
  expect(await ids("stop_test")).toEqual([1, 2, 3, 4, 5]);
});

test("a terminate writes nothing more, and drops what the stream held", async () => {
  const token = await create("term-test", { sink: slowSink("term_test") });
  await post("term-test", token, 1, 2);
  await running.engine.terminate("term-test");
  expect(running.engine.get("term-test").status).toBe("Terminated");
  expect(running.engine.health("term-test").stream!.messages).toBe(0);

  await running.engine.resume("term-test");
  await post("term-test", token, 3);
  await running.engine.stop("term-test");
  expect(await ids("term_test")).toEqual([3]);
});

test("an edit needs a pipeline at rest, and events that waited are processed by the new config", async () => {
  const token = await create("edit-test");
  const filtered = webhookPipeline("edit-test", {
    transforms: [{ type: "filter", source_id: "input", config: { expression: "id > 10" } }],
  });
  await expect(running.engine.update("edit-test", filtered, createTable)).rejects.toMatchObject({
    code: "PIPELINE_NOT_STOPPED_FOR_EDIT",
  });
  await running.engine.stop("edit-test");
  await post("edit-test", token, 5, 15);
  await running.engine.update("edit-test", filtered, createTable);
  expect(running.engine.get("edit-test")).toMatchObject({ status: "Stopped", revision: 2 });
  await running.engine.resume("edit-test");
  await settled("edit-test");
  expect(await ids("edit_test")).toEqual([15]);
});

test("an edit of an immutable field is refused with both values", async () => {
  await create("keep-test");
  await running.engine.stop("keep-test");
  for (const [field, value, old] of [
    ["max_age", "2h", "24h0m0s"],
    ["max_bytes", "1Gi", "0"],
    ["max_msgs", 10, "4000"],
  ]) {
    const changed = webhookPipeline("keep-test", { resources: { nats: { stream: { [field!]: value } } } });
    await expect(running.engine.update("keep-test", changed, createTable)).rejects.toMatchObject({
      code: "IMMUTABLE_FIELD",
      message: expect.stringContaining(`resources.nats.stream.${field} cannot change after creation: it is ${old}`),
    });
  }
});

test("a rename and new tags leave the pipeline as it runs", { tags: ["rest"] }, async () => {
  await create("name-test");
  await running.engine.rename("name-test", "Another name");
  await running.engine.tag("name-test", ["a", "b"]);
  const { config, status, revision } = running.engine.get("name-test");
  expect({ name: config.name, tags: config.metadata.tags, status, revision }).toEqual({
    name: "Another name",
    tags: ["a", "b"],
    status: "Running",
    revision: 1,
  });
});

test("a delete needs a pipeline at rest, and removes everything, so that the id can be used anew", async () => {
  const token = await create("gone-test");
  await running.post("gone-test", token, { id: "wrong" });
  await settled("gone-test");
  await expect(running.engine.delete("gone-test")).rejects.toMatchObject({ code: "INVALID_STATUS_TRANSITION" });
  await running.engine.stop("gone-test");
  await running.engine.delete("gone-test");
  expect(() => running.engine.get("gone-test")).toThrow(expect.objectContaining({ code: "PIPELINE_NOT_FOUND" }));
  expect(await running.registry.metrics()).not.toContain("gone-test");

  const again = await create("gone-test");
  expect(again).not.toBe(token);
  expect(running.engine.deadLetters("gone-test").state().total_messages).toBe(0);
  await post("gone-test", again, 1);
  await settled("gone-test");
  expect(await ids("gone_test")).toEqual([1]);
});

test("what cannot be started is Failed with its reason, and can be mended by an edit", { tags: ["rest"] }, async () => {
  const broken = webhookPipeline("fail-test", {
    transforms: [{ type: "filter", source_id: "input", config: { expression: "no_such_field > 1" } }],
  });
  await expect(running.engine.create(broken, createTable)).rejects.toThrow("no_such_field");
  expect(running.engine.get("fail-test")).toMatchObject({
    status: "Failed",
    failure: expect.stringContaining("no_such_field"),
  });
  await running.engine.update("fail-test", webhookPipeline("fail-test"), createTable);
  await running.engine.resume("fail-test");
  expect(running.engine.get("fail-test").status).toBe("Running");
});

const withSecret = (pipeline_id: string, reference: string): ReturnType<typeof webhookPipeline> => {
  const { sink } = webhookPipeline(pipeline_id);
  const connection_params = { ...sink.connection_params, password: reference };
  return webhookPipeline(pipeline_id, { sink: { ...sink, connection_params } });
};

test("an undefined secret is refused at create and keeps nothing", async () => {
  const refused = withSecret("secret-test", "${env:MISSING}");
  await expect(running.engine.create(refused, createTable)).rejects.toMatchObject({ code: "SECRET_NOT_FOUND" });
  expect(() => running.engine.get("secret-test")).toThrow(expect.objectContaining({ code: "PIPELINE_NOT_FOUND" }));
});

test("after a new start of the process a pipeline that ran runs, a stopped one does not, and a secret that vanished is a pause", async () => {
  await running.engine.create(withSecret("later-test", "${env:PASSWORD}"), createTable);
  const token = await create("again-test");
  await create("rest-test");
  await running.engine.stop("rest-test");
  await restart();
  expect(running.engine.get("rest-test").status).toBe("Stopped");
  expect(running.engine.get("again-test").status).toBe("Running");
  await post("again-test", token, 7);
  await settled("again-test");
  expect(await ids("again_test")).toEqual([7]);
  const { paused } = await running.until("later-test", ({ paused: pause }) => pause !== undefined);
  expect(paused).toMatchObject({ class: "setup", text: expect.stringContaining("${env:PASSWORD} is not defined") });
});

test.each([
  ["that is resumed, as it reads", "old-read"],
  ["at rest, while it rests and others run", "old-swept"],
])("events older than max_age leave a pipeline %s: counted, logged, and never written", async (_title, id) => {
  const token = await create(id, { resources: { nats: { stream: { max_age: "1h" } } } });
  await running.engine.stop(id);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 2 * 3_600_000 });
  await post(id, token, 1, 2).finally(() => vi.useRealTimers());
  if (id === "old-swept") {
    await restart(50);
    await running.until(id, ({ stream }) => stream!.messages === 0);
  }
  await running.engine.resume(id);
  await post(id, token, 3);
  await settled(id);
  expect(await ids(id.replace("-", "_"))).toEqual([3]);
  expect(running.engine.health(id).counters.events_aged_out).toBe(2);
  expect(await running.registry.metrics()).toContain(`sluice_events_aged_out_total{pipeline_id="${id}"} 2`);
});

test("the disk is looked at all the time: a process without work ends too where it fails", async () => {
  let store: TableStore | undefined;
  const openStore = async (...of: Parameters<typeof thisMachine.openStore>): Promise<TableStore> =>
    (store = await thisMachine.openStore(...of));
  const idle = await TestEngine.open({ sweepEvery: 20, machine: { openStore } });
  try {
    const looks = vi.spyOn(store!, "checkDisk");
    await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(1);
  } finally {
    await idle.close();
  }
});
