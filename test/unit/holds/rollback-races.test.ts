import { afterEach, beforeEach, expect, test } from "vitest";
import { SourceError } from "../../../reconciler/git/revision.ts";
import { Holds } from "../../../reconciler/holds/holds.ts";
import { PinnedSource } from "../../../reconciler/holds/pinned-source.ts";
import { noVariables } from "../../../reconciler/language/variables.ts";
import { Commits } from "../../support/commits.ts";
import { edited, orders, signal, World } from "../apply/world.ts";
import { dedupOf } from "../../support/pipeline-text.ts";

const sales = { id: "sales-eu" };
const keyed = { id: "orders", transforms: [dedupOf("id")] };
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

test("a rollback while a turn loads the head is no approval of the head", async () => {
  const source = new Commits();
  const good = source.push("Good", keyed);
  let before: (() => Promise<unknown>) | undefined;
  const variables = async (): Promise<typeof noVariables> => {
    await before?.();
    return noVariables;
  };
  const reconciler = world.reconciler({ source, approve: "forget", variables });
  await reconciler.turn("start", signal);
  source.push("Mid", { ...keyed, name: "mid" });
  await reconciler.turn("poll", signal);
  source.push("Unapproved", { id: "orders", transforms: [dedupOf("level")] });
  before = () => {
    before = undefined;
    return reconciler.operator.rollBack(good, { by: "ada" }, false);
  };
  await reconciler.turn("webhook", signal);
  expect(world.engine.calls).not.toContain("update orders");
});

test("a rollback stays where a poll at the same time finds an older one over", async () => {
  const source = new Commits();
  const [first, second] = [source.push("A", orders), source.push("B", edited)];
  const head = source.push("H1", sales);
  const holds = Holds.read(world.dataDir);
  const pinned = new PinnedSource(source, holds, () => undefined);
  await holds.pin({ commit: first, revision: first, head });
  const next = source.push("H2", sales, orders);
  await Promise.all([holds.pin({ commit: second, revision: second, head: next }), pinned.fetch(signal)]);
  expect(holds.state.pin?.commit).toBe(second);
});

test("a push that comes while a retry is asked for does not wait for the back-off of the source", async () => {
  const source = new Commits();
  source.push("One", orders, sales);
  const reconciler = world.reconciler({ source, interval: 60_000 });
  const end = new AbortController();
  const running = reconciler.run(end.signal);
  try {
    await expect.poll(() => reconciler.snapshot().lastTurn !== undefined).toBe(true);
    source.failure = new SourceError("AuthenticationFailed", "no");
    const failing = reconciler.operator.reconcile();
    await expect.poll(() => reconciler.operator.answerTo(failing).state).toBe("ended");
    source.failure = undefined;
    const before = source.fetched;
    reconciler.trigger("retry");
    reconciler.trigger("webhook");
    const token = reconciler.operator.reconcile();
    await expect.poll(() => reconciler.operator.answerTo(token).state).toBe("ended");
    expect(source.fetched).toBeGreaterThan(before);
  } finally {
    end.abort();
    await running;
  }
});

test("senders are asked to come again for a recreation only as long as a file asks for it", async () => {
  const reconciler = await world.after(orders, sales);
  const between = new Map<string, boolean>();
  world.engine.recreating = (id, isOn) => void between.set(id, isOn);
  world.engine.onCall = (call) => {
    if (call === "create") throw new Error("no secret");
  };
  const longer = ["resources: { nats: { stream: { max_age: 48h } } }"];
  world.source.say({ ...orders, root: longer, sluice: ["recreate: true"] }, sales);
  await reconciler.turn("poll", signal);
  expect(between.get("orders")).toBe(true);
  world.source.say(sales);
  await reconciler.turn("poll", signal);
  await reconciler.turn("poll", signal);
  expect(between.get("orders")).toBe(false);
});
