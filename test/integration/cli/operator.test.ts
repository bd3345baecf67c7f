import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PipelineView } from "../../../engine/index.ts";
import { controlApi } from "../../../reconciler/cli/control/routes.ts";
import { listenControl } from "../../../reconciler/cli/control/server.ts";
import type { ControlServer } from "../../../reconciler/cli/control/server.ts";
import { main } from "../../../reconciler/cli/main.ts";
import type { Rollback } from "../../../reconciler/operator.ts";
import { SourceError } from "../../../reconciler/git/revision.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { Commits } from "../../support/commits.ts";
import { World, edited, orders } from "../../unit/apply/world.ts";
import { info, restingEngine } from "../api/sample.ts";

const soon = { timeout: 60_000 };

const sales = { id: "sales-eu" };
let world: World;
let source: Commits;
let reconciler: Reconciler;
let control: ControlServer;
let stop: () => Promise<void>;

beforeEach(async () => {
  world = await World.make();
  source = new Commits();
  source.push("First", orders, sales);
  await start();
});

afterEach(async () => {
  await stop();
  await world.remove();
});

const unasked = () => Promise.reject(new Error("no engine here"));

/** A reconciler that looks by itself once an hour, and its control socket. */
async function start(): Promise<void> {
  reconciler = world.reconciler({ source, interval: 3_600_000 });
  const tokens = { show: () => ({ created_at: "", last_used_at: null, brought: false }), rotate: unasked };
  const list = (): PipelineView[] => world.engine.list();
  const engine = {
    ...restingEngine([]),
    list,
    tokens,
    reprocess: unasked,
    rewind: async (pipeline_id: string) => ({ pipeline_id, partitions: [rewound], events: 40 }),
    rewindPlan: unasked,
    sample: unasked,
    sql: unasked,
  };
  control = await listenControl(
    world.dataDir,
    controlApi({ engine, reconciler, registry: new Registry(), info: () => info }),
  );
  const ending = new AbortController();
  const run = reconciler.run(ending.signal);
  stop = async () => {
    await control.close();
    ending.abort();
    await run;
  };
  expect((await sluice("reconcile", "--wait")).out).not.toBe("");
}

const rewound = { feed: "c/shop/0", topic: "shop", partition: 0, from: 60, to: 20, first: 0 };

async function sluice(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: [] as string[], err: [] as string[] };
  const code = await main(argv, {
    terminal: { out: (text) => void printed.out.push(text), err: (text) => void printed.err.push(text) },
    env: { SLUICE_DATA_DIR: world.dataDir, SUDO_USER: "ada" },
    untilStopped: () => AbortSignal.abort(),
  });
  return { code, out: printed.out.join("\n"), err: printed.err.join("\n") };
}

