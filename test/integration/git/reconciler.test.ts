import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Repository } from "../../../reconciler/git/repository.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { keptLog } from "../../support/engine.ts";
import type { FileChange } from "../../support/git-repository.ts";
import { serveFaults } from "../../support/git-fault-proxy.ts";
import { makeSshKey, serveHttp } from "../../support/git-server.ts";
import { signedWith } from "../../support/git-signing.ts";
import { isInstalled } from "../../support/programs.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { Scene, signal } from "./scene.ts";

let scene: Scene;
let engine: ModelEngine;
let registry: Registry;

beforeEach(async () => {
  scene = await Scene.make();
  engine = new ModelEngine();
});

afterEach(() => scene.end());

/** A process that starts: it shares with the one before it what lies in the data dir, and the engine. */
function start(source: Repository): Reconciler {
  registry = new Registry();
  const { dataDir } = scene;
  return new Reconciler({ source, engine, dataDir, log: keptLog(), registry, interval: 60_000, applyTimeout: 2_000 });
}

const orders = { "orders.yaml": pipelineText({ id: "orders" }) };
const conditions = (reconciler: Reconciler) =>
  reconciler.snapshot().conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
const ids = () => engine.list().map(({ pipeline_id }) => pipeline_id);

test("with Git down everything goes on by the last good revision, also after a restart, and drift is put right", async () => {
  const sha = await scene.origin.commit(orders);
  const server = await serveHttp(scene.origin.path);
  await start(scene.open({ url: server.url })).turn("start", signal);
  expect(ids()).toEqual(["orders"]);
  await server.close();
  await engine.stop("orders");
  const restarted = start(scene.open({ url: server.url }));
  const turn = await restarted.turn("start", signal);
  expect(turn.error).toBeUndefined();
  expect(turn.fetchError).toMatchObject({ reason: "ConnectionRefused" });
  expect(turn.outcomes).toMatchObject([{ pipeline_id: "orders", result: "applied" }]);
  expect(conditions(restarted)).toEqual(["Ready False ConnectionRefused", "Reconciling True ProgressingWithRetry"]);
  expect(restarted.snapshot().conditions[0]?.message).toMatch(
    new RegExp(`^main@sha1:${sha} stays in effect: git ls-remote`),
  );
  expect(await registry.metrics()).toMatch(/^sluice_gitops_last_success_timestamp_seconds 0$/m);
});

test("a rollback does not wait for a fetch that hangs", { tags: ["rest"] }, async () => {
  const first = await scene.origin.commit(orders);
  const second = await scene.origin.commit({ "sales.yaml": pipelineText({ id: "sales" }) });
  const proxy = scene.add(await serveFaults(scene.add(await serveHttp(scene.origin.path))));
  const timeouts = { silence: 600_000, total: 600_000 };
  for (const sha of [first, second]) {
    await scene.origin.git("branch", "--force", "followed", sha);
    await scene.open({ url: proxy.url, branch: "followed" }).fetch(signal);
  }
  const reconciler = start(scene.open({ url: proxy.url, branch: "followed", timeouts }));
  const ending = new AbortController();
  const run = reconciler.run(ending.signal);
  const applied = (sha: string) =>
    expect.poll(() => reconciler.snapshot().lastAppliedRevision, { timeout: 60_000 }).toBe(`followed@sha1:${sha}`);
  await applied(second);
  proxy.fault = { kind: "hang before headers" };
  reconciler.trigger("webhook");
  await expect.poll(() => proxy.open(), { timeout: 60_000 }).toBe(1);
  const { head } = await reconciler.operator.rollBack(first, { by: "ada" }, false);
  expect(head).toBe(`followed@sha1:${second}`);
  await applied(first);
  ending.abort();
  await run;
});

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";

/** Points a submodule at the commit that is followed, in the next commit. */
async function pointSubmodule(): Promise<void> {
  await mkdir(join(scene.origin.path, "in/library"), { recursive: true });
  await scene.origin.git("update-index", "--add", "--cacheinfo", `160000,${await scene.origin.head()},in/library`);
}

test("a file that moves to where Git's files are not read keeps its pipeline, and is deleted where it does not", async () => {
  const all = ["staying", "linked", "behind", "pointed", "lending", "removed"];
  await scene.origin.commit({
    ...Object.fromEntries(all.map((id) => [`in/${id}.yaml`, pipelineText({ id })])),
    "in/shared": { link: "../shared" },
    "shared/readme.md": "",
  });
  await pointSubmodule();
  await scene.origin.commit({});
  const reconciler = start(scene.open({ path: "in" }));
  await reconciler.turn("start", signal);
  const moves: Record<string, FileChange>[] = [
    { "in/linked.yaml": null, "in/renamed.yaml": { link: "../shared/linked.yaml" } },
    { "in/behind.yaml": null, "shared/behind.yaml": pipelineText({ id: "behind" }) },
    { "in/pointed.yaml": null, "in/large.yaml": pointer },
    { "in/lending.yaml": null },
    { "in/removed.yaml": null },
  ];
  for (const move of moves) {
    if ("in/lending.yaml" in move) await pointSubmodule();
    await scene.origin.commit(move);
    await reconciler.turn("manual", signal);
    await reconciler.turn("manual", signal);
  }
  expect(ids().toSorted()).toEqual(["behind", "lending", "linked", "pointed", "staying"]);
  const held = reconciler
    .snapshot()
    .pipelines.flatMap(({ pipeline_id: id, change: { why } }) =>
      why.code === "PruneHeld" && "mayHold" in why.facts ? [[id, why.facts.mayHold[0]?.path]] : [],
    );
  expect(Object.fromEntries(held)).toEqual({
    behind: "in/shared",
    lending: "in/library",
    linked: "in/renamed.yaml",
    pointed: "in/large.yaml",
  });
});

test("a commit that does not verify changes nothing, and is told apart from one that does", async ({ skip }) => {
  if (!isInstalled("ssh-keygen")) skip("ssh-keygen is not installed");
  const key = join(scene.dataDir, "ada");
  makeSshKey(key);
  const ssh = join(scene.dataDir, "allowed_signers");
  await writeFile(ssh, `ada@example.test ${await readFile(`${key}.pub`, "utf8")}`);
  await scene.origin.commit(orders);
  await scene.origin.git(...signedWith({ ssh: `${key}.pub` }), "commit", "--quiet", "--amend", "-S", "--no-edit");
  const good = await scene.origin.head();
  const reconciler = start(scene.open({ verify: { ssh } }));
  await reconciler.turn("start", signal);
  const ready = ["Ready True ReconciliationSucceeded", "SourceVerified True SignatureVerified"];
  expect(conditions(reconciler)).toEqual(ready);
  await scene.origin.commit({ "orders.yaml": null, "sales.yaml": pipelineText({ id: "sales" }) });
  const turn = await reconciler.turn("manual", signal);
  expect(turn.revision?.sha).toBe(good);
  expect(ids()).toEqual(["orders"]);
  expect(conditions(reconciler)).toEqual([
    "Ready False SignatureMissing",
    "Stalled True SignatureMissing",
    "SourceVerified False SignatureMissing",
  ]);
  await scene.origin.git(
    ...signedWith({ ssh: `${key}.pub` }),
    "commit",
    "--quiet",
    "--allow-empty",
    "-S",
    "-m",
    "Signed",
  );
  await reconciler.turn("manual", signal);
  expect(ids().toSorted()).toContain("sales");
  expect(conditions(reconciler)).toContain("SourceVerified True SignatureVerified");
});
