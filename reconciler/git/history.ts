import { readdir, rm } from "node:fs/promises";
import type { Git } from "./git.ts";
import {
  isFull,
  isOfFormat,
  makeRepository,
  type ObjectFormat,
  objectFormatOf,
  removeUnfinished,
} from "./object-files.ts";
import { partialSettings, remoteName } from "./partial.ts";
import type { Tip } from "./reference.ts";
import type { Remote } from "./remote.ts";
import { SourceError } from "./revision.ts";

/** Whether a history contains a commit; `unknown` if it is longer than the part that was fetched. */
export type Containment = "yes" | "no" | "unknown";

/** How many generations of commits are fetched, until the commit is found. */
const depths = [100, 10_000];
/** Commits that are listed. */
const mostListed = 1_000;

const tip = "refs/sluice/tip";

interface Search {
  /** What is fetched. */
  ref: string;
  /** The present commit of `ref`, or one of its history. */
  head: string;
  /** Where the search begins. */
  from: string;
  commit: string;
  /** Goes on where the server sends files too. */
  withFiles: boolean;
}

/**
 * The commits of the followed reference, without files if the server supports that: a shallow clone does not know them.
 * It is separate from the clone, because git would fetch missing files during any command.
 */
export class History {
  readonly folder: string;
  readonly #git: Git;
  readonly #remote: Remote;

  constructor(folder: string, git: Git, remote: Remote) {
    this.folder = folder;
    this.#git = git;
    this.#remote = remote;
  }

  /** Whether `ref` of the remote, which is at `sha`, contains `commit`. Rejects where the remote cannot be asked. */
  contains({ ref, sha }: Pick<Tip, "ref" | "sha">, commit: string, signal: AbortSignal): Promise<Containment> {
    return this.#healed({ ref, head: sha, from: tip, commit, withFiles: false }, signal);
  }

  /**
   * Whether `commit` descends from `ancestor`. `ref` of the remote contains `commit`; it may have moved since. Also from
   * a server without filters, which sends files, as far as a fetch may bring them.
   */
  async descends(
    { ref, commit, ancestor }: { ref: string; commit: string; ancestor: string },
    signal: AbortSignal,
  ): Promise<Containment> {
    try {
      return await this.#healed({ ref, head: commit, from: commit, commit: ancestor, withFiles: true }, signal);
    } catch (error) {
      if (error instanceof SourceError && error.reason === "TooLarge") return "unknown";
      throw error;
    }
  }

  /**
   * The commits after `from` up to `to`, and by the first parent alone: those that `ref` has, or had, as its newest. The
   * newest first, each with what `format` prints. `no` and `unknown` where `to` does not descend from `from`. Without
   * `ref`, nothing is fetched.
   */
  async since(
    { ref, from, to, format }: { ref?: string; from: string; to: string; format: string },
    signal: AbortSignal,
  ): Promise<{ sha: string; text: string }[] | Exclude<Containment, "yes">> {
    if (!(await this.#hasBoth(from, to, signal))) {
      const contained =
        ref === undefined ? "unknown" : await this.descends({ ref, commit: to, ancestor: from }, signal);
      if (contained !== "yes") return contained;
    }
    const args = ["log", "--first-parent", `--max-count=${mostListed}`, "--no-show-signature", "-z"];
    const said = await this.#git.text(this.folder, [...args, `--format=%H%n${format}`, to, `^${from}`], signal);
    return said.split("\0").flatMap((one) => {
      const [sha = "", ...lines] = one.split("\n");
      return sha === "" ? [] : [{ sha, text: lines.join("\n") }];
    });
  }

  /** Whether both commits were fetched before, and the second descends from the first. Asks for nothing that is missing. */
  async #hasBoth(from: string, to: string, signal: AbortSignal): Promise<boolean> {
    try {
      for (const [head, sought] of [
        [tip, to],
        [to, from],
      ] as const) {
        const commits = await this.#git.text(this.folder, ["rev-list", head], signal);
        if (!commits.split("\n").includes(sought)) return false;
      }
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  async #healed(search: Search, signal: AbortSignal): Promise<Containment> {
    try {
      return await this.#search(search, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The folder is a cache: it is deleted after any failure and fetched again.
      await rm(this.folder, { recursive: true, force: true });
      if (error instanceof SourceError && error.reason === "TooLarge") throw error;
      return this.#search(search, signal);
    }
  }

  async #search({ ref, head, from, commit, withFiles }: Search, signal: AbortSignal): Promise<Containment> {
    const format = objectFormatOf(head);
    // A hash of another length is of a repository that this one has replaced.
    if (objectFormatOf(commit) !== format) return "no";
    await this.#prepare(format, signal);
    for (const depth of depths) {
      await this.#fetch(ref, depth, signal);
      const commits = await this.#git.text(this.folder, ["rev-list", from], signal);
      if (commits.split("\n").includes(commit)) return "yes";
      const shallow = await this.#git.text(this.folder, ["rev-parse", "--is-shallow-repository"], signal);
      if (shallow.trim() === "false") return "no";
      // A server without filters would send the files of thousands of commits.
      if (!withFiles && (await this.#hasFiles(signal))) return "unknown";
    }
    return "unknown";
  }

  async #prepare(format: ObjectFormat, signal: AbortSignal): Promise<void> {
    await removeUnfinished(this.folder);
    if (await isFull(this.folder, this.#git.maxSize)) await rm(this.folder, { recursive: true, force: true });
    const entries = await readdir(this.folder).catch((): string[] => []);
    await Promise.all(
      entries.filter((name) => name.endsWith(".lock")).map((name) => rm(`${this.folder}/${name}`, { force: true })),
    );
    if (entries.includes("HEAD") && (await isOfFormat(this.folder, format))) return;
    await makeRepository(this.folder, format, this.#git, signal);
    await this.#git.text(this.folder, ["config", `remote.${remoteName}.url`, this.#remote.url], signal);
  }

  async #fetch(ref: string, depth: number, signal: AbortSignal): Promise<void> {
    const fixed = ["fetch", "--progress", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
    const some = ["--filter=tree:0", `--depth=${depth}`, remoteName, `+${ref}:${tip}`];
    await this.#git.fetch(
      this.folder,
      (url, options) => [...partialSettings(url, "commits"), ...fixed, ...options, ...some],
      signal,
    );
  }

  /** Reads only what is here: missing files are not fetched. */
  async #hasFiles(signal: AbortSignal): Promise<boolean> {
    const args = ["rev-list", "--objects", "--missing=print", "--max-count=1", tip];
    const objects = await this.#git.text(this.folder, args, signal);
    return !objects.includes("?");
  }
}
