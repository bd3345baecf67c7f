import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Repository, RepositoryOptions } from "../../reconciler/git/repository.ts";
import type { SourceError } from "../../reconciler/git/revision.ts";
import { Reconciler } from "../../reconciler/reconciler.ts";
import { failure, Scene, signal } from "../integration/git/scene.ts";
import { keptLog } from "../support/engine.ts";
import { signedWith } from "../support/git-signing.ts";
import { makeSshKey } from "../support/git-server.ts";
import { ModelEngine } from "../support/model-engine.ts";
import { commitMany } from "./git-payloads.ts";

/** Where signatures are required, who may push brings back no earlier state (docs/security.md, Signed commits). */

vi.setConfig({ testTimeout: 120_000 });

let scene: Scene;
let options: Partial<RepositoryOptions>;

beforeEach(async () => {
  scene = await Scene.make();
  makeSshKey(join(scene.dataDir, "key"));
  const key = await readFile(join(scene.dataDir, "key.pub"), "utf8");
  await writeFile(join(scene.dataDir, "allowed"), `ada@example.test ${key}`);
  options = { verify: { ssh: join(scene.dataDir, "allowed") } };
});

afterEach(() => scene.end());

const open = (more: Partial<RepositoryOptions> = {}): Repository => scene.open({ ...options, ...more });

/** A commit on the present branch that is signed by an accepted key. */
async function signed(text: string): Promise<string> {
  await writeFile(join(scene.origin.path, "a.yaml"), text);
  await scene.origin.git("add", "--all");
  const key = { ssh: join(scene.dataDir, "key.pub") };
  await scene.origin.git(...signedWith(key), "commit", "--quiet", "--allow-empty", "-S", "--message", text);
  return scene.origin.head();
}

/** What somebody does who may push and has no key. */
const forceTo = (commit: string): Promise<string> => scene.origin.git("reset", "--quiet", "--hard", commit);

function expectRefusal(error: SourceError, from: string, to: string, reason = "NotDescendant"): void {
  expect(error).toMatchObject({ reason, stalls: true });
  expect(error.message).toContain(`a descendant of ${from} is expected, which was followed last`);
  expect(error.message).toContain(`push a commit on top of ${from}, or look at ${to} and run "sluice approve ${to}"`);
}

test("an older signed commit is not followed, also after a restart; a commit on top of the last one is", async () => {
  const older = await signed("one");
  await signed("two");
  const last = await signed("three");
  const source = open();
  const good = await source.fetch(signal);
  await forceTo(older);
  for (const one of [source, source, open()]) {
    expectRefusal(await failure(one), last, older);
    expect((await one.cached(signal))?.sha).toBe(good.sha);
  }
  await forceTo(last);
  expect((await source.fetch(signal)).sha).toBe(last);
  const next = await signed("four");
  expect((await source.fetch(signal)).sha).toBe(next);
});

test.each<[string, Partial<RepositoryOptions>, (older: string) => Promise<unknown>]>([
  ["an unrelated signed branch", {}, () => scene.origin.git("checkout", "--quiet", "-B", "main", "other")],
  ["a tag that is moved back", { tag: "stable" }, (older) => scene.origin.git("tag", "--force", "stable", older)],
  [
    "another default branch",
    { branch: undefined } as never,
    (older) => scene.origin.git("checkout", "--quiet", "-B", "old", older),
  ],
])("%s is not followed", { tags: ["rest"] }, async (_title, what, attack) => {
  await scene.origin.git("checkout", "--quiet", "--orphan", "other");
  await signed("unrelated");
  await scene.origin.git("checkout", "--quiet", "--orphan", "main");
  const older = await signed("one");
  await signed("two");
  await scene.origin.git("tag", "stable");
  const source = open(what);
  await source.fetch(signal);
  await attack(older);
  expect((await failure(source)).reason).toBe("NotDescendant");
});

test(
  "a branch that is set back and forth while it is fetched is judged by the commit that was fetched",
  { tags: ["rest"] },
  async () => {
    const older = await signed("one");
    await signed("two");
    const last = await signed("three");
    const source = open();
    await source.fetch(signal);
    await forceTo(older);
    const forth = (op: string): void => {
      if (op === "fetch") execFileSync("git", ["reset", "--quiet", "--hard", last], { cwd: scene.origin.path });
    };
    const error: unknown = await source.fetch(signal, forth).catch((thrown: unknown) => thrown);
    expectRefusal(error as SourceError, last, older);
  },
);

