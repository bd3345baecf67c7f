import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SourceError } from "../../../reconciler/git/revision.ts";
import type { Reconciler, ReconcilerOptions } from "../../../reconciler/reconciler.ts";
import type { Condition } from "../../../reconciler/status/conditions.ts";
import { orders, outcomes, readyOf, signal, World } from "../apply/world.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";

const hour = 3_600_000;
const sales = { id: "sales-eu" };
const third = { id: "third" };
const immutable = { root: ["resources: { nats: { stream: { max_age: 48h } } }"] };
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(async () => {
  vi.useRealTimers();
  await world.remove();
});

const statusOf = (id = "orders"): string => world.engine.get(id).status;
const conditionsOf = (reconciler: Reconciler): Condition[] =>
  reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === "orders")?.conditions ?? [];
const unreadable = (): Promise<never> =>
  Promise.reject(new SourceError("ConnectionRefused", "git.example.com: no answer"));
/** What is shown besides a time. */
const shownOf = (reconciler: Reconciler): string[] =>
  conditionsOf(reconciler).map(({ type, status, reason, message }) => `${type} ${status} ${reason} ${message}`);

interface Unusable {
  title: string;
  before?: PipelineText[];
  after: PipelineText[];
  skipped?: { path: string; reason: string };
  /** Of `Ready` while it is stopped; `Stalled` keeps its own reason. */
  ready: string;
}

const unusable: Unusable[] = [
  { title: "its file is invalid", after: [{ ...orders, root: ["nonsense: 1"] }, sales, third], ready: "InvalidFile" },
  { title: "its file is refused", after: [{ ...orders, ...immutable }, sales, third], ready: "ImmutableField" },
  { title: "too many files were removed", after: [third], ready: "DeletionBudget" },
  { title: "all files were removed", after: [], ready: "EmptySource" },
  {
    title: "a folder that is not read may have its file",
    after: [sales, third],
    skipped: { path: "linked", reason: "a link" },
    ready: "StoppedByOperator",
  },
  {
    title: "its file is gone, and said that it is kept",
    before: [{ ...orders, sluice: ["prune: false"] }, sales, third],
    after: [sales, third],
    ready: "StoppedByOperator",
  },
];

describe.each(unusable)("a pipeline is stopped although $title", ({ before, after, skipped, ready }) => {
  let reconciler: Reconciler;
  let shown: string[];

  beforeEach(async () => {
    world.source.say(...(before ?? [orders, sales, third]));
    reconciler = world.reconciler({ maxDeletions: "1" });
    await reconciler.turn("start", signal);
    if (skipped !== undefined) world.source.skipped = [skipped];
    world.source.say(...after);
    await outcomes(reconciler);
    shown = shownOf(reconciler);
    await reconciler.operator.stop("orders", hour, { by: "ada", reason: "the table is full" });
    await outcomes(reconciler);
  });

  test("which is shown; nothing else is done, and the others stay owned", async () => {
    await outcomes(reconciler);
    expect(world.engine.calls.slice(3)).toEqual(["stop orders"]);
    expect(readyOf(reconciler).slice(0, 2)).toEqual(["False", ready]);
    expect(conditionsOf(reconciler)).toContainEqual(
      expect.objectContaining({
        type: "Drifted",
        reason: "StoppedByOperator",
        message: expect.stringContaining("the table is full"),
      }),
    );
    expect(Object.keys((await world.inventory()).pipelines)).toEqual(["orders", "sales-eu", "third"]);
  });

  test("it runs again when it is resumed, also by another process, and is then as before", async () => {
    const again = world.reconciler({ maxDeletions: "1" });
    await outcomes(again);
    expect(statusOf()).toBe("Stopped");
    await again.operator.resume("orders", {});
    await outcomes(again);
    expect(statusOf()).toBe("Running");
    await outcomes(again);
    expect(shownOf(again)).toEqual(shown);
    expect(world.engine.calls.slice(3)).toEqual(["stop orders", "resume orders"]);
  });

  test("it runs again when its time is over, and what is stopped in the engine later is not started", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hour + 1 });
    await outcomes(reconciler);
    expect(statusOf()).toBe("Running");
    await outcomes(reconciler);
    await world.engine.stop("orders");
    await outcomes(reconciler);
    await outcomes(reconciler);
    expect(statusOf()).toBe("Stopped");
  });

  test("while everything is suspended, what a stop ended stays stopped until that is over", async () => {
    await reconciler.operator.suspend(undefined, {});
    await reconciler.operator.resume("orders", {});
    await outcomes(reconciler);
    expect(statusOf()).toBe("Stopped");
    await reconciler.operator.resume(undefined, {});
    await outcomes(reconciler);
    expect(statusOf()).toBe("Running");
  });
});

