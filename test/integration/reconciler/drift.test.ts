import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { settledFolder } from "../../support/settled-folder.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import type { PipelineStatus } from "../../../reconciler/status/status.ts";
import type { Turn } from "../../../reconciler/status/turn.ts";
import { defaultOptions, engineOptions } from "../../../schemas/index.ts";
import { Gate, pass } from "../../support/clickhouse-proxy.ts";
import { EngineOnServer, ServerPipeline } from "../../support/engine-on-server.ts";
import type { Over } from "../../support/engine-on-server.ts";

/** Milliseconds that end a hang. */
const soon = { timeout: 60_000 };

let on: EngineOnServer;
let reconciler: Reconciler;
let files: string;

beforeAll(async () => {
  on = await EngineOnServer.start();
  on.secrets["env:P"] = on.server.password;
  files = join(on.engine.dataDir, "files");
  await mkdir(files);
  reconciler = waitingFor(20_000);
  await say("other");
});

/** A reconciler whose turns wait so long for slow changes, in milliseconds. */
function waitingFor(applyTimeout: number): Reconciler {
  const { dataDir, engine, log } = on.engine;
  const options = { source: settledFolder(files), engine, dataDir, log, registry: new Registry() };
  return new Reconciler({ ...options, interval: 60_000, applyTimeout });
}

afterAll(() => on.stop());

/** What the token and the password of each pipeline refer to. */
const access_token = "${env:P}";

function configOf(id: string, { sink, ...over }: Over = {}): ReturnType<EngineOnServer["config"]> {
  const connection_params = on.connection({ port: "9000", password: access_token });
  return on.config(id, { ...over, sink: { connection_params, ...sink } });
}

/** Writes the file of a pipeline, whose table is made. */
async function say(id: string, directives: Record<string, unknown> = {}, over: Over = {}): Promise<ServerPipeline> {
  const pipeline = new ServerPipeline(on, id, on.server.password);
  await on.run(`CREATE TABLE IF NOT EXISTS ${pipeline.table} (id Int64, level String) ENGINE = MergeTree ORDER BY id
    SETTINGS non_replicated_deduplication_window = 100`);
  const document = { ...configOf(id, over), "x-sluice": { access_token, ...directives } };
  await writeFile(join(files, `${id}.json`), JSON.stringify(document));
  return pipeline;
}

async function turn(): Promise<Turn> {
  const taken = await reconciler.turn("poll", new AbortController().signal);
  if (taken.error !== undefined) throw taken.error;
  return taken;
}

/** Takes a turn and gives what was done to a pipeline, and what became of that. */
async function done(id: string): Promise<(string | undefined)[]> {
  const { plan, outcomes = [] } = await turn();
  const change = plan?.changes.find(({ pipeline_id }) => pipeline_id === id);
  const outcome = outcomes.find(({ pipeline_id }) => pipeline_id === id);
  return [change?.cause, change?.calls.join(" "), outcome?.result];
}

function told(id: string): PipelineStatus["conditions"] {
  return reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === id)?.conditions ?? [];
}

const inSync = ["InSync", "", undefined];

test("what somebody does through the engine is put back once, and no event is lost", { timeout: 60_000 }, async () => {
  const { engine } = on.engine;
  const orders = await say("orders");
  expect(await done("orders")).toEqual(["New", "create", "applied"]);
  const made = engine.get("orders");
  await orders.post(1, 2);

  await engine.rename("orders", "By hand");
  await engine.tag("orders", ["by-hand"]);
  await engine.configure("orders", { ...made.options, on_lost: "skip" });
  expect(await done("orders")).toEqual(["Drifted", "rename tag configure", "applied"]);
  expect(engine.get("orders")).toMatchObject({ config: made.config, options: made.options, revision: 1 });

  await engine.stop("orders");
  await orders.post(3, 4);
  expect(await done("orders")).toEqual(["Drifted", "resume", "applied"]);
  await engine.stop("orders");
  await engine.update("orders", configOf("orders", { name: "By hand", sink: { max_delay_time: "2h" } }), made.options);
  await engine.resume("orders");
  await orders.post(5, 6);
  expect((await done("orders")).slice(0, 2)).toEqual(["Drifted", ""]);
  expect(told("orders").map(({ type, reason }) => `${type} ${reason}`)).toContain("Drifted DriftWaits");

  // A person who suspends it and lets it go has it put back at once.
  await say("orders", { suspend: true });
  expect(await done("orders")).toEqual(["Suspended", "", undefined]);
  await say("orders");
  expect(await done("orders")).toEqual(["Drifted", "stop update resume", "applied"]);
  expect(engine.get("orders")).toMatchObject({ config: made.config, revision: 3 });
  expect(await done("orders")).toEqual(inSync);
  await orders.settled();
  expect(await on.ids("d.orders")).toEqual([1, 2, 3, 4, 5, 6]);
});

