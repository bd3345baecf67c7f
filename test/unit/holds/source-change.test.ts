import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SourceDescription } from "../../../reconciler/git/revision.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { keptLog } from "../../support/engine.ts";
import { edited, orders, outcomes, readyOf, World } from "../apply/world.ts";

const sales = { id: "sales-eu" };
const shop = { kind: "git", url: "https://example.com/shop.git", branch: "main", path: "pipelines" } as const;
let world: World;

beforeEach(async () => {
  world = await World.make();
  world.source.description = shop;
});

afterEach(() => world.remove());

const running = (): string[] =>
  world.engine
    .list()
    .map(({ pipeline_id }) => pipeline_id)
    .toSorted();

/** The next process, which follows another source with these pipelines. */
function following(source: Partial<SourceDescription>, ...pipelines: { id: string }[]): Reconciler {
  world.source.description = { ...shop, ...source };
  world.source.say(...pipelines);
  return world.reconciler();
}

const others: [string, Partial<SourceDescription>][] = [
  ["path", { path: "staging" }],
  ["branch", { branch: "next" }],
  ["repository", { url: "https://example.com/other.git" }],
  ["kind of source", { kind: "dir", url: "/pipelines", path: "." }],
];

describe.each(others)("another %s on the same data dir", (_what, source) => {
  test("changes nothing while that would delete a pipeline, until an operator approves it", async () => {
    await world.after(orders, sales);
    world.engine.calls.length = 0;
    const reconciler = following(source, edited, { id: "fresh" });
    await outcomes(reconciler);
    await outcomes(reconciler);
    expect(world.engine.calls).toEqual([]);
    for (const id of ["orders", "sales-eu", "fresh"]) {
      expect(readyOf(reconciler, id)).toEqual(["False", "SourceChanged", "Stalled"]);
    }
    const said = reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === "sales-eu");
    expect(said?.change.reason).toMatch(
      /^the source is .*, and was https:\/\/example\.com\/shop\.git, branch main, path pipelines; it lacks 1 pipeline \(sales-eu\).*"sluice approve"/,
    );

    expect(await reconciler.operator.approve({ by: "ada" })).toMatchObject({ removes: ["sales-eu"] });
    await outcomes(reconciler);
    expect(running()).toEqual(["fresh", "orders"]);
    await expect(reconciler.operator.approve({})).rejects.toThrow("nothing waits for an approval");
  });

  test("changes nothing either after a restart, and goes on as before with the source before", async () => {
    await world.after(orders, sales);
    await outcomes(following(source, orders));
    await outcomes(following(source, orders));
    const back = following({}, orders, sales);
    await outcomes(back);
    expect(readyOf(back, "sales-eu")).toEqual(["True", "ReconciliationSucceeded"]);
    expect(running()).toEqual(["orders", "sales-eu"]);
  });

  test("is followed at once where it has every pipeline, and what it removes later is deleted", async () => {
    await world.after(orders, sales);
    const reconciler = following(source, orders, sales, { id: "fresh" });
    await outcomes(reconciler);
    expect(running()).toEqual(["fresh", "orders", "sales-eu"]);
    world.source.say(orders, { id: "fresh" });
    await outcomes(reconciler);
    expect(running()).toEqual(["fresh", "orders"]);
  });
});

test("a source with too many deletions, or without any pipeline, is held as well", async () => {
  await world.after(orders, sales);
  world.source.description = { ...shop, path: "staging" };
  world.source.say({ id: "fresh" });
  const reconciler = world.reconciler({ maxDeletions: "1" });
  await outcomes(reconciler);
  expect(readyOf(reconciler, "orders")).toEqual(["False", "SourceChanged", "Stalled"]);
  world.source.say();
  await outcomes(reconciler);
  expect(readyOf(reconciler, "orders")).toEqual(["False", "EmptySource", "Stalled"]);
  world.source.say(sales);
  await outcomes(reconciler);
  expect(readyOf(reconciler, "orders")).toEqual(["False", "SourceChanged", "Stalled"]);
});