describe("sluice reconcile", () => {
  test("echoes its token when a turn that began after it has ended", async () => {
    const { requested_at } = JSON.parse((await sluice("reconcile", "--output", "json")).out) as Record<string, string>;
    expect(requested_at).toMatch(/^\d{4}-.*Z$/);
    await expect.poll(() => reconciler.snapshot().lastHandledReconcileAt, soon).toBe(requested_at);
    expect(reconciler.snapshot().history).toHaveLength(1);
  });

  test("--wait carries a commit out, and says how that ended", async () => {
    const sha = source.push("Second", edited, sales);
    const { code, out, err } = await sluice("reconcile", "--wait");
    expect([code, out, err]).toEqual([0, `Everything is as the files say (main@sha1:${sha}).`, ""]);
    expect(world.engine.calls.slice(-3)).toEqual(["stop orders", "update orders", "resume orders"]);
  });

  test("a turn that began before the request answers nothing", async () => {
    const release = source.hold();
    const before = source.fetched;
    await sluice("reconcile");
    await expect.poll(() => source.fetched, soon).toBe(before + 1);
    const waiting = sluice("reconcile", "--wait");
    await expect.poll(() => source.fetched, soon).toBe(before + 1);
    release();
    expect((await waiting).code).toBe(0);
    expect(source.fetched).toBe(before + 2);
  });

  test("--wait waits for changes that outlast their turn", async () => {
    source.push("Second", edited, sales);
    const goOn = world.holdUp("stop");
    const waiting = sluice("reconcile", "--wait");
    await expect.poll(() => world.engine.calls.at(-1), soon).toBe("stop orders");
    await expect.poll(() => reconciler.snapshot().history[0]?.outcomes[0]?.result, soon).toBe("under way");
    goOn();
    expect((await waiting).code).toBe(0);
    expect(world.engine.calls.at(-1)).toBe("resume orders");
  });

  test("--wait gives up after --timeout, and says what is still under way", async () => {
    source.push("Second", edited, sales);
    const goOn = world.holdUp("stop");
    const { code, out, err } = await sluice("reconcile", "--wait", "--timeout", "1s");
    expect([code, out]).toEqual([3, ""]);
    expect(err).toBe(
      'sluice: after 1s: still under way: orders; the reconciler goes on without this command; "sluice health" shows how the pipelines are, or give a longer --timeout',
    );
    goOn();
  });

  test("--wait exits with 1 where something is not as its file says, and names it", async () => {
    source.push("Second", { ...orders, root: ["resources: { nats: { stream: { max_age: 48h } } }"] }, sales);
    const { code, out } = await sluice("reconcile", "--wait");
    expect(code).toBe(1);
    expect(out).toMatch(/^Not everything is as the files say: incomplete \(main@sha1:[0-9a-f]{40}\)\.\n/);
    expect(out).toContain("\norders: ImmutableField: orders.yaml:");
  });

  test("--wait exits with 2 where a pipeline is paused, and says why", async () => {
    world.engine.change("orders", {
      paused: { class: "setup", since: "2026-01-01T00:00:00Z", text: "no table", way_out: "create it" },
    });
    const { code, out } = await sluice("reconcile", "--wait");
    expect(code).toBe(2);
    expect(out).toMatch(/^Everything is applied, but not all of it is ready .*\norders: PausedSetup: .*no table/);
    world.engine.change("orders", { paused: undefined });
    expect((await sluice("reconcile", "--wait")).code).toBe(0);
  });

  test("--wait exits with 2 where no file describes a pipeline", async () => {
    await stop();
    await world.remove();
    world = await World.make();
    source = new Commits();
    source.push("Nothing");
    await start();
    const { code, out } = await sluice("reconcile", "--wait");
    expect(code).toBe(2);
    expect(out).toMatch(/^No file describes a pipeline: check --path, or the folder \(main@sha1:/);
  });

  test("--wait tells a fetch that failed, and answers machines in JSON", async () => {
    source.failure = new SourceError("Timeout", "the remote is away\u001b[2J");
    expect(await sluice("reconcile", "--wait")).toEqual({
      code: 1,
      out: expect.stringContaining(
        "Not everything is as the files say: error.\nthe remote is away\\u001b[2J\n",
      ) as string,
      err: "",
    });
    const { code, out } = await sluice("reconcile", "--wait", "--output", "json");
    expect([code, JSON.parse(out)]).toMatchObject([1, { state: "ended", result: "error", under_way: [] }]);
  });
});

describe("sluice approve", () => {
  test("follows a source that lacks pipelines; until then reconcile says why nothing is changed", async () => {
    expect(await sluice("approve")).toMatchObject({
      code: 1,
      err: expect.stringContaining("nothing waits for an approval"),
    });
    expect((await sluice("approve", "1".repeat(40))).err).toContain("no commit waits for an approval");
    await stop();
    source.description = { ...source.description, path: "staging" };
    source.push("Another path", orders);
    await start();
    const waiting = await sluice("reconcile", "--wait");
    expect(waiting.code).toBe(1);
    expect(waiting.out).toMatch(
      /sales-eu: SourceChanged: .*the source is \/test, branch main, path staging, and was \/test, branch main, path \.; .*"sluice approve"/,
    );
    expect(await sluice("approve")).toEqual({
      code: 0,
      out: "The source is followed; what it lacks is deleted where nothing else keeps it: sales-eu",
      err: "",
    });
    expect((await sluice("reconcile", "--wait")).code).toBe(0);
    expect(world.engine.list().map(({ pipeline_id }) => pipeline_id)).toEqual(["orders"]);
  });
});

describe("sluice terminate", () => {
  test("ends a pipeline for a time without a commit, also one that is stopped, and resume ends that", async () => {
    const ended = await sluice("terminate", "orders", "--reason", "its events are not wanted", "--wait");
    expect(ended.out).toMatch(
      /^orders is terminated until 2.*Z, or "sluice resume orders"\. Its file stays as it is\.$/m,
    );
    expect([ended.code, world.engine.get("orders").status]).toEqual([0, "Terminated"]);
    expect(world.engine.calls.at(-1)).toBe("terminate orders");
    expect((await sluice("reconcile", "--wait")).out).toMatch(
      /orders: StoppedByOperator: it is Terminated; terminated by the operator ada since .*: its events are not wanted; it runs again at/,
    );
    expect((await sluice("resume", "orders", "--wait")).out).toMatch(
      /^orders is resumed\. It was terminated since .* by ada: its events/,
    );
    expect(world.engine.get("orders").status).toBe("Running");
    await sluice("stop", "orders", "--wait");
    await sluice("terminate", "orders", "--wait");
    expect(world.engine.get("orders").status).toBe("Terminated");
    expect((await sluice("terminate")).code).not.toBe(0);
  });
});

describe("sluice stop", () => {
  test("stops a pipeline for a time without a commit, and resume ends that", async () => {
    const stopped = await sluice("stop", "orders", "--for", "2h", "--reason", "the table is full");
    expect(stopped.out).toMatch(
      /^orders is stopped until 2.*Z, or "sluice resume orders"\. Its file stays as it is\.$/,
    );
    const shown = await sluice("reconcile", "--wait");
    expect(shown.code).toBe(2);
    expect(shown.out).toMatch(
      /orders: StoppedByOperator: it is Stopped; stopped by the operator ada since .*: the table is full; it runs again at/,
    );
    expect((await sluice("get")).out).toMatch(/^orders +False +Stopped +StoppedByOperator/m);
    expect((await sluice("resume", "orders")).out).toMatch(
      /^orders is resumed\. It was stopped since .* by ada: the table/,
    );
    expect((await sluice("reconcile", "--wait")).code).toBe(0);
    expect((await sluice("stop", "orders", "--for", "721h")).err).toMatch(/--for: expected a duration from 1s to 720h/);
    expect((await sluice("stop")).code).not.toBe(0);
  });

  test("--wait ends with 0 where it is made, also where the source cannot be read, which is said", async () => {
    source.fetch = () => Promise.reject(new SourceError("ServerError", "git.example.com: found HTML"));
    const { code, out } = await sluice("stop", "orders", "--wait");
    expect(out.split("\n").slice(1)).toEqual([
      "It is carried out.",
      "The files were not followed: git.example.com: found HTML",
    ]);
    expect([code, world.engine.get("orders").status]).toEqual([0, "Stopped"]);
    expect((await sluice("suspend", "orders", "--wait")).code).toBe(0);
  });

  test("--wait ends with 1 where it could not be made", async () => {
    world.engine.onCall = (call) => {
      if (call === "stop") throw new Error("the thread does not answer");
    };
    const { code, out } = await sluice("stop", "orders", "--wait");
    expect(out.split("\n").slice(1)).toEqual(['It is not stopped yet, but Stopping: "sluice get orders" says why.']);
    expect(code).toBe(1);
  });
});

test("a rewind is in the history, with who asked for it and why", async () => {
  await sluice("rewind", "orders", "--to", "shop/0=20", "--reason", "the table was truncated");
  const { out } = await sluice("history", "orders");
  expect(out.split("\n\n")[0]).toMatch(/^change: +rewind, because of RewoundByOperator\n/);
  for (const [name, what] of [
    ["author", "ada"],
    ["subject", "the table was truncated"],
    ["planned", "40 offsets are read again: shop/0 from 60 to 20"],
  ]) {
    expect(out).toMatch(new RegExp(`^${name}: +${what}$`, "m"));
  }
  // It comes before all others, and is no change of which a plan could be off.
  expect((await sluice("history")).out).toMatch(/^ENDED.*\n\S+ +orders +rewind +applied /);
  expect((await sluice("history", "orders", "--accuracy")).out).not.toContain("rewind");
});

describe("sluice suspend and resume", () => {
  test("one pipeline, over a restart", async () => {
    expect(await sluice("suspend", "orders", "--reason", "the table is moved")).toEqual({
      code: 0,
      out: 'orders is suspended: it is not changed until "sluice resume orders". What runs goes on running.',
      err: "",
    });
    source.push("Second", edited, { ...sales, name: "Other" });
    const waiting = await sluice("reconcile", "--wait");
    expect(waiting.code).toBe(1);
    expect(waiting.out).toMatch(/\norders: Suspended: suspended by ada .*; what waits for that: transforms/);
    const shown = (await sluice("get", "orders")).out;
    expect(shown).toMatch(/# what the file asks for:\n# {5}transforms.*expression/);
    // What Ready says is not said again.
    expect(shown.match(/what waits for that/g)).toHaveLength(1);
    expect(world.engine.calls.slice(2)).toEqual(["rename sales-eu"]);
    await stop();
    await start();
    const { pipelines } = reconciler.snapshot();
    expect(pipelines.find(({ pipeline_id }) => pipeline_id === "orders")).toMatchObject({
      suspended: true,
      suspension: { by: "ada", reason: "the table is moved" },
    });
    const { out } = await sluice("resume", "orders");
    expect(out).toMatch(/^orders is resumed\. It was suspended since .* by ada: the table is moved$/);
    expect((await sluice("reconcile", "--wait")).code).toBe(0);
    expect(world.engine.calls.at(-1)).toBe("resume orders");
  });

  test("one that is to be moved is one row, by the id of its file", async () => {
    await sluice("suspend", "orders");
    source.push("Moved", { ...orders, id: "shop-orders", sluice: ["moved_from: orders"] }, sales);
    await sluice("reconcile", "--wait");
    const { out } = await sluice("get");
    expect(out).toMatch(/^shop-orders +False +Running +Suspended /m);
    expect(out).not.toMatch(/^orders |NotLookedAt/m);
  });

  test("resume --wait judges the pipeline that it names, whatever others are", async () => {
    await sluice("suspend", "orders");
    await sluice("stop", "sales-eu", "--wait");
    const { code, out } = await sluice("resume", "orders", "--wait");
    expect([code, out.split("\n").slice(1)]).toEqual([0, ["orders is ready."]]);
    await sluice("suspend", "orders");
    source.push("Second", { ...edited, expression: "id >" }, sales);
    const refused = await sluice("resume", "orders", "--wait");
    expect([refused.code, refused.out.split("\n")[1]]).toEqual([2, expect.stringMatching(/^orders: InvalidFile: /)]);
  });

  test("everything", async () => {
    expect((await sluice("suspend")).out).toContain(
      'Everything is suspended: nothing is changed until "sluice resume".',
    );
    source.push("Second", edited, sales);
    const { code, out } = await sluice("reconcile", "--wait");
    expect(code).toBe(1);
    expect(out).toContain('source: Suspended: 1 change waits for "sluice resume": orders');
    expect(world.engine.calls).toHaveLength(2);
    await sluice("resume");
    expect((await sluice("reconcile", "--wait")).code).toBe(0);
  });

  test.each([
    [["suspend", "order"], "sluice: there is no pipeline order, and no file describes one"],
    [
      ["resume", "orders"],
      "sluice: orders is not suspended individually; where its file sets x-sluice.suspend, change the file",
    ],
    [["resume"], "sluice: there is no suspension of everything to lift"],
    [
      ["suspend", "orders", "--reason", "x".repeat(501)],
      "sluice: --reason: expected at most 500 characters, found 501",
    ],
    [["suspend", "../x"], "sluice: there is no pipeline ../x, and no file describes one"],
  ])("%s is refused", async (argv, expected) => {
    expect(await sluice(...argv)).toEqual({ code: 1, out: "", err: expected });
  });

  test("a damaged list is put aside by resume", async () => {
    await stop();
    await writeFile(join(world.dataDir, "holds.json"), "{");
    await start();
    expect((await sluice("suspend", "orders")).err).toContain("holds.json is damaged, so it is unknown");
    expect((await sluice("resume")).code).toBe(0);
    expect((await sluice("suspend", "orders")).code).toBe(0);
  });

  test("help says what they do not do", async () => {
    expect((await sluice("suspend", "--help")).out.replace(/\s+/g, " ")).toContain("running pipelines run on");
    expect((await sluice("resume", "--help")).out.replace(/\s+/g, " ")).toContain("starts no pipeline");
  });
});

describe("sluice rollback", () => {
  test("--wait ends with 0 where it is carried out while the source cannot be read, which is said", async () => {
    const first = reconciler.snapshot().lastAppliedRevision ?? "";
    source.push("Second", edited, sales);
    await sluice("reconcile", "--wait");
    source.fetch = () => Promise.reject(new SourceError("ServerError", "git.example.com: found HTML"));
    const { code, out } = await sluice("rollback", first, "--wait");
    expect(out).toContain(`Everything is as the files say (${first}).\ngit.example.com: found HTML`);
    expect(code).toBe(0);
  });

  test("goes back to a commit, with its plan, until it is cancelled", async () => {
    const first = reconciler.snapshot().lastAppliedRevision ?? "";
    const second = source.push("Second", edited, sales);
    await sluice("reconcile", "--wait");
    const dry = await sluice("rollback", first, "--dry-run");
    expect(dry.out).toContain(`Would roll back to ${first} (Ada: First).\norders  `);
    expect(reconciler.snapshot()).not.toHaveProperty("pin");
    const data = JSON.parse((await sluice("rollback", first, "--dry-run", "--output", "json")).out) as Rollback;
    expect(data.changes).toMatchObject([
      {
        pipeline_id: "orders",
        kind: "update",
        calls: ["stop", "update", "resume"],
        fields: [{ from: edited.expression }],
      },
      { pipeline_id: "sales-eu", kind: "no-op" },
    ]);

    const { code, out } = await sluice("rollback", first.slice(-40).slice(0, 8).toUpperCase());
    expect(code).toBe(0);
    expect(out.split("\n").slice(0, 2)).toEqual([
      `Rolled back to ${first} (Ada: First).`,
      `It stays until the branch moves on from main@sha1:${second}, or "sluice rollback --cancel".`,
    ]);
    expect(out).toContain("    calls: stop, update, resume\n");
    expect((await sluice("reconcile", "--wait")).out).toBe(`Everything is as the files say (${first}).`);
    expect(reconciler.snapshot().pin).toMatchObject({ revision: first, head: second, by: "ada" });
    // Without it, whoever looks believes that the newest commit runs.
    expect((await sluice("get")).out).toMatch(/^source .* rolled back by ada since /m);

    expect((await sluice("rollback", "--cancel")).out).toBe(
      `The newest revision is followed again, instead of ${first}.`,
    );
    expect((await sluice("reconcile", "--wait")).out).toBe(`Everything is as the files say (main@sha1:${second}).`);
  });

  test.each([
    [["rollback"], "sluice: expected a REVISION to go back to, or --cancel to follow the newest one again"],
    [["rollback", "0123456", "--cancel"], "sluice: expected a REVISION to go back to, or --cancel"],
    [["rollback", "--cancel"], "sluice: no commit is pinned"],
    [["rollback", "main~1"], "sluice: expected a commit, or a revision such as main@sha1:"],
    [["rollback", "0123456"], 'sluice: none of the last revisions begins with "0123456": give all digits'],
    [["rollback", "0".repeat(40)], "sluice: main: expected a commit of the branch, found 000"],
  ])("%s is refused", async (argv, expected) => {
    const { code, out, err } = await sluice(...argv);
    expect([code, out, err]).toEqual([1, "", expect.stringContaining(expected)]);
  });
});
