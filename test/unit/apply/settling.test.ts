import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Folder } from "../../../reconciler/git/folder/folder.ts";
import { resultOf, untilRetry } from "../../../reconciler/status/turn.ts";
import { dedupOf, pipelineText, type PipelineText } from "../../support/pipeline-text.ts";
import { conditionOf, readyOf, signal, World } from "./world.ts";

const recent = [{ path: "sub/b.yaml", at: 0 }];
const settling = { after: 10_000, at: 0, changed: "sub/b.yaml", recent };
const others: PipelineText[] = [{ id: "other-1" }, { id: "other-2" }];
const orders: PipelineText = { id: "orders", transforms: [dedupOf("id")] };
const streamOf = (messages: number) => ({
  ...orders,
  sluice: ["recreate: true"],
  root: [`resources: { nats: { stream: { max_msgs: ${messages} } } }`],
});

let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

describe("while a folder may be half of a copy", () => {
  test.each<[string, PipelineText, PipelineText[], string]>([
    ["a deletion", orders, [], "delete orders"],
    ["a recreation", streamOf(500_000), [streamOf(5_000)], "create orders"],
    ["an edit that forgets", orders, [{ ...orders, transforms: [dedupOf("level")] }], "update orders"],
  ])("%s waits, and is made when the folder has stood still", async (_title, before, after, effect) => {
    const reconciler = await world.after(before, ...others);
    world.engine.effects.splice(0);
    world.source.say(...after, ...others);
    world.source.settles(settling);
    await reconciler.turn("change", signal);
    expect(world.engine.effects).toEqual([]);
    expect(readyOf(reconciler)).toEqual(["False", "FolderChanging", "Reconciling"]);
    expect(conditionOf(reconciler)!.message).toContain(
      "this waits until the folder has stood still for 10 s (--dir-settle), as it may be half of a copy; sub/b.yaml changed last",
    );
    world.source.settles();
    await reconciler.turn("retry", signal);
    expect(world.engine.effects).toContain(effect);
  });

  test.each<[string, PipelineText[], string]>([
    ["a new pipeline", [orders, { id: "fresh" }], "create fresh"],
    ["an edit", [{ ...orders, expression: "id > 1" }], "update orders"],
    ["an end that the file asks for", [{ ...orders, sluice: ["state: Terminated"] }], "terminate orders"],
  ])("%s does not wait", async (_title, after, effect) => {
    const reconciler = await world.after(orders, ...others);
    world.source.say(...after, ...others);
    world.source.settles(settling);
    await reconciler.turn("change", signal);
    expect(world.engine.effects).toContain(effect);
  });

  test("a file that has just changed keeps the source from being ready, and a turn follows when it may count", async () => {
    const reconciler = await world.after(orders, ...others);
    const token = reconciler.operator.reconcile();
    const at = performance.now() + 2_000;
    const changing = { paths: ["new.yaml"], after: 2_000, at, isBrief: true };
    world.source.settles({ ...settling, changing });
    const turn = await reconciler.turn("change", signal);
    expect(resultOf(turn)).toBe("incomplete");
    expect(untilRetry(turn)).toBeLessThanOrEqual(2_000);
    const [ready, reconciling] = reconciler.snapshot().conditions;
    expect([ready, reconciling]).toMatchObject([
      { type: "Ready", status: "False", reason: "FolderChanging" },
      { type: "Reconciling", status: "True" },
    ]);
    expect(ready!.message).toContain(
      "these files have just changed, and count when they have stood still for 2 s, as they may be half of what is written: new.yaml",
    );
    expect(reconciler.snapshot().lastHandledReconcileAt).not.toBe(token);
    world.source.settles({ ...settling, changing: { ...changing, isBrief: false } });
    await reconciler.turn("poll", signal);
    expect(reconciler.snapshot().lastHandledReconcileAt).toBe(token);
  });

  test("no limit of deletions is exceeded yet", async () => {
    const reconciler = await world.after(orders, { id: "second" }, ...others);
    world.source.say(...others);
    world.source.settles(settling);
    await reconciler.turn("change", signal);
    expect(readyOf(reconciler, "second")).toEqual(["False", "FolderChanging", "Reconciling"]);
    world.source.settles();
    await reconciler.turn("retry", signal);
    expect(readyOf(reconciler, "second")).toEqual(["False", "DeletionBudget", "Stalled"]);
  });

  test("a deletion that was begun goes on", async () => {
    const reconciler = await world.after(orders, ...others);
    world.engine.change("orders", { letters: 1 });
    world.source.say(...others);
    await reconciler.turn("change", signal);
    world.source.say(...others, { id: "fresh" });
    world.source.settles(settling);
    world.engine.change("orders", { letters: 0 });
    await reconciler.turn("change", signal);
    expect(world.engine.effects).toContain("delete orders");
  });

  test("a plan for another folder that lacks a pipeline waits for an approval, and not for the copy", async () => {
    const reconciler = await world.after(orders, ...others);
    world.source.description = { kind: "dir", url: "/elsewhere", path: "." };
    world.source.say(...others);
    world.source.settles(settling);
    await reconciler.turn("change", signal);
    expect(readyOf(reconciler)).toEqual(["False", "SourceChanged", "Stalled"]);
  });
});

