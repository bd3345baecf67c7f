import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { OperationRecord } from "../../../reconciler/apply/history.ts";
import { reasonText } from "../../../reconciler/plan/render/index.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import type { ModelEngine } from "../../support/model-engine.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";
import { conditionOf, orders, outcomes, signal, World } from "./world.ts";

let world: World;
const folders: string[] = [];

beforeEach(async () => void (world = await World.make()));

afterEach(async () => {
  await world.remove();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** What another process finds after this one was killed at one moment. */
interface Left {
  at: string;
  dataDir: string;
  engine: ModelEngine;
  /** Calls that had had their effect. */
  effects: string[];
}

const resources = ["resources: { nats: { stream: { max_age: 48h } } }"];

/** One pipeline for each kind of step, before and after. */
const before: PipelineText[] = [
  { id: "hot-edit", tags: ["a"] },
  { id: "edited" },
  { id: "renamed" },
  { id: "made-anew", sluice: ["recreate: true"] },
  { id: "stopped" },
  { id: "resumed", sluice: ["state: Stopped"] },
  { id: "terminated" },
  { id: "deleted" },
  { id: "anew-at-rest", sluice: ["recreate: true"] },
];
const after: PipelineText[] = [
  { id: "newcomer" },
  { id: "hot-edit", tags: ["b"], name: "Hot", sluice: ["on_lost: skip"] },
  { id: "edited", expression: "id > 1" },
  { id: "renamed", name: "Another", sluice: ["depends_on: [newcomer]"] },
  { id: "made-anew", root: resources, sluice: ["recreate: true"] },
  { id: "stopped", expression: "id > 1", sluice: ["state: Stopped"] },
  { id: "resumed" },
  { id: "terminated", sluice: ["state: Terminated"] },
  { id: "anew-at-rest", root: resources, sluice: ["recreate: true", "state: Stopped"] },
];

/** Carries a change out once, and keeps what a kill at each moment of it would have left behind. */
async function leftAtEachMoment(from: PipelineText[], to: PipelineText[]): Promise<Left[]> {
  const reconciler = await world.after(...from);
  const { engine } = world;
  engine.effects.length = 0;
  const all: Left[] = [];
  const look = (at: string): void => {
    const dataDir = mkdtempSync(join(tmpdir(), "sluice-left-"));
    folders.push(dataDir);
    cpSync(world.dataDir, dataDir, { recursive: true, filter: (path) => !path.endsWith(".new") });
    all.push({ at, dataDir, engine: engine.restarted(), effects: [...engine.effects] });
  };
  engine.onCall = (call, id) => look(`before ${call} ${id}`);
  engine.onEffect = (call, id) => look(`after ${call} ${id}`);
  world.source.say(...to);
  await reconciler.turn("poll", signal);
  return all;
}

/** A reconciler of the process that comes after. */
function next({ dataDir, engine }: Left): Reconciler {
  return world.reconciler({ dataDir, engine });
}

const stateOf = (engine: ModelEngine): unknown => {
  const all = [...engine.pipelines.values()].toSorted((a, b) => a.pipeline_id.localeCompare(b.pipeline_id));
  return all.map(({ pipeline_id, config, options, status, revision, intake }) => {
    return { pipeline_id, config, options, status, revision, intake };
  });
};

const of = (all: PipelineText[], ids: string[]): PipelineText[] => all.filter(({ id }) => ids.includes(id));
/** Those whose changes make each kind of call, and the others. */
const some = ["newcomer", "hot-edit", "edited", "made-anew", "terminated", "deleted"];
const others = ["newcomer", "renamed", "stopped", "resumed", "anew-at-rest", "deleted"];
const title = "is carried on: nothing twice, nothing left undone, all recorded";

test(`a kill at any step of a change ${title}`, () => isCarriedOn(of(before, some), of(after, some), 26));

test(`a kill at any step of another change ${title}`, { tags: ["rest"] }, () =>
  isCarriedOn(of(before, others), of(after, others), 22),
);

async function isCarriedOn(from: PipelineText[], to: PipelineText[], steps: number): Promise<void> {
  const moments = await leftAtEachMoment(from, to);
  expect(moments.length).toBe(steps);
  const wished = stateOf(world.engine);
  for (const left of moments) {
    const reconciler = next(left);
    for (let turn = 0; turn < 2; turn += 1) await reconciler.turn("start", signal);
    expect(stateOf(left.engine), left.at).toEqual(wished);
    const all = [...left.effects, ...left.engine.effects];
    const once = all.filter((effect) => /^(create|update|move|delete|terminate) /.test(effect));
    expect(once, left.at).toEqual([...new Set(once)]);
    const terminated = all.filter((effect) => effect.startsWith("terminate "));
    expect(
      terminated.filter((effect) => effect !== "terminate terminated"),
      left.at,
    ).toEqual([]);
    const records = reconciler.history({ limit: 100 }).records.filter(({ revision }) => revision === "test@2");
    const ids = records.map(({ pipeline_id, result }) => `${pipeline_id} ${result}`).toSorted();
    expect(ids, left.at).toEqual([...to, { id: "deleted" }].map(({ id }) => `${id} applied`).toSorted());
  }
}

describe("a pipeline whose file gives it another id", () => {
  const sales: PipelineText = {
    ...orders,
    id: "sales",
    table: "orders",
    name: "Orders",
    sluice: ["moved_from: orders"],
  };
  const named: PipelineText = { ...orders, name: "Orders" };

  test(`and that was killed at any step of its move ${title}`, () =>
    isCarriedOn([named, ...of(before, ["deleted"])], [sales], 10));

  test("goes on by its former id, or back to it, where the commit is taken back after a kill at any step", async () => {
    const moments = await leftAtEachMoment([named, { id: "other" }], [sales, { id: "other" }]);
    expect(moments.map(({ at }) => at)).toEqual(
      ["stop orders", "move sales", "resume sales"].flatMap((call) => [`before ${call}`, `after ${call}`]),
    );
    world.source.say(named, { id: "other" });
    for (const left of moments) {
      const reconciler = next(left);
      for (let turn = 0; turn < 2; turn += 1) await reconciler.turn("start", signal);
      const { status, config } = left.engine.get("orders");
      expect([left.engine.pipelines.size, status, config.pipeline_id], left.at).toEqual([2, "Running", "orders"]);
      expect(left.engine.effects.filter((effect) => /^(create|delete) /.test(effect))).toEqual([]);
      expect(
        reconciler.snapshot().pipelines.map(({ pipeline_id }) => pipeline_id),
        left.at,
      ).toEqual(["orders", "other"]);
      expect(
        Object.keys(JSON.parse(readFileSync(join(left.dataDir, "reconciler.json"), "utf8")).pipelines),
        left.at,
      ).toEqual(expect.arrayContaining(["orders", "other"]));
    }
  });

  test("goes on as it was where its file is broken after a kill in its move", async () => {
    const moments = await leftAtEachMoment([named, { id: "other" }], [sales, { id: "other" }]);
    world.source.say({ ...sales, expression: "level ===" }, { id: "other" });
    for (const left of moments) {
      const reconciler = next(left);
      for (let turn = 0; turn < 2; turn += 1) await reconciler.turn("start", signal);
      const statuses = [...left.engine.pipelines.values()].map(({ pipeline_id, status }) => `${pipeline_id} ${status}`);
      const isMoved = left.effects.includes("move sales");
      expect(statuses.toSorted(), left.at).toEqual(
        ["other Running", isMoved ? "sales Running" : "orders Running"].toSorted(),
      );
    }
  });

  test("is completed once it was begun, also while its folder may be half of a copy", async () => {
    const moments = await leftAtEachMoment([named, { id: "other" }], [sales, { id: "other" }]);
    const left = moments.find(({ at }) => at === "after stop orders")!;
    world.source.settles({ after: 1_000, at: Infinity, recent: [] });
    await next(left).turn("start", signal);
    expect(left.engine.effects).toEqual(["move sales", "resume sales"]);
  });

  test("keeps the history of its former ids, of which another pipeline has none", async () => {
    const reconciler = await world.after(named, { id: "other" });
    const ids = (pipeline_id: string): string[] =>
      reconciler.history({ pipeline_id, limit: 10 }).records.map(({ pipeline_id: id, plan }) => `${id} ${plan.kind}`);
    const say = async (...pipelines: PipelineText[]): Promise<void> => {
      world.source.say(...pipelines, { id: "other" });
      await reconciler.turn("poll", signal);
    };
    await say({ ...named, expression: "id > 1" });
    await say({ ...sales, expression: "id > 1" });
    await say({ ...sales, id: "third", sluice: ["moved_from: sales"], expression: "id > 1" });
    expect(ids("third")).toEqual(["third update", "sales update", "orders update", "orders create"]);
    expect(ids("sales")).toEqual(["sales update", "orders update", "orders create"]);
    await say({ ...sales, id: "third", sluice: [], expression: "id > 1" }, { id: "sales" });
    expect(ids("third")).toEqual(["third update", "sales update", "orders update", "orders create"]);
    const inventory = (await world.inventory()).pipelines;
    expect(Object.keys(inventory).toSorted()).toEqual(["other", "sales", "third"]);
    expect(inventory).toMatchObject({ third: { moved_from: ["sales", "orders"] } });
  });

  test("goes back to the id that its file names, also where it was created by that file", async () => {
    const reconciler = await world.after(sales, { id: "other" });
    world.source.say(named, { id: "other" });
    await reconciler.turn("poll", signal);
    expect(world.engine.effects.slice(-3)).toEqual(["stop sales", "move orders", "resume orders"]);
    expect([...world.engine.pipelines.keys()].toSorted()).toEqual(["orders", "other"]);
  });

  test("goes back to its former id, and to what it was there, without an approval", async () => {
    const read = { topic: "orders", table: "orders" };
    await world.after({ ...named, ...read });
    const moved = { ...sales, ...read };
    for (const file of [
      { ...named, ...read, expression: "id > 1" },
      { ...moved, expression: "id > 1" },
    ]) {
      world.source.say(file);
      await world.reconciler().turn("poll", signal);
    }
    const asking = world.reconciler({ approve: "restart" });
    const reasonOf = (): string | undefined => asking.snapshot().pipelines[0]?.conditions[0]?.reason;
    world.source.say({ ...named, ...read, expression: "id > 2" });
    await asking.turn("poll", signal);
    expect(reasonOf()).toBe("NotApproved");
    world.source.say({ ...named, ...read });
    await asking.turn("poll", signal);
    expect(world.engine.get("orders").status).toBe("Running");
    expect(world.engine.effects.slice(-3)).toEqual(["stop sales", "move orders", "resume orders"]);
  });
});

/** What a kill at one moment of the change of `orders` leaves behind. */
async function leftAt(moment: string, to: PipelineText): Promise<Left> {
  const moments = await leftAtEachMoment([orders, { id: "other" }], [to, { id: "other" }]);
  const left = moments.find(({ at }) => at === moment);
  if (left === undefined) throw new Error(`expected the change to come to "${moment}"`);
  return left;
}

const broken: PipelineText = { ...orders, expression: "level ===" };
const edited: PipelineText = { ...orders, expression: "id > 1" };
const immutable: PipelineText = { ...orders, root: resources };
const anew: PipelineText = { ...immutable, sluice: ["recreate: true"] };
const newest = (reconciler: Reconciler): OperationRecord[] =>
  reconciler.history({ pipeline_id: "orders", limit: 2 }).records;

describe("a pipeline that was stopped for an edit when the process was killed", () => {
  test.each<[string, PipelineText, string]>([
    ["is invalid now", broken, "InvalidFile"],
    ["is suspended now", { ...orders, sluice: ["suspend: true"] }, "Suspended"],
    ["asks for what is refused now", immutable, "ImmutableField"],
    ["waits for a pipeline that does not run", { ...edited, sluice: ["depends_on: [nobody]"] }, "DependencyNotReady"],
  ])("goes on as it was where its file %s", async (_title, now, cause) => {
    const left = await leftAt("after stop orders", edited);
    world.source.say(now, { id: "other" });
    const reconciler = next(left);
    const { plan } = await reconciler.turn("start", signal);
    const change = plan?.changes.find(({ pipeline_id }) => pipeline_id === "orders");
    expect(change).toMatchObject({ kind: "resume", cause: "Interrupted", calls: ["resume"] });
    expect(change && reasonText(change.why)).toContain(
      "it goes on as it was: the change of test@2 that stopped it is no longer asked for",
    );
    expect(left.engine.get("orders").status).toBe("Running");
    const { plan: second } = await reconciler.turn("poll", signal);
    expect(second?.changes.find(({ pipeline_id }) => pipeline_id === "orders")).toMatchObject({ cause, calls: [] });
    const [back, edit] = newest(reconciler);
    expect(back).toMatchObject({ plan: { kind: "resume", cause: "Interrupted" }, result: "applied" });
    expect(back?.measured.pause_ms).toBeGreaterThanOrEqual(0);
    expect(edit).toMatchObject({ plan: { kind: "update" }, result: "replaced", interrupted: 1 });
  });

  test("goes on as it was where its file is gone and may be in one that cannot be read", async () => {
    const left = await leftAt("after stop orders", edited);
    world.source.say({ id: "other" });
    const unread = { path: "unread.yaml", bytes: Buffer.from("{") };
    const revision = await world.source.fetch();
    revision.files.push(unread);
    await next(left).turn("start", signal);
    expect(left.engine.get("orders").status).toBe("Running");
  });

  test("and whose edit is taken back goes on as it was", async () => {
    const left = await leftAt("after stop orders", edited);
    world.source.say(orders, { id: "other" });
    await next(left).turn("start", signal);
    expect(left.engine.effects).toEqual(["resume orders"]);
  });

  test("stays stopped where its file asks for that now", async () => {
    const left = await leftAt("after stop orders", edited);
    world.source.say({ ...orders, sluice: ["state: Stopped"] }, { id: "other" });
    await next(left).turn("start", signal);
    expect(left.engine.effects).toEqual([]);
  });
});

test("a deletion that was begun and whose file is broken now is taken back", async () => {
  const moments = await leftAtEachMoment([orders, { id: "other" }], [{ id: "other" }]);
  const left = moments.find(({ at }) => at === "after stop orders")!;
  world.source.say(broken, { id: "other" });
  await next(left).turn("start", signal);
  expect([left.engine.get("orders").status, left.engine.takesEvents("orders")]).toEqual(["Running", true]);
});

describe("a recreation that was cut off between deletion and creation", () => {
  test.each<[string, PipelineText]>([
    ["broken", broken],
    ["suspended", { ...orders, sluice: ["suspend: true"] }],
  ])("is carried on with what it had begun with where its file is %s now", async (_title, now) => {
    const left = await leftAt("after delete orders", anew);
    world.source.say(now, { id: "other" });
    const reconciler = next(left);
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(left.engine.get("orders").config.resources.nats.stream.max_age).toBe("48h0m0s");
    expect(newest(reconciler)[0]).toMatchObject({ plan: { kind: "recreate" }, result: "applied", interrupted: 1 });
    expect(await outcomes(reconciler)).toEqual({});
  });

  test("is carried on where the file cannot be read at all", async () => {
    const left = await leftAt("after delete orders", anew);
    world.source.say({ id: "other" });
    const revision = await world.source.fetch();
    revision.files.push({ path: "orders.yaml", bytes: Buffer.from("{") });
    expect(await outcomes(next(left))).toEqual({ orders: "applied" });
  });

  test("says that it is lost where a secret stands in the file as plain text, and keeps that secret nowhere", async () => {
    const left = await leftAt("after delete orders", { ...anew, connection: ["password: s3cret"] });
    world.source.say(broken, { id: "other" });
    const reconciler = next(left);
    expect(await outcomes(reconciler)).toEqual({});
    expect(conditionOf(reconciler)?.message).toContain(
      "test@2 had deleted it to recreate it, and its new config was not stored",
    );
    expect(JSON.stringify(reconciler.history({ limit: 10 }))).not.toContain("s3cret");
    world.source.say(anew, { id: "other" });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
  });

  test("is over where the file is gone", async () => {
    const left = await leftAt("after delete orders", anew);
    world.source.say({ id: "other" });
    const reconciler = next(left);
    expect(await outcomes(reconciler)).toEqual({});
    expect(left.engine.pipelines.has("orders")).toBe(false);
    expect(newest(reconciler)[0]).toMatchObject({ plan: { kind: "recreate" }, result: "replaced" });
  });
});