test("a pipeline that somebody deleted is made again", { tags: ["rest"] }, async () => {
  const { engine } = on.engine;
  await say("deleted");
  await turn();
  await engine.stop("deleted");
  await engine.delete("deleted");
  expect(await done("deleted")).toEqual(["Drifted", "create", "applied"]);
  expect(await done("deleted")).toEqual(inSync);
});

test("a drift that is only reported stays, and says what differs", { tags: ["rest"] }, async () => {
  const { engine } = on.engine;
  await say("reported", { drift: "report" });
  await turn();
  await engine.stop("reported");
  expect(await done("reported")).toEqual(["Drifted", "", undefined]);
  expect(engine.get("reported").status).toBe("Stopped");
  expect(told("reported")).toMatchObject([
    { type: "Ready", status: "False", reason: "Drifted" },
    { type: "Drifted", message: 'x-sluice.state: "Stopped" in the engine, "Running" in its file' },
  ]);
});

test("a pipeline that runs as its file says is taken over as it runs, and is owned from then on", async () => {
  const { engine } = on.engine;
  const config = configOf("adopted");
  await engine.create(config, engineOptions({ ...config, "x-sluice": { access_token } } as never));
  const adopted = await say("adopted");
  await adopted.post(1, 2);
  await adopted.settled();
  const before = { view: engine.get("adopted"), counters: adopted.health.counters };
  expect(await done("adopted")).toEqual(inSync);
  expect({ view: engine.get("adopted"), counters: adopted.health.counters }).toEqual(before);
  await rm(join(files, "adopted.json"));
  expect(await done("adopted")).toEqual(["FileRemoved", "stop delete", "applied"]);
});

test("a pipeline that differs is shown, and is taken over where its file says so", { tags: ["rest"] }, async () => {
  const { engine } = on.engine;
  await engine.create(configOf("foreign", { name: "Somebody's" }), defaultOptions);
  await say("foreign");
  expect(await done("foreign")).toEqual(["NotAdopted", "", undefined]);
  expect(told("foreign")[0]).toMatchObject({
    reason: "NotAdopted",
    message: expect.stringContaining("x-sluice.adopt"),
  });
  await say("foreign", { adopt: true });
  expect(await done("foreign")).toEqual(["Adopted", "rename configure", "applied"]);
  expect(await done("foreign")).toEqual(inSync);
});

test(
  "an edit that waits for a batch on its way says so, and is made when that is settled",
  { tags: ["rest"] },
  async () => {
    const pending = await say("pending");
    await turn();
    const gate = new Gate();
    on.proxy.decide(async ({ token }) => {
      if (token !== undefined) await gate.opened;
      return pass;
    });
    await pending.post(1, 2);
    await pending.until(({ pending_batches }) => pending_batches === 1);
    await say("pending", {}, { sink: { max_delay_time: "2h" } });
    reconciler = waitingFor(1);
    expect(await done("pending")).toEqual(["Changed", "stop update resume", "under way"]);
    // The stop is noted in the journal before it begins.
    await expect
      .poll(() => told("pending").map(({ type, status, reason }) => `${type} ${status} ${reason}`), soon)
      .toEqual(["Ready Unknown PendingBatch", "Reconciling True PendingBatch"]);
    expect(await done("pending")).toEqual(["InProgress", "", undefined]);
    gate.open();
    // A turn waits 1 ms for the change, which ends a little after the pipeline runs.
    await expect.poll(() => done("pending"), soon).toEqual(inSync);
    expect(on.engine.engine.get("pending")).toMatchObject({ revision: 2, status: "Running" });
    expect(await on.ids("d.pending")).toEqual([1, 2]);
  },
);
