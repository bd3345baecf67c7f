import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import { TestEngine } from "../../support/engine.ts";
import { webhookPipeline } from "../../support/pipelines.ts";
import { ScriptedThreads } from "../workers/scripted-threads.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

const { sink } = webhookPipeline("orders");
const connection_params = { host: "127.0.0.1", http_port: "1", database: "d", username: "u", password: "${password}" };
const orders = webhookPipeline("orders", { sink: { ...sink, connection_params } });

/** Lets everything happen that needs no time. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
  await settled();
}

/** An engine on scripted threads, of which one pipeline runs. */
async function opened(): Promise<{ on: TestEngine; threads: ScriptedThreads; secrets: Record<string, string> }> {
  const threads = new ScriptedThreads();
  const secrets: Record<string, string> = { password: "p" };
  const on = await TestEngine.open({ secrets, machine: { spawnThread: threads.spawn } });
  await on.engine.create(orders, defaultOptions);
  return { on, threads, secrets };
}

describe("a pipeline whose start is tried again", () => {
  test("runs once, also where its options change meanwhile, and a stop reaches it", async () => {
    const { on, threads, secrets } = await opened();
    delete secrets["password"];
    threads.of("orders").die();
    await pass(60_000);
    expect(on.engine.health("orders").paused).toMatchObject({ class: "setup" });
    await on.engine.configure("orders", { ...defaultOptions, on_uncertain: "skip" });
    await settled();
    secrets["password"] = "p";
    await pass(120_000);
    expect(threads.doubled).toEqual([]);
    expect(threads.heard.filter((line) => line === "start orders")).toHaveLength(2);
    await on.engine.stop("orders");
    expect([...threads.running.keys()]).toEqual([]);
    await on.close();
  });
});

