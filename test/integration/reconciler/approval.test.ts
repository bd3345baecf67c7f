import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { main } from "../../../reconciler/cli/main.ts";
import type { RepositoryOptions } from "../../../reconciler/git/repository.ts";
import type { Level } from "../../../reconciler/plan/level.ts";
import type { PipelineConfig } from "../../../schemas/index.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import type { SavedPlan } from "../../../reconciler/preview/saved-plan.ts";
import { keptLog } from "../../support/engine.ts";
import { makeSshKey } from "../../support/git-server.ts";
import { signedWith } from "../../support/git-signing.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { dedupOf, type PipelineText, pipelineText } from "../../support/pipeline-text.ts";
import { Scene, signal } from "../git/scene.ts";

const sluiceLines = ["create_table: true", "access_token: ${T}"];
const orders: PipelineText = { id: "orders", transforms: [dedupOf("id")], sluice: sluiceLines };
const returns: PipelineText = { id: "returns", sluice: sluiceLines };
/** Dedup forgets its keys. */
const otherKey: PipelineText = { ...orders, transforms: [dedupOf("level")] };
const filtered: PipelineText = { ...returns, expression: "id > 1" };

let scene: Scene;
let engine: ModelEngine;
let reconciler: Reconciler;

beforeEach(async () => {
  scene = await Scene.make();
  engine = new ModelEngine();
  await commit({ orders, returns });
  reconciler = start();
  await reconciler.turn("start", signal);
});

afterEach(async () => {
  await scene.end();
});

/** A process that holds back what forgets, and graver changes; it shares what lies in the data dir with the one before. */
function start(options: Partial<RepositoryOptions> = {}, approve: Level = "forget"): Reconciler {
  const source = scene.open({ path: "pipelines", approvals: true, ...options });
  const rest = { dataDir: scene.dataDir, log: keptLog(), registry: new Registry(), interval: 60_000 };
  return new Reconciler({ source, engine, ...rest, approve });
}

/** Commits pipelines, `null` to remove one. */
function commit(pipelines: Record<string, PipelineText | null>, message?: string): Promise<string> {
  const files = Object.entries(pipelines).map(([id, one]) => [`pipelines/${id}.yaml`, one && pipelineText(one)]);
  return scene.origin.commit(Object.fromEntries(files) as Record<string, string>, message);
}

interface Seen {
  reason: string | undefined;
  message: string | undefined;
  types: string[];
}

/** One turn; what is said of a pipeline at its end. */
async function turn(pipeline_id = "orders"): Promise<Seen> {
  const { error } = await reconciler.turn("manual", signal);
  if (error !== undefined) throw error;
  const found = reconciler.snapshot().pipelines.find((one) => one.pipeline_id === pipeline_id);
  const [ready] = found?.conditions ?? [];
  return { reason: ready?.reason, message: ready?.message, types: found?.conditions.map(({ type }) => type) ?? [] };
}

const transforms = (id: string): PipelineConfig["transforms"] =>
  engine.list().find(({ pipeline_id }) => pipeline_id === id)?.config.transforms ?? [];

/** The key of the dedup that runs, and the filter of the other pipeline. */
function running(): (string | undefined)[] {
  const key = transforms("orders").flatMap((one) => (one.type === "dedup" ? [String(one.config.key)] : []));
  const filter = transforms("returns").flatMap((one) => (one.type === "filter" ? [one.config.expression] : []));
  return [key[0], filter[0]];
}

/** The fingerprint that the condition of a pipeline asks for. */
const askedBy = ({ message = "" }: Seen): string =>
  /(?:change|restart|rows|forget|delete)-[0-9a-f]{32}/.exec(message)?.[0] ?? "";

/** `sluice plan --save` from the commit before, as a person runs it on the branch of the change. */
async function savedPlan(file: string, base = "HEAD~1"): Promise<{ plan: SavedPlan; err: string }> {
  const err: string[] = [];
  const [folder, path] = [join(scene.origin.path, "pipelines"), join(scene.origin.path, file)];
  await main(["plan", folder, "--base", base, "--save", path, "--fail-on", "none"], {
    terminal: { out: () => undefined, err: (text) => void err.push(text) },
    env: { PATH: process.env["PATH"] },
    untilStopped: () => AbortSignal.abort(),
  });
  return { plan: JSON.parse(await readFile(path, "utf8")) as SavedPlan, err: err.join("\n") };
}

