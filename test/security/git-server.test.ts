/** @module-tag rest */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Repository } from "../../reconciler/git/repository.ts";
import { SourceError } from "../../reconciler/git/revision.ts";
import { GitRepository } from "../support/git-repository.ts";
import { isFull, longestDelay, measured } from "./attacks.ts";

/** What a Git server, and whoever may push to it, cannot make Sluice do (docs/security.md). */

const signal = new AbortController().signal;
let origin: GitRepository;
let dataDir: string;

beforeEach(async () => {
  origin = await GitRepository.create();
  dataDir = await mkdtemp(join(tmpdir(), "sluice-data-"));
});

afterEach(async () => {
  await origin.remove();
  await rm(dataDir, { recursive: true, force: true });
});

const open = (path = "."): Repository =>
  new Repository({ url: origin.path, branch: "main", dataDir, env: process.env, path });

/** Commits a tree of ten to the power of `depth` paths, which a pack holds in a few hundred bytes. */
async function commitBomb(depth: number): Promise<void> {
  await origin.commit({ "pipelines/orders.yaml": "not: a pipeline" });
  const git = (args: string[], input = ""): string =>
    execFileSync("git", args, { cwd: origin.path, input, encoding: "utf8" }).trim();
  let entry = `100644 blob ${git(["hash-object", "-w", "--stdin"], "x: 1")}`;
  for (let level = 0; level < depth; level += 1) {
    const names = Array.from({ length: 10 }, (_, index) => `${entry}\t${index}${level === 0 ? ".yaml" : ""}`);
    entry = `040000 tree ${git(["mktree"], `${names.join("\n")}\n`)}`;
  }
  const root = git(["mktree"], `${entry}\tbomb\n${git(["ls-tree", "main"])}\n`);
  const author = ["-c", "user.name=mallory", "-c", "user.email=mallory@example.org"];
  git(["update-ref", "refs/heads/main", git([...author, "commit-tree", root, "-p", "main", "-m", "Add files"])]);
}

test("a few hundred bytes that name a million paths are refused, and the folder that is followed is read", async () => {
  await commitBomb(isFull ? 7 : 6);
  // The peak of what this process did before is none of the attack's.
  writeFileSync("/proc/self/clear_refs", "5");
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  const error: unknown = await open()
    .fetch(signal)
    .catch((thrown: unknown) => thrown);
  loop.disable();
  expect(error).toBeInstanceOf(SourceError);
  expect(error).toMatchObject({ reason: "TooLarge", stalls: true });
  expect(String(error)).toMatch(/git ls-tree of .* printed more than 64 MiB, and was ended/);
  const stall = loop.max / 1e6;
  measured("a tree that names millions of paths", process.pid, `longest stall ${stall.toFixed(0)} ms`);
  // What runs in the same thread, the rows of others among it, waits no longer than that.
  if (isFull) expect(stall).toBeLessThan(longestDelay);
  const revision = await open("pipelines").fetch(signal);
  expect(revision.files.map(({ path }) => path)).toEqual(["pipelines/orders.yaml"]);
}, 60_000);
