import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Revision } from "../../../reconciler/git/revision.ts";
import { Holds } from "../../../reconciler/holds/holds.ts";
import { PinnedSource } from "../../../reconciler/holds/pinned-source.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { resultOf } from "../../../reconciler/status/turn.ts";
import { edited, orders, readyOf, World } from "../apply/world.ts";

const sales = { id: "sales-eu" };
const long = { timeout: 60_000 };
let world: World;
let end: () => Promise<void>;

beforeEach(async () => {
  world = await World.make();
  end = () => Promise.resolve();
});

afterEach(async () => {
  await end();
  await world.remove();
});

/** A reconciler that goes on by itself, after its first turn. */
async function running(interval: number): Promise<Reconciler> {
  world.source.say(orders, sales);
  const reconciler = world.reconciler({ interval });
  const ending = new AbortController();
  const run = reconciler.run(ending.signal);
  end = async () => {
    ending.abort();
    await run;
  };
  await expect.poll(() => world.engine.list().length, long).toBe(2);
  await expect.poll(() => reconciler.snapshot().lastAppliedRevision, long).toBe("test@1");
  return reconciler;
}

/** Lets the source hang within the next fetch, which has begun when this resolves. */
async function hang(reconciler: Reconciler): Promise<() => void> {
  const release = world.source.holdUp();
  const before = world.source.fetched;
  reconciler.trigger("webhook");
  await expect.poll(() => world.source.fetched, long).toBeGreaterThan(before);
  return release;
}

test("what an operator orders is carried out while the source hangs, and a request to read it waits", async () => {
  const reconciler = await running(600_000);
  const release = await hang(reconciler);
  world.engine.calls.length = 0;
  await reconciler.operator.stop("orders", 3_600_000, { by: "ada" });
  await expect.poll(() => world.engine.calls, long).toEqual(["stop orders"]);
  const turn = reconciler.operator.reconcile("turn");
  const read = reconciler.operator.reconcile();
  await expect.poll(() => reconciler.operator.answerTo(turn, "turn").state, long).toBe("ended");
  expect(reconciler.operator.answerTo(read).state).toBe("waiting");
  world.source.say(orders, sales, { id: "fresh" });
  release();
  await expect.poll(() => reconciler.operator.answerTo(read).state, long).toBe("ended");
  expect(readyOf(reconciler, "fresh")).toEqual(["True", "ReconciliationSucceeded"]);
});

test("drift is corrected while the source hangs", async () => {
  const reconciler = await running(100);
  const release = world.source.holdUp();
  await world.engine.stop("orders");
  world.engine.calls.length = 0;
  await expect.poll(() => world.engine.calls, long).toEqual(["resume orders"]);
  world.source.say(edited, sales);
  release();
  await expect.poll(() => readyOf(reconciler, "orders"), long).toEqual(["True", "ReconciliationSucceeded"]);
  await expect.poll(() => reconciler.snapshot().lastAppliedRevision, long).toBe("test@2");
});

test("a push that comes while the source is read makes it be read once more", async () => {
  const reconciler = await running(600_000);
  const release = await hang(reconciler);
  world.source.say(edited, sales);
  reconciler.trigger("webhook");
  release();
  await expect.poll(() => reconciler.snapshot().lastAppliedRevision, long).toBe("test@2");
});

test("a turn while the source hangs is no success", async () => {
  await world.after(orders, sales);
  const reconciler = world.reconciler({ interval: 50 });
  await reconciler.turn("start", new AbortController().signal);
  const release = world.source.holdUp();
  const turn = await reconciler.turn("poll", new AbortController().signal);
  expect(turn).toMatchObject({ isFetching: true, revision: { id: "test@1" } });
  expect(resultOf(turn)).toBe("incomplete");
  release();
});

const sha = (digit: string): string => digit.repeat(40);
const revision = (digit: string): Revision => ({
  id: `main@sha1:${sha(digit)}`,
  sha: sha(digit),
  files: [],
  skipped: [],
});
const hanging = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("ended"))));

describe("a rollback while the source does not answer", () => {
  /** It knows the commit 1 without an answer, and the newest one, 2, from an earlier process. */
  const source = {
    description: { kind: "git", url: "https://git.example.com/shop.git", path: "." } as const,
    fetch: hanging,
    cached: async () => revision("2"),
    at: async (commit: string, signal: AbortSignal) => (commit === sha("1") ? revision("1") : hanging(signal)),
    close: () => Promise.resolve(),
  };
  const target = (digit: string): Promise<unknown> =>
    new PinnedSource(source, Holds.read(world.dataDir), () => undefined).target(
      sha(digit),
      new AbortController().signal,
    );

  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  test("goes to a commit that was followed after 10 s", async () => {
    const found = target("1");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await found).toMatchObject({ revision: { sha: sha("1") }, head: { sha: sha("2") } });
  });

  test("is refused after twice that for another one", async () => {
    const refused = expect(target("3")).rejects.toThrow(
      `https://git.example.com/shop.git: expected an answer within 10 s, found none, and commit ${sha("3")} was not followed before: name one that was`,
    );
    await vi.advanceTimersByTimeAsync(10_000);
    await vi.advanceTimersByTimeAsync(10_000);
    await refused;
  });
});
