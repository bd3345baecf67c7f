import { afterEach, describe, expect, test, vi } from "vitest";
import type { Readiness } from "../../../engine/index.ts";
import { ThreadHold } from "../../../engine/flow/thread-hold.ts";
import { ThreadPool } from "../../../engine/workers/pool.ts";
import type { Placement } from "../../../engine/workers/placement.ts";
import type { PipelineSpec, WorkerLike } from "../../../engine/workers/protocol.ts";
import { ScriptedThreads } from "./scripted-threads.ts";

/** A pool of one shared thread. `withIn`: what each of its threads has beside. */
function pooled(withIn: () => object = () => ({})): {
  pool: ThreadPool;
  threads: ScriptedThreads;
  start: (id: string, alone?: boolean) => Placement;
} {
  const threads = new ScriptedThreads();
  const telemetry = { threadDied: () => undefined } as never;
  const [journal, log] = [{} as never, {} as never];
  const pool = new ThreadPool({
    size: 1,
    journal,
    log,
    telemetry,
    onCommitted: () => undefined,
    spawn: () => Object.assign(threads.spawn(), withIn()),
  });
  const start = (pipeline_id: string, alone = false): Placement =>
    pool.start({ pipeline_id } as PipelineSpec, { alone });
  return { pool, threads, start };
}

afterEach(() => void vi.useRealTimers());

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a pipeline whose threads die repeatedly", () => {
  test("never shares a thread with others, however many of them there are", async () => {
    const { threads, start } = pooled();
    start("good");
    const placements = Array.from({ length: 40 }, (_, number) => start(`bad-${number}`, true));
    await turn();
    const good = threads.of("good");
    const beside = [...threads.running].filter(([name, thread]) => thread === good && name !== "good");
    expect(beside).toEqual([]);
    expect(threads.threads.length).toBe(17);
    expect(placements.length).toBe(40);
  });

  test("is not put on a thread that is about to end", async () => {
    const { threads, start } = pooled();
    for (let number = 0; number < 16; number += 1) start(`bad-${number}`, true);
    await turn();
    const ending = threads.of("bad-0");
    ending.left("bad-0");
    for (let rounds = 0; rounds < 10; rounds += 1) await Promise.resolve();
    start("next", true);
    await turn();
    await turn();
    expect(ending.isDead).toBe(true);
    expect([...threads.running.keys()]).toContain("next");
  });

  test("ends a thread that it shares with another one only with the last of them", async () => {
    const { threads, start } = pooled();
    for (let number = 0; number < 17; number += 1) start(`bad-${number}`, true);
    await turn();
    const shared = threads.of("bad-16");
    const [first] = [...threads.running].filter(([name, thread]) => thread === shared && name !== "bad-16");
    shared.left(first![0]);
    await turn();
    expect(shared.isDead).toBe(false);
    shared.left("bad-16");
    await turn();
    await turn();
    expect(shared.isDead).toBe(true);
  });
});

/** A pool whose threads have memory that says who keeps them. */
function held(): { pool: ThreadPool; threads: ScriptedThreads; start: (id: string, alone?: boolean) => Placement } {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  return pooled(() => ({ hold: new ThreadHold(new SharedArrayBuffer(ThreadHold.bytes)) }));
}

/** What the pool says of it within a time, in which it has its thread. */
async function told(threads: ScriptedThreads, placement: Placement, milliseconds: number): Promise<boolean[]> {
  const said: boolean[] = [];
  placement.onHeld = (isShared) => void said.push(isShared);
  await turn();
  const { hold } = threads.of(placement.pipeline_id) as WorkerLike;
  hold!.during(placement.number, () => vi.advanceTimersByTime(milliseconds));
  return said;
}

describe("a pipeline that keeps its thread from everything else", () => {
  test("is told once for each time, and whether it shares the thread", async () => {
    const { pool, threads, start } = held();
    const guilty = start("guilty");
    start("beside");
    expect(await told(threads, guilty, 1_000)).toEqual([]);
    expect(await told(threads, guilty, 3_000)).toEqual([true]);
    expect(await told(threads, guilty, 3_000)).toEqual([true]);
    expect(await told(threads, start("lone", true), 3_000)).toEqual([false]);
    expect(threads.threads.map(({ isDead }) => isDead)).toEqual([false, false]);
    await pool.close();
  });

  test("loses the thread where it does not let it go, and the others go on at once", async () => {
    const { pool, threads, start } = held();
    const [guilty, beside] = [start("guilty"), start("beside")];
    await told(threads, guilty, 6_500);
    expect(await guilty.left).toMatchObject({ kind: "died", isByOther: false });
    const left = await beside.left;
    expect(left).toMatchObject({ kind: "died", isByOther: true });
    expect(left.error?.message).toBe("its thread died of pipeline guilty: pipeline guilty held it for more than 5 s");
    await pool.close();
  });

  test("keeps a thread of its own for as long as it needs", async () => {
    const { pool, threads, start } = held();
    const lone = start("lone", true);
    expect(await told(threads, lone, 60_000)).toEqual([false]);
    expect(threads.of("lone").isDead).toBe(false);
    await pool.close();
  });
});

test("a thread that says whose exception ends it takes the blame from the other pipelines", async () => {
  const { threads, start } = pooled();
  const [guilty, beside] = [start("guilty"), start("beside")];
  await turn();
  threads.of("guilty").say({ type: "dying", pipeline_id: "guilty", error: "boom" });
  threads.of("guilty").die("boom");
  expect(await guilty.left).toMatchObject({ kind: "died", isByOther: false });
  const left = await beside.left;
  expect(left).toMatchObject({ kind: "died", isByOther: true });
  expect(String(left.error)).toBe("Error: its thread died of pipeline guilty: boom");
});

test("the text of the exception that ends a thread is that without secrets", async () => {
  const { threads, start } = pooled();
  const orders = start("orders");
  await turn();
  threads.of("orders").say({ type: "dying", error: "wrong password ***" });
  threads.of("orders").die("wrong password hunter2");
  expect(String((await orders.left).error)).toBe("Error: its thread died: wrong password ***");
});

test("a check that ends its thread fails alone, and the pipelines go on", async () => {
  const { pool, threads, start } = pooled();
  start("orders");
  threads.answers = false;
  const checked = pool.check({ pipeline_id: "new" } as PipelineSpec);
  await turn();
  const checker = threads.threads.find((thread) => thread !== threads.of("orders"))!;
  checker.die("boom");
  await expect(checked).rejects.toThrow("the thread died: boom");
  expect([...threads.running.keys()]).toEqual(["orders"]);
  await pool.close();
});

test("a check that comes when the thread of the last one is about to end has a thread of its own", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { pool, threads } = pooled();
  const check = (): Promise<Readiness> => pool.check({ pipeline_id: "new" } as PipelineSpec);
  expect(await check()).toEqual({ kind: "ready" });
  vi.advanceTimersByTime(10_000);
  expect(await check()).toEqual({ kind: "ready" });
  await turn();
  expect(threads.threads.map(({ isDead }) => isDead)).toEqual([true, false]);
  await pool.close();
});