describe("calls of one pipeline at the same time", () => {
  test("two creates: the second is refused", async () => {
    const { on, threads } = await opened();
    const other = { ...orders, pipeline_id: "other" };
    const results = await Promise.allSettled([
      on.engine.create(other, defaultOptions),
      on.engine.create(other, defaultOptions),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(results[1]).toMatchObject({ reason: { code: "PIPELINE_EXISTS" } });
    expect(threads.doubled).toEqual([]);
    await on.close();
  });

  test("two resumes: the second is refused", async () => {
    const { on, threads } = await opened();
    await on.engine.stop("orders");
    const results = await Promise.allSettled([on.engine.resume("orders"), on.engine.resume("orders")]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(threads.doubled).toEqual([]);
    await on.engine.stop("orders");
    expect([...threads.running.keys()]).toEqual([]);
    await on.close();
  });

  test("a terminate while it is started: it ends Terminated, and nothing runs", async () => {
    const { on, threads } = await opened();
    await on.engine.stop("orders");
    threads.answers = false;
    const resumed = on.engine.resume("orders").then(
      () => "resumed",
      (error: { code: string }) => error.code,
    );
    await settled();
    const terminated = on.engine.terminate("orders");
    await settled();
    const thread = threads.of("orders");
    thread.say({ type: "started", pipeline_id: "orders" });
    thread.left("orders");
    await terminated;
    expect(await resumed).toBe("PIPELINE_IN_TRANSITION");
    expect(on.engine.get("orders").status).toBe("Terminated");
    threads.answers = true;
    await on.close();
  });

  test("a delete and a create: the new pipeline keeps its stream", async () => {
    const { on } = await opened();
    await on.engine.stop("orders");
    const gone = on.engine.delete("orders");
    let token: string | undefined;
    const anew = (async () => {
      for (;;) {
        try {
          ({ access_token: token } = await on.engine.create(orders, defaultOptions));
          return;
        } catch (error) {
          expect(error).toMatchObject({ code: "PIPELINE_EXISTS" });
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
    })();
    await Promise.all([gone, anew]);
    expect((await on.post("orders", token!, { id: 1, level: "a" })).status).toBe(202);
    await on.close();
  });

  test("an edit and a resume: a pipeline runs with the config that the catalog has", async () => {
    const { on } = await opened();
    await on.engine.stop("orders");
    const changed = { ...orders, sink: { ...orders.sink, max_batch_size: 7 } };
    const results = await Promise.allSettled([
      on.engine.resume("orders"),
      on.engine.update("orders", changed, defaultOptions),
    ]);
    expect(results[0].status).toBe("fulfilled");
    expect(results[1]).toMatchObject({ reason: { code: "PIPELINE_NOT_STOPPED_FOR_EDIT" } });
    expect(on.engine.get("orders").revision).toBe(1);
    await on.close();
  });
});

test.each([
  ["of five minutes where nothing else is set", {}, 300_000],
  ["that the settings say", { drainLimit: 7_000 }, 7_000],
])("a stop drains for at most a limit %s", async (_title, settings, limit) => {
  const threads = new ScriptedThreads();
  const on = await TestEngine.open({
    secrets: { password: "p" },
    machine: { spawnThread: threads.spawn },
    ...settings,
  });
  await on.engine.create(orders, defaultOptions);
  await on.engine.stop("orders");
  expect(threads.limits).toEqual([limit]);
  await on.close();
});

describe("a pipeline that ends by itself", () => {
  test("as soon as it has started is Failed, and stays so", async () => {
    const { on, threads } = await opened();
    await on.engine.stop("orders");
    threads.answers = false;
    const resumed = on.engine.resume("orders").catch((error: Error) => error.message);
    await settled();
    threads.of("orders").say({ type: "started", pipeline_id: "orders" });
    threads.of("orders").left("orders", "the stream is damaged");
    expect(await resumed).toContain("the stream is damaged");
    await settled();
    expect(on.engine.get("orders")).toMatchObject({ status: "Failed", failure: "the stream is damaged" });
    threads.answers = true;
    await on.engine.resume("orders");
    expect(threads.doubled).toEqual([]);
    await on.close();
  });
});

/** Creates a pipeline, and ends the process while secret number `late` has not come. */
async function endedBefore(late: number): Promise<{ threads: ScriptedThreads; created: string }> {
  const threads = new ScriptedThreads();
  let asked = 0;
  const waiting: (() => void)[] = [];
  const from = {
    resolve: async (text: string): Promise<string> => {
      asked += 1;
      if (asked === late) await new Promise<void>((resolve) => waiting.push(resolve));
      return text;
    },
  };
  const on = await TestEngine.open({ from, machine: { spawnThread: threads.spawn } });
  const created = on.engine.create(orders, defaultOptions).then(
    () => "created",
    (error: Error) => error.message,
  );
  // A pipeline is stored before its start asks for secrets; no number of turns is enough for a disk.
  while (waiting.length === 0) await settled();
  const closed = on.close();
  await settled();
  waiting[0]!();
  await closed;
  await settled();
  return { threads, created: await created };
}

describe("the end of the process", () => {
  test("does not wait for a thread that dies meanwhile", async () => {
    const { on, threads } = await opened();
    threads.answers = false;
    const closed = on.close();
    await settled();
    threads.of("orders").die();
    await closed;
  });

  test("does not wait for a thread that no longer answers", async () => {
    const { on, threads } = await opened();
    threads.answers = false;
    const closed = on.close();
    await settled();
    await pass(60_000);
    await closed;
  });

  test("starts no pipeline whose secret comes after it", async () => {
    const { threads, created } = await endedBefore(1);
    expect(created).toContain("the process ends");
    expect(threads.heard).toEqual([]);
  });

  test("lets a start that waits for a secret go on, and drains the pipeline", async () => {
    const { threads } = await endedBefore(2);
    expect(threads.heard).toEqual(["start orders", "stop orders"]);
    expect([...threads.running.keys()]).toEqual([]);
  });
});
