import { mkdir, readdir, rm } from "node:fs/promises";
import type { Git } from "./git.ts";
import type { Remote } from "./remote.ts";

/** Whether a history contains a commit; `unknown` if it is longer than the part that was fetched. */
export type Containment = "yes" | "no" | "unknown";

/** How many generations of commits are fetched, until the commit is found. */
const depths = [100, 10_000];

const tip = "refs/sluice/tip";

/**
 * The commits of the followed reference, without files if the server supports that: a shallow clone does not know them.
 * It is separate from the clone, because git would fetch missing files during any command.
 */
export class History {
  readonly #folder: string;
  readonly #git: Git;
  readonly #remote: Remote;

  constructor(folder: string, git: Git, remote: Remote) {
    this.#folder = folder;
    this.#git = git;
    this.#remote = remote;
  }

  /** Whether `ref` of the remote contains `commit`. Rejects where the remote cannot be asked. */
  async contains(ref: string, commit: string, signal: AbortSignal): Promise<Containment> {
    try {
      return await this.#search(ref, commit, signal);
    } catch {
      signal.throwIfAborted();
      // The folder is a cache: it is deleted after any failure and fetched again.
      await rm(this.#folder, { recursive: true, force: true });
      return this.#search(ref, commit, signal);
    }
  }

  async #search(ref: string, commit: string, signal: AbortSignal): Promise<Containment> {
    await this.#prepare(signal);
    for (const depth of depths) {
      await this.#fetch(ref, depth, signal);
      const commits = await this.#git.text(this.#folder, ["rev-list", tip], signal);
      if (commits.split("\n").includes(commit)) return "yes";
      const shallow = await this.#git.text(this.#folder, ["rev-parse", "--is-shallow-repository"], signal);
      if (shallow.trim() === "false") return "no";
      // A server without filters would send the files of thousands of commits.
      if (await this.#hasFiles(signal)) return "unknown";
    }
    return "unknown";
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    const entries = await readdir(this.#folder).catch((): string[] => []);
    await Promise.all(
      entries.filter((name) => name.endsWith(".lock")).map((name) => rm(`${this.#folder}/${name}`, { force: true })),
    );
    if (entries.includes("HEAD")) return;
    await rm(this.#folder, { recursive: true, force: true });
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#git.text(this.#folder, ["init", "--quiet", "--bare", "--template="], signal);
    await this.#git.text(this.#folder, ["config", "remote.sluice.url", this.#remote.url], signal);
  }

  async #fetch(ref: string, depth: number, signal: AbortSignal): Promise<void> {
    const fixed = ["fetch", "--progress", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
    const some = ["--filter=tree:0", `--depth=${depth}`, "sluice", `+${ref}:${tip}`];
    await this.#git.exchange(this.#folder, (url) => ["-c", `remote.sluice.url=${url}`, ...fixed, ...some], signal);
  }

  /** Reads only what is here: missing files are not fetched. */
  async #hasFiles(signal: AbortSignal): Promise<boolean> {
    const args = ["rev-list", "--objects", "--missing=print", "--max-count=1", tip];
    const objects = await this.#git.text(this.#folder, args, signal);
    return !objects.includes("?");
  }
}