describe("a change of the class, or a graver one", () => {
  test("waits, and its condition names what is missing; others are carried out", async () => {
    await commit({ orders: otherKey, returns: filtered });
    const seen = await turn();
    expect(seen).toMatchObject({ reason: "NotApproved", types: ["Ready", "Stalled"] });
    expect(seen.message).toMatch(
      /^pipelines\/orders\.yaml:1:1: .*key changed.*; it is of class forget, and --approve holds it back: expected an approval, found none\. To approve it, commit a file with (forget-[0-9a-f]{32}) in the folder approvals of the repository, or the trailer "Sluice-Approve: \1" in its newest commit$/,
    );
    expect(running()).toEqual(["id", "id > 1"]);
    expect(engine.health("orders").overall_status).toBe("Running");
    const { plan } = await savedPlan("plan.json");
    expect(plan.changes).toEqual([
      { pipeline_id: "orders", kind: "update", level: "forget", approval: askedBy(seen) },
      {
        pipeline_id: "returns",
        kind: "update",
        level: "rows",
        approval: expect.stringMatching(/^rows-/) as string,
      },
    ]);
  });

  test("is carried out after its saved plan is committed in the folder approvals", async () => {
    await commit({ orders: otherKey });
    await turn();
    const { err } = await savedPlan("approvals/other-key.json");
    expect(err).toMatch(
      /^sluice: saved .*approvals\/other-key\.json with 1 change: in the folder approvals of the reposi/,
    );
    await scene.origin.commit({}, "Approve the other key");
    expect((await turn()).reason).toBe("ReconciliationSucceeded");
    expect(running()[0]).toBe("level");
  });

  test("is carried out at once where its own commit has the trailer", async () => {
    await commit({ orders: otherKey });
    const { plan } = await savedPlan("plan.json");
    await rm(join(scene.origin.path, "plan.json"));
    await scene.origin.git(
      "commit",
      "--quiet",
      "--amend",
      "-m",
      `Another key\n\nSluice-Approve: ${plan.changes[0]!.approval}`,
    );
    expect((await turn()).reason).toBe("ReconciliationSucceeded");
    expect(running()[0]).toBe("level");
  });

  test("is not approved by a text that is no trailer, nor by a file elsewhere", { tags: ["rest"] }, async () => {
    await commit({ orders: otherKey });
    const approval = askedBy(await turn());
    await scene.origin.commit({ "pipelines/approvals/a.txt": approval }, `Says ${approval}\n\nand more about it.`);
    expect(await turn()).toMatchObject({ reason: "NotApproved" });
    expect(running()[0]).toBe("id");
  });

  test("is not approved as one of a lesser class", async () => {
    await commit({ orders: otherKey });
    const lesser = askedBy(await turn()).replace("forget-", "restart-");
    await scene.origin.commit({ "approvals/key.txt": `${lesser}\n` });
    const seen = await turn();
    expect(seen.message).toContain("expected an approval, found one of class restart");
    expect(running()[0]).toBe("id");
    await scene.origin.commit({ "approvals/key.txt": `${lesser.replace("restart-", "delete-")}\n` });
    expect((await turn()).reason).toBe("ReconciliationSucceeded");
  });

  test("is not approved by the approval of another change of the pipeline", { tags: ["rest"] }, async () => {
    await commit({ orders: otherKey });
    await scene.origin.commit({ "approvals/key.txt": askedBy(await turn()) });
    await commit({ orders: { ...otherKey, expression: "id > 7" } });
    expect((await turn()).reason).toBe("NotApproved");
    expect(running()[0]).toBe("id");
  });

  test(
    "a deletion waits too, and is completed once it is approved, also over a restart",
    { tags: ["rest"] },
    async () => {
      await commit({ orders: null });
      const seen = await turn();
      expect(seen.message).toContain("it is of class delete");
      expect(engine.health("orders").overall_status).toBe("Running");
      await scene.origin.commit({ "approvals/orders.txt": askedBy(seen) });
      await turn();
      await scene.origin.commit({ "approvals/orders.txt": null });
      reconciler = start();
      for (let left = 20; left > 0 && running()[0] !== undefined; left -= 1) await turn();
      expect(running()).toEqual([undefined, 'level == "error"']);
    },
  );

  test("needs no approval of a person who rolls back, or stops a pipeline", { tags: ["rest"] }, async () => {
    const before = await scene.origin.head();
    await commit({ orders: otherKey });
    await scene.origin.commit({ "approvals/key.txt": askedBy(await turn()) });
    await turn();
    expect(running()[0]).toBe("level");
    await reconciler.operator.rollBack(before, { by: "ada" }, false);
    await turn();
    expect(running()[0]).toBe("id");
  });
});

/** A commit with a trailer. */
function pushApproval(approval: string): Promise<string> {
  return scene.origin.commit({}, `Forget the keys\n\nSluice-Approve: ${approval}`);
}