test("what .sluiceignore names is not waited for, though it is written, removed and new all the time", async () => {
  const folder = join(world.dataDir, "pipelines");
  await mkdir(join(folder, "gen"), { recursive: true });
  for (const one of [orders, ...others]) await writeFile(join(folder, `${one.id}.yaml`), pipelineText(one));
  for (const path of [".sluiceignore", "gen/old.yaml", "gen/a.yaml"]) await writeFile(join(folder, path), "gen/\n");
  let now = 0;
  const pause = async (wait: number): Promise<void> => void (now += wait);
  const source = new Folder({ path: folder, settle: 10_000, now: () => now, pause });
  const reconciler = world.reconciler({ source });
  await reconciler.turn("start", signal);
  now = 20_000;
  await rm(join(folder, "orders.yaml"));
  await reconciler.turn("poll", signal);
  expect(readyOf(reconciler)).toEqual(["False", "FolderChanging", "Reconciling"]);
  now = 30_000;
  await writeFile(join(folder, "gen/a.yaml"), "more: true");
  await writeFile(join(folder, "gen/new.yaml"), "new: true");
  await rm(join(folder, "gen/old.yaml"));
  const turn = await reconciler.turn("poll", signal);
  expect(world.engine.effects).toContain("delete orders");
  expect(turn.revision!.settling).toBeUndefined();
});

test.each<[string, number, "True" | "False", string | undefined]>([
  ["of more than 1 MiB is refused, and deletions wait", 1.1, "False", "PruneHeld"],
  ["of more than 4 MiB is not read, and the source is ready", 4.1, "True", undefined],
])("a file %s", { tags: ["rest"] }, async (_title, size, isReady, kept) => {
  const folder = join(world.dataDir, "pipelines");
  await mkdir(folder);
  for (const one of [orders, ...others]) await writeFile(join(folder, `${one.id}.yaml`), pipelineText(one));
  await writeFile(join(folder, "data.yaml"), `text: ${"x".repeat(size * 1024 * 1024)}\n`);
  const reconciler = world.reconciler({ source: new Folder({ path: folder }) });
  await reconciler.turn("start", signal);
  expect(reconciler.snapshot().conditions[0]).toMatchObject({ type: "Ready", status: isReady });
  await rm(join(folder, "orders.yaml"));
  await reconciler.turn("change", signal);
  expect(world.engine.pipelines.has("orders")).toBe(kept !== undefined);
  const ready = reconciler.snapshot().pipelines.find((one) => one.pipeline_id === "orders")?.conditions[0];
  expect(ready?.reason).toBe(kept);
});

test("a removal is carried out when the folder has settled, long before the next poll", async () => {
  const folder = join(world.dataDir, "pipelines");
  await mkdir(folder);
  for (const one of [orders, ...others]) await writeFile(join(folder, `${one.id}.yaml`), pipelineText(one));
  const end = new AbortController();
  const reconciler = world.reconciler({
    source: new Folder({ path: folder, settle: 50, quiet: 10 }),
    interval: 86_400_000,
  });
  const ended = reconciler.run(end.signal);
  await expect.poll(() => world.engine.pipelines.size).toBe(3);
  await rm(join(folder, "orders.yaml"));
  await expect.poll(() => world.engine.pipelines.size).toBe(2);
  end.abort();
  await ended;
});
