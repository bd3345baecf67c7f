import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "./git.ts";
import type { Remote } from "./remote.ts";
import { checkLimits, SourceError } from "./revision.ts";
import type { Revision, SourceLimits } from "./revision.ts";
import { parseBatch, parseTree } from "./tree.ts";
import type { TreeFile } from "./tree.ts";

/** Where the commit that was fetched last is kept, in the clone. */
const head = "refs/sluice/head";

/** Each fetch adds a pack; from here on a new, shallow clone is smaller than the sum of them. */
const packsAtMost = 50;

/** Damage of the local copy: mended by throwing it away. Never shown to people. */
class DamagedClone extends Error {}

/**
 * The local copy of a remote: a bare, shallow repository that is never checked out, so that no link is followed, no
 * filter or hook runs, and no half-written working copy is read. All of it can be had again, so whenever it does not
 * serve, it is thrown away and made anew.
 */
export class Clone {
  readonly #folder: string;
  readonly #git: Git;
  readonly #remote: Remote;
  /** Contents of the revision that was read last, by object: of the next one only what is new is read. */
  #known: ReadonlyMap<string, Buffer> = new Map();

  constructor(folder: string, git: Git, remote: Remote) {
    this.#folder = folder;
    this.#git = git;
    this.#remote = remote;
  }

  /** Files and facts of `ref` of the remote, which was seen at `sha`; newer ones where it has moved on meanwhile. */
  async revision(ref: string, sha: string, path: string, limits: SourceLimits, signal: AbortSignal): Promise<Read> {
    try {
      return await this.#attempt(ref, sha, path, limits, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DamagedClone) && !(await this.#isOurFault(error, signal))) throw error;
    }
    await rm(this.#folder, { recursive: true, force: true });
    try {
      return await this.#attempt(ref, sha, path, limits, signal);
    } catch (error) {
      if (!(error instanceof DamagedClone)) throw error;
      throw new SourceError(
        "GitOperationFailed",
        `${this.#remote.display}: a fresh clone cannot be read: ${error.message}`,
      );
    }
  }

  async #attempt(ref: string, sha: string, path: string, limits: SourceLimits, signal: AbortSignal): Promise<Read> {
    await this.#prepare(signal);
    if ((await this.#current(signal)) !== sha) await this.#fetch(ref, signal);
    const current = await this.#current(signal);
    if (current === undefined) throw new DamagedClone(`${head} is missing after a fetch`);
    try {
      return await this.#read(current, path, limits, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SourceError && (error.stalls || error.reason === "Timeout")) throw error;
      throw new DamagedClone(this.#remote.redact(error instanceof Error ? error.message : String(error)));
    }
  }

  /** Makes the folder where it is missing or worn out. Locks in it are left over from a killed process: we are alone here. */
  async #prepare(signal: AbortSignal): Promise<void> {
    const packs = await readdir(join(this.#folder, "objects", "pack")).catch(() => undefined);
    if (packs !== undefined && packs.filter(isPack).length <= packsAtMost) {
      await this.#removeLocks();
      return;
    }
    await rm(this.#folder, { recursive: true, force: true });
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#git.text(this.#folder, ["init", "--quiet", "--bare"], signal);
  }

  async #removeLocks(): Promise<void> {
    const names = [...(await readdir(this.#folder)), `${head}.lock`].filter((name) => name.endsWith(".lock"));
    await Promise.all(names.map((name) => rm(join(this.#folder, name), { recursive: true, force: true })));
  }

  async #current(signal: AbortSignal): Promise<string | undefined> {
    const args = ["for-each-ref", "--format=%(objectname)", head];
    const output = await this.#git.text(this.#folder, args, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new DamagedClone(error instanceof Error ? error.message : String(error));
    });
    return output.trim() || undefined;
  }

  /** The `+` follows a branch also where its history was replaced. */
  async #fetch(ref: string, signal: AbortSignal): Promise<void> {
    const fixed = ["fetch", "--progress", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
    const wanted = ["--", this.#remote.url, `+${ref}:${head}`];
    try {
      await this.#git.text(this.#folder, [...fixed, "--depth=1", ...wanted], signal);
    } catch (error) {
      if (!(error instanceof SourceError) || !error.message.includes("does not support shallow")) throw error;
      await this.#git.text(this.#folder, [...fixed, ...wanted], signal);
    }
  }

  async #read(sha: string, path: string, limits: SourceLimits, signal: AbortSignal): Promise<Read> {
    const under = path === "." ? [] : ["--", path];
    const listing = await this.#git.text(
      this.#folder,
      ["ls-tree", "-r", "-z", "-l", "--full-tree", sha, ...under],
      signal,
    );
    const { files, skipped } = parseTree(listing, limits);
    checkLimits(files, limits, `${this.#remote.display}, ${path}`);
    const contents = await this.#contents(files, signal);
    const format = "--format=%cI%x00%an%x00%s";
    const facts = await this.#git.text(this.#folder, ["log", "-1", "--no-show-signature", format, sha], signal);
    const [committedAt = "", author = "", subject = ""] = facts.trimEnd().split("\0");
    return {
      sha,
      files: files.map(({ path: name, object }) => ({ path: name, bytes: contents.get(object)! })),
      skipped,
      committedAt: new Date(committedAt).toISOString(),
      author: printable(author),
      subject: printable(subject),
    };
  }

  /** The contents of files by object, each as the same buffer as last time. */
  async #contents(files: readonly TreeFile[], signal: AbortSignal): Promise<ReadonlyMap<string, Buffer>> {
    const contents = new Map<string, Buffer>();
    const unknown = new Map<string, TreeFile>();
    for (const file of files) {
      const known = this.#known.get(file.object);
      if (known === undefined) unknown.set(file.object, file);
      else contents.set(file.object, known);
    }
    if (unknown.size > 0) {
      const output = await this.#git.contents(this.#folder, [...unknown.keys()], signal);
      for (const { object, bytes } of parseBatch(output, [...unknown.values()])) contents.set(object, bytes);
    }
    this.#known = contents;
    return contents;
  }

  /** A fetch failed: was it the remote, or this folder? What a sound repository can say to itself, ours must say too. */
  async #isOurFault(error: unknown, signal: AbortSignal): Promise<boolean> {
    if (!(error instanceof SourceError) || error.reason !== "GitOperationFailed") return false;
    if (damage.test(error.message)) return true;
    try {
      await this.#git.text(this.#folder, ["fsck", "--connectivity-only", "--no-dangling"], signal);
      return false;
    } catch {
      return true;
    }
  }
}

/** Leftovers of a fetch that was killed count, too; what accompanies a pack does not. */
function isPack(name: string): boolean {
  return !/\.(idx|rev|keep|bitmap|mtimes)$/.test(name);
}

const damage =
  /unable to (create|write|resolve)|\.lock|corrupt|loose object|packfile|not a git repository|shallow|inflate|bad object/i;

export type Read = Pick<Required<Revision>, "sha" | "files" | "skipped" | "committedAt" | "author" | "subject">;

/** Text of a commit on its way to logs and terminals. */
function printable(text: string): string {
  return text
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, 200);
}