test("a source in which a file cannot be used lacks its pipeline", async () => {
  await world.after(orders, sales);
  world.source.description = { ...shop, path: "staging" };
  world.source.say(orders, { ...sales, root: ["nonsense: 1"] });
  const reconciler = world.reconciler();
  await outcomes(reconciler);
  world.source.say(orders);
  await outcomes(reconciler);
  expect(readyOf(reconciler, "sales-eu")).toEqual(["False", "SourceChanged", "Stalled"]);
});

test("another commit or tag of the same repository is no other source", async () => {
  const { branch: _branch, ...tagged } = shop;
  world.source.description = { ...tagged, tag: "v1" };
  await world.after(orders, sales);
  world.source.description = { ...tagged, tag: "v2" };
  world.source.say(orders);
  await outcomes(world.reconciler());
  expect(running()).toEqual(["orders"]);
});

/** The server redirects there, where these pipelines are; undefined where it does not. */
function redirected(to: string | undefined, ...pipelines: { id: string }[]): void {
  world.source.redirected = to;
  world.source.say(...pipelines);
}

describe("another address to which the server redirects", () => {
  const elsewhere = "https://example.com/attic/shop.git";

  test("is followed where its files are the same, shown and logged once, and what it changes later waits", async () => {
    await world.after(orders, sales);
    const log = keptLog();
    const reconciler = world.reconciler({ log });
    redirected(elsewhere, orders, sales);
    await outcomes(reconciler);
    await outcomes(reconciler);
    const [ready] = reconciler.snapshot().conditions;
    expect([ready?.status, ready?.message]).toEqual([
      "True",
      `every pipeline matches test@2, read at ${elsewhere}, to which the server redirects (if that is intended, name it with --repo)`,
    ]);
    const told = () => log.lines.filter(({ sentence }) => sentence.startsWith("The server of the source"));
    expect(told()).toMatchObject([{ level: "warn", fields: { url: shop.url, redirected: elsewhere } }]);
    world.engine.calls.length = 0;
    redirected(elsewhere, edited);
    await outcomes(reconciler);
    await outcomes(world.reconciler());
    await outcomes(reconciler);
    expect(world.engine.calls).toEqual([]);
    expect(readyOf(reconciler, "orders")).toEqual(["False", "SourceChanged", "Stalled"]);
    expect(readyOf(reconciler, "sales-eu")).toEqual(["False", "SourceChanged", "Stalled"]);
    redirected(undefined, orders, sales);
    await outcomes(reconciler);
    expect(told()).toMatchObject([
      { level: "warn" },
      { level: "info", sentence: "The server of the source no longer redirects." },
    ]);
  });

  test("changes nothing while its files differ, and is forgotten when the redirect ends", async () => {
    const reconciler = await world.after(orders, sales);
    world.engine.calls.length = 0;
    redirected(elsewhere, edited, sales, { id: "planted" });
    await outcomes(reconciler);
    await outcomes(world.reconciler());
    await outcomes(reconciler);
    expect(world.engine.calls).toEqual([]);
    expect(readyOf(reconciler, "orders")).toEqual(["False", "SourceChanged", "Stalled"]);
    expect(readyOf(reconciler, "planted")).toEqual(["False", "SourceChanged", "Stalled"]);
    const said = reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === "orders")?.change.reason;
    expect(said).toBe(
      `the source is ${elsewhere} (to which ${shop.url} redirects), branch main, path pipelines, and was ${shop.url}, branch main, ` +
        "path pipelines; it changes 2 pipelines (orders, planted), so nothing is changed. Ways out: correct the redirect; or " +
        '"sluice approve", which follows it',
    );
    redirected(undefined, edited, sales);
    await outcomes(reconciler);
    expect(running()).toEqual(["orders", "sales-eu"]);
    expect(readyOf(reconciler, "orders")).toEqual(["True", "ReconciliationSucceeded"]);
  });

  test("is followed after an approval; meanwhile drift waits and the stop of an operator does not", async () => {
    const reconciler = await world.after(orders, sales);
    redirected(elsewhere, edited, sales);
    await reconciler.operator.stop("sales-eu", 60_000, { by: "ada" });
    world.engine.calls.length = 0;
    await outcomes(reconciler);
    expect(world.engine.calls).toEqual(["stop sales-eu"]);
    expect(await reconciler.operator.approve({ by: "ada" })).toMatchObject({ removes: [], edits: ["orders"] });
    await outcomes(reconciler);
    expect(readyOf(reconciler, "orders")).toEqual(["True", "ReconciliationSucceeded"]);
    // Also what is changed there later.
    redirected(elsewhere, orders);
    await outcomes(reconciler);
    expect(running()).toEqual(["orders"]);
  });

  test("is followed from the first start on, and no longer once it has ended", async () => {
    redirected(elsewhere, orders, sales);
    const reconciler = world.reconciler();
    await outcomes(reconciler);
    redirected(elsewhere, edited, sales);
    await outcomes(reconciler);
    expect(readyOf(reconciler, "orders")).toEqual(["True", "ReconciliationSucceeded"]);
    redirected(undefined, edited, sales);
    await outcomes(reconciler);
    redirected(elsewhere, orders, sales);
    await outcomes(reconciler);
    expect(readyOf(reconciler, "orders")).toEqual(["False", "SourceChanged", "Stalled"]);
  });
});

