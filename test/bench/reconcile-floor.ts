import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { load } from "js-yaml";
import { note, type Measured } from "./reconcile-cost.ts";
import type { PipelineRepository } from "./reconcile-repository.ts";

const execute = promisify(execFile);

/** The steps that nothing could leave out: what the others are measured by. */
export const floors = {
  yaml: "js-yaml alone, all files",
  look: "git ls-remote alone",
  fetch: "git ls-remote and fetch alone, one file",
} as const;

/** Parses the files of a repository and does nothing with them, looks at its head, and fetches a commit of one file. */
export async function measureFloors(measured: Measured, repository: PipelineRepository, rounds: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-bench-clone-"));
  const git = (...args: string[]): Promise<unknown> => execute("git", args, { cwd: folder });
  const look = (): Promise<unknown> => git("ls-remote", "--symref", "--", repository.path, "HEAD");
  const fetch = (): Promise<unknown> => git("fetch", "--quiet", "--depth=1", "--", repository.path, "+HEAD:refs/head");
  try {
    await git("init", "--quiet", "--bare");
    await fetch();
    const texts = textsBelow(join(repository.path, "pipelines"));
    for (let round = 0; round < rounds; round += 1) {
      await note(measured, floors.yaml, async () => texts.forEach((text) => void load(text)));
      await note(measured, floors.look, async () => void (await look()));
      await repository.change(1);
      await note(measured, floors.fetch, async () => {
        await look();
        await fetch();
      });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The texts of all pipeline files below a folder. */
export function textsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => readFileSync(join(folder, name), "utf8"));
}
