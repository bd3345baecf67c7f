import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { simpleGit, type SimpleGit } from "simple-git";

/** The Git repository of the quickstart, as a team would keep its pipelines. */
export class PipelineRepository {
  readonly folder: string;
  readonly #git: SimpleGit;

  private constructor(folder: string, git: SimpleGit) {
    this.folder = folder;
    this.#git = git;
  }

  /** Makes a fresh repository from a folder of pipelines, with one commit on `main`. */
  static async from(pipelines: string, folder: string): Promise<PipelineRepository> {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await cp(pipelines, folder, { recursive: true });
    const git = simpleGit(folder);
    await git.init(["--initial-branch=main"]);
    for (const [key, value] of [
      ["user.name", "Quickstart"],
      ["user.email", "quickstart@example.com"],
      ["commit.gpgsign", "false"],
    ] as const) {
      await git.addConfig(key, value);
    }
    return new PipelineRepository(folder, git);
  }

  /** Commits everything; returns the commit's hash. */
  async commit(message: string): Promise<string> {
    await this.#git.add(".");
    await this.#git.commit(message);
    return this.head();
  }

  /** The hash of the newest commit. */
  head(): Promise<string> {
    return this.#git.revparse(["HEAD"]);
  }

  /** Replaces a text that must occur once in a file, and commits. */
  async change(file: string, from: string, to: string, message: string): Promise<string> {
    const path = join(this.folder, file);
    const text = await readFile(path, "utf8");
    if (text.split(from).length !== 2) throw new Error(`expected ${JSON.stringify(from)} once in ${file}`);
    await writeFile(
      path,
      text.replace(from, () => to),
    );
    return this.commit(message);
  }
}