describe("a trailer of a commit that is not the newest", () => {
  test("counts where others were pushed before the poll", async () => {
    await commit({ orders: otherKey });
    await pushApproval(askedBy(await turn()));
    await commit({ returns: filtered });
    await commit({ returns });
    expect((await turn()).reason).toBe("ReconciliationSucceeded");
    expect(running()[0]).toBe("level");
  });

  test("counts after a restart without the remote", { tags: ["rest"] }, async () => {
    const applied = await scene.origin.head();
    await commit({ orders: otherKey });
    await pushApproval(askedBy(await turn()));
    await commit({ returns: filtered });
    const source = scene.open({ path: "pipelines", approvals: true });
    source.noteApplied(applied);
    await source.fetch(signal);
    const away = `${scene.origin.path}.away`;
    await rename(scene.origin.path, away);
    reconciler = start();
    expect((await turn()).reason).toBe("ReconciliationSucceeded");
    expect(running()).toEqual(["level", "id > 1"]);
    await rename(away, scene.origin.path);
  });

  test("counts for what came before it was applied alone", async () => {
    await commit({ orders: otherKey });
    await pushApproval(askedBy(await turn()));
    // Refused for good, so that no later revision is applied as a whole.
    await scene.origin.commit({ "pipelines/broken.yaml": "version: v3\n" });
    await turn();
    expect(running()[0]).toBe("level");
    await commit({ orders });
    await pushApproval(askedBy(await turn()));
    expect((await turn()).reason).toBe("ReconciliationSucceeded");
    await commit({ orders: otherKey });
    await commit({ returns: filtered });
    expect((await turn()).reason).toBe("NotApproved");
    expect(running()).toEqual(["id", "id > 1"]);
  });

  test("does not count on a branch that was merged", async () => {
    await commit({ orders: otherKey });
    const approval = askedBy(await turn());
    await scene.origin.git("checkout", "--quiet", "-b", "side");
    await pushApproval(approval);
    await scene.origin.git("checkout", "--quiet", "main");
    await scene.origin.commit({ "README.md": "Ours" });
    await scene.origin.git("merge", "--quiet", "--no-ff", "-m", "Merge side", "side");
    expect((await turn()).reason).toBe("NotApproved");
  });
});

describe("the way back", () => {
  test("from an approved change is carried out without an approval, and names what it goes back to", async () => {
    reconciler = start({}, "rows");
    const first = await scene.origin.head();
    await turn("returns");
    await commit({ returns: filtered });
    await scene.origin.commit({ "approvals/filter.txt": askedBy(await turn("returns")) });
    const second = await scene.origin.head();
    await turn("returns");
    expect(running()[1]).toBe("id > 1");
    await commit({ returns });
    expect((await turn("returns")).reason).toBe("ReconciliationSucceeded");
    expect(running()[1]).toBe('level == "error"');
    const back = reconciler.history({ pipeline_id: "returns", limit: 1 }).records[0]?.plan.reason;
    expect(back).toContain(`it goes back to what was applied with main@sha1:${first}, so it needs no approval`);
    // And forth again, by a process that was started since.
    reconciler = start({}, "rows");
    await commit({ returns: filtered, orders: otherKey });
    await scene.origin.commit({ "approvals/filter.txt": null });
    expect((await turn("orders")).reason).toBe("NotApproved");
    const forth = reconciler.history({ pipeline_id: "returns", limit: 1 }).records[0]?.plan.reason;
    expect(forth).toContain(`it goes back to what was applied with main@sha1:${second}`);
    expect(running()).toEqual(["id", "id > 1"]);
  });

  test("of a deletion creates the pipeline again, where creations wait", { tags: ["rest"] }, async () => {
    reconciler = start({}, "change");
    await commit({ returns: null });
    await scene.origin.commit({ "approvals/returns.txt": askedBy(await turn("returns")) });
    for (let left = 20; left > 0 && running()[1] !== undefined; left -= 1) await turn();
    expect(running()[1]).toBeUndefined();
    await commit({ returns: filtered });
    expect((await turn("returns")).reason).toBe("NotApproved");
    await commit({ returns });
    await turn("returns");
    expect(running()[1]).toBe('level == "error"');
  });
});

test("where signatures are required, an approval counts only in a signed commit", { tags: ["rest"] }, async () => {
  const key = join(scene.dataDir, "ada");
  makeSshKey(key);
  const ssh = join(scene.dataDir, "allowed_signers");
  await writeFile(ssh, `ada@example.test ${await readFile(`${key}.pub`, "utf8")}`);
  const sign = async (message: string): Promise<void> => {
    const options = ["commit", "--quiet", "--allow-empty", "-S", "-m", message];
    await scene.origin.git(...signedWith({ ssh: `${key}.pub` }), ...options);
  };
  await commit({ orders: otherKey });
  await sign("Another key");
  reconciler = start({ verify: { ssh } });
  const approval = askedBy(await turn());
  expect(approval).toMatch(/^forget-/);
  await scene.origin.commit({ "approvals/key.txt": approval }, `By somebody\n\nSluice-Approve: ${approval}`);
  expect(await turn()).toMatchObject({ reason: "NotApproved" });
  expect(running()[0]).toBe("id");
  await scene.origin.git("rm", "--quiet", "approvals/key.txt");
  await sign("On top of it, by Ada");
  expect(await turn()).toMatchObject({ reason: "NotApproved" });
  await sign(`By Ada\n\nSluice-Approve: ${approval}`);
  await sign("One more");
  expect((await turn()).reason).toBe("ReconciliationSucceeded");
  expect(running()[0]).toBe("level");
});

test("a folder of more approvals than anyone writes is refused, and changes nothing", { tags: ["rest"] }, async () => {
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`approvals/${at}`, "x"]));
  await scene.origin.commit(many);
  const { fetchError } = await reconciler.turn("manual", signal);
  expect(fetchError?.message).toMatch(
    /approvals: expected at most 1000 files .*, found 1001 of 1001 bytes: remove those/,
  );
  expect(engine.health("orders").overall_status).toBe("Running");
});