/** Adds so many commits without changes to the branch `feature`, by one process. */
function commitSteps(count: number): void {
  const steps = Array.from({ length: count }, (_, index) => {
    const from = index === 0 ? "from refs/heads/feature^0\n" : "";
    return `commit refs/heads/feature\ncommitter ada <ada@example.test> ${index} +0000\ndata 4\nStep\n${from}\n`;
  });
  execFileSync("git", ["fast-import", "--quiet"], { cwd: scene.origin.path, input: steps.join("") });
}

test("many commits later the descent is found, also from a server without filters", { tags: ["rest"] }, async () => {
  await signed("one");
  const source = open();
  await source.fetch(signal);
  await scene.origin.git("checkout", "--quiet", "-b", "feature");
  commitSteps(110);
  const last = await signed("the end");
  await scene.origin.git("checkout", "--quiet", "main");
  await scene.origin.git("merge", "--quiet", "--ff-only", "feature");
  expect((await source.fetch(signal)).sha).toBe(last);
});

test(
  "where the descent cannot be found out within the limits, the commit is not followed",
  { tags: ["rest"] },
  async () => {
    const last = await signed("one");
    const source = open({ maxSize: 1 << 20 });
    await source.fetch(signal);
    await commitMany(scene.origin, { commits: 4, bytes: 600 << 10 }, async () => undefined);
    const tip = await signed("far away");
    expectRefusal(await failure(source), last, tip, "AncestryUnknown");
    await source.approve(tip);
    expect((await source.fetch(signal)).sha).toBe(tip);
  },
);

test("without knowing what was followed last, nothing is followed", { tags: ["rest"] }, async () => {
  await signed("one");
  await open().fetch(signal);
  const [name = ""] = (await readdir(join(scene.dataDir, "git"))).filter((one) => one.endsWith(".json"));
  await writeFile(join(scene.dataDir, "git", name), "{");
  const error = await failure(open());
  expect(error.reason).toBe("AncestryUnknown");
  expect(error.message).toContain(`${name} is damaged`);
});

function reconcilerOn(source: Repository): Reconciler {
  const { dataDir } = scene;
  const engine = new ModelEngine();
  return new Reconciler({ source, engine, dataDir, log: keptLog(), registry: new Registry(), interval: 60_000 });
}

const turn = (reconciler: Reconciler) => reconciler.turn("manual", signal);

test("an operator approves the commit by its name, also over a restart", async () => {
  const older = await signed("one");
  const last = await signed("two");
  const reconciler = reconcilerOn(open());
  await turn(reconciler);
  await expect(reconciler.operator.approve({}, older)).rejects.toThrow("no commit waits for an approval");
  await forceTo(older);
  await turn(reconciler);
  const { conditions } = reconciler.snapshot();
  expect(conditions.find(({ type }) => type === "Ready")).toMatchObject({ status: "False", reason: "NotDescendant" });
  expect(conditions.find(({ type }) => type === "Stalled")?.message).toContain(`sluice approve ${older}`);
  for (const given of [undefined, last, older.slice(0, 10)]) {
    await expect(reconciler.operator.approve({}, given)).rejects.toThrow(`run "sluice approve ${older}"`);
  }
  expect(await reconciler.operator.approve({ by: "ada" }, older)).toEqual({ from: last, to: older });
  const restarted = open();
  expect((await restarted.fetch(signal)).sha).toBe(older);
  await forceTo(last);
  expect((await restarted.fetch(signal)).sha).toBe(last);
});

test(
  "a rollback goes to an older commit, and after it the branch goes on from where it was",
  { tags: ["rest"] },
  async () => {
    const older = await signed("one");
    const middle = await signed("two");
    const last = await signed("three");
    await forceTo(older);
    const reconciler = reconcilerOn(open());
    for (const commit of [older, middle, last]) {
      await scene.origin.git("reset", "--quiet", "--hard", commit);
      await turn(reconciler);
    }
    await reconciler.operator.rollBack(older, {}, false);
    expect((await turn(reconciler)).revision?.sha).toBe(older);
    await forceTo(middle);
    const during = await turn(reconciler);
    expect(during.revision?.sha).toBe(older);
    expectRefusal(during.fetchError as SourceError, last, middle);
    await reconciler.operator.cancelRollback({});
    const after = await turn(reconciler);
    expect(after.revision?.sha).toBe(last);
    expectRefusal(after.fetchError as SourceError, last, middle);
  },
);