const ways: [string, (reconciler: Reconciler) => Reconciler][] = [
  ["another folder of the repository", () => following({ path: "staging" }, orders)],
  [
    "an address to which the server redirects",
    (reconciler) => {
      redirected("https://example.com/attic/shop.git", orders);
      return reconciler;
    },
  ],
];

interface Delay {
  title: string;
  begin: (reconciler: Reconciler) => unknown;
  end: (reconciler: Reconciler) => unknown;
}

const delays: Delay[] = [
  {
    title: "an operator stopped",
    begin: ({ operator }) => operator.stop("sales-eu", 60_000, {}),
    end: ({ operator }) => operator.resume("sales-eu", {}),
  },
  {
    title: "an operator suspended",
    begin: ({ operator }) => operator.suspend("sales-eu", {}),
    end: ({ operator }) => operator.resume("sales-eu", {}),
  },
  {
    title: "has dead letters",
    begin: () => world.engine.change("sales-eu", { letters: 1 }),
    end: () => world.engine.change("sales-eu", { letters: 0 }),
  },
];

/** Takes turns before and after the end of a delay, and expects both pipelines to be there. */
async function outlast(reconciler: Reconciler, end: Delay["end"]): Promise<void> {
  await outcomes(reconciler);
  await outcomes(reconciler);
  await end(reconciler);
  await outcomes(reconciler);
  await outcomes(reconciler);
  expect(running()).toEqual(["orders", "sales-eu"]);
}

describe.each(ways)("a pipeline that %s lacks, and whose deletion waits for something else", (_way, follow) => {
  test.each(delays)("as $title, is not deleted after that without an approval", async ({ begin, end }) => {
    const before = await world.after(orders, sales);
    await begin(before);
    const reconciler = follow(before);
    await outlast(reconciler, end);
    expect(readyOf(reconciler, "sales-eu")).toEqual(["False", "SourceChanged", "Stalled"]);
    expect(await reconciler.operator.approve({})).toMatchObject({ removes: ["sales-eu"] });
    await outcomes(reconciler);
    expect(running()).toEqual(["orders"]);
  });

  test.each(delays)("as $title while it waits for an approval, stays", async ({ begin, end }) => {
    const reconciler = follow(await world.after(orders, sales));
    await outcomes(reconciler);
    await begin(reconciler);
    await outlast(reconciler, end);
    expect(world.engine.get("sales-eu").status).toBe("Running");
  });
});

test("a pipeline that a redirect lacks while it is changed is not deleted after that without an approval", async () => {
  const reconciler = await world.after(orders, sales);
  const goOn = world.holdUp("update", "sales-eu");
  world.source.say(orders, { ...sales, expression: "id > 1" });
  await outcomes(reconciler);
  redirected("https://example.com/attic/shop.git", orders);
  await outcomes(reconciler);
  goOn();
  await outcomes(reconciler);
  await outcomes(reconciler);
  expect(running()).toEqual(["orders", "sales-eu"]);
});