interface HeldBack {
  title: string;
  options?: Partial<ReconcilerOptions>;
  /** What comes while it is stopped. */
  come: () => void;
  reason: string;
}

const heldBack: HeldBack[] = [
  {
    title: "its deletion waits for an approval",
    options: { approve: "forget" },
    come: () => world.source.say(sales, third),
    reason: "NotApproved",
  },
  {
    title: "its change waits for an approval",
    options: { approve: "change" },
    come: () => world.source.say({ ...orders, expression: "id > 1" }, sales, third),
    reason: "NotApproved",
  },
  {
    title: "its source has become another one",
    come: () => {
      world.source.redirected = "https://example.com/attic.git";
      world.source.say(sales, third);
    },
    reason: "SourceChanged",
  },
  {
    title: "its file suspends it",
    come: () => world.source.say({ ...orders, sluice: ["suspend: true"] }, sales, third),
    reason: "Suspended",
  },
  {
    title: "its folder may be half of a copy",
    come: () => {
      world.source.say(sales, third);
      world.source.settles({ after: 10_000, at: 0, recent: [] });
    },
    reason: "FolderChanging",
  },
];

describe.each(heldBack)("a pipeline that is stopped runs again although $title", ({ options, come, reason }) => {
  let reconciler: Reconciler;

  beforeEach(async () => {
    await world.after(orders, sales, third);
    reconciler = world.reconciler(options);
    await outcomes(reconciler);
    await reconciler.operator.stop("orders", hour, {});
    await outcomes(reconciler);
    come();
    await outcomes(reconciler);
    expect(statusOf()).toBe("Stopped");
  });

  afterEach(async () => {
    await outcomes(reconciler);
    expect(statusOf()).toBe("Running");
    expect(readyOf(reconciler)[1]).toBe(reason);
    expect(world.engine.calls.slice(3)).toEqual(["stop orders", "resume orders"]);
  });

  test("when it is resumed", async () => {
    await reconciler.operator.resume("orders", {});
    await outcomes(reconciler);
    expect(statusOf()).toBe("Running");
  });

  test("when its time is over", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hour + 1 });
    await outcomes(reconciler);
    expect(statusOf()).toBe("Running");
  });
});

test("a pipeline whose file breaks while it is stopped runs again when that is over", async () => {
  const reconciler = await world.after(orders);
  await reconciler.operator.stop("orders", hour, {});
  await outcomes(reconciler);
  world.source.say({ ...orders, root: ["nonsense: 1"] });
  await outcomes(reconciler);
  await reconciler.operator.resume("orders", {});
  await outcomes(reconciler);
  expect(statusOf()).toBe("Running");
});

test("what a file says about the state counts when the stop is over", async () => {
  const reconciler = await world.after(orders);
  world.source.say({ ...orders, root: ["nonsense: 1"] });
  await outcomes(reconciler);
  await reconciler.operator.stop("orders", hour, {});
  await outcomes(reconciler);
  world.source.say({ ...orders, sluice: ["state: Stopped"] });
  await outcomes(reconciler);
  await reconciler.operator.resume("orders", {});
  await outcomes(reconciler);
  world.source.say({ ...orders, root: ["nonsense: 1"] });
  await outcomes(reconciler);
  expect(statusOf()).toBe("Stopped");
});

test("a process that could not read its source since its start stops a pipeline, and disowns no other", async () => {
  await world.after(orders, sales);
  const { description, close } = world.source;
  const reconciler = world.reconciler({ source: { description, close, fetch: unreadable } });
  await reconciler.turn("start", signal);
  await reconciler.operator.stop("orders", hour, {});
  await reconciler.turn("manual", signal);
  expect(statusOf()).toBe("Stopped");
  expect(Object.keys((await world.inventory()).pipelines)).toEqual(["orders", "sales-eu"]);
  const again = world.reconciler();
  await outcomes(again);
  await again.operator.resume("orders", {});
  await outcomes(again);
  expect(readyOf(again)).toEqual(["True", "ReconciliationSucceeded"]);
});

test("what an interrupted change left stopped waits for the end of a stop, also where its file is invalid", async () => {
  const before = await world.after(orders);
  world.holdUp("update");
  world.source.say({ ...orders, expression: "id > 1" });
  await before.turn("poll", signal);
  world.engine.onCall = () => undefined;
  const reconciler = world.reconciler();
  world.source.say({ ...orders, root: ["nonsense: 1"] });
  await reconciler.operator.stop("orders", hour, {});
  await outcomes(reconciler);
  await outcomes(reconciler);
  expect(statusOf()).toBe("Stopped");
  expect(world.engine.calls.at(-1)).not.toBe("resume orders");
});
