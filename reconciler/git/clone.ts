import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Blobs } from "./tree.ts";
import { approvalsFolder, approvalsOf, type Read, readCommit, type Wanted } from "./commit.ts";
import type { Git } from "./git.ts";
import {
  isFull,
  isOfFormat,
  makeRepository,
  type ObjectFormat,
  objectFormatOf,
  removeUnfinished,
} from "./object-files.ts";
import { fetchesOf, lacksFiles, missingBelow, needsMissing, partialSettings, remoteName } from "./partial.ts";
import type { Tip } from "./reference.ts";
import type { Remote } from "./remote.ts";
import { type Signature, SourceError } from "./revision.ts";

/**
 * The references of the clone: the last fetched revision, the last good one, and the commit that was requested by its
 * hash. Each is a commit, or an annotated tag that names one.
 */
export type Kept = "head" | "good" | "pin";

const withoutFiles = "--filter=blob:none";

/** What a fetch brings: commits with their files; without them, where the server can leave them out; or files by their hashes. */
type Brought = "everything" | "commits" | "files";

/** The whole history. */
const whole = "--depth=2147483647";

/** Checks the signature of what a reference of the clone points to. */
export type Check = (folder: string, object: NamedObject, signal: AbortSignal) => Promise<Signature | undefined>;

/** A commit, and the annotated tag that names it, where one does. */
export interface NamedObject {
  commit: string;
  tag?: string;
  /** The branch or tag that is followed, where it was just looked up. */
  name?: string;
}

/** A commit that was read, and its signature where signatures are verified. */
export interface Found extends Read {
  signature?: Signature;
  /** Where they are wanted. */
  approvals?: string[];
}

/** Damage of the local copy, which is then deleted and cloned again. Never shown to people. */
class DamagedClone extends Error {}

/**
 * The local copy of a remote: a bare, shallow repository that is never checked out, so that no link is followed, no
 * filter or hook runs, and no half-written working copy is read. A damaged copy is deleted and cloned again.
 */
export class Clone {
  readonly #folder: string;
  readonly #git: Git;
  readonly #remote: Remote;
  readonly #check: Check;
  readonly #blobs = new Blobs();
  /** Files outside of the path are fetched too: the server gives no others, or something leads there. */
  #needsAll = false;

  constructor(folder: string, git: Git, remote: Remote, check: Check) {
    this.#folder = folder;
    this.#git = git;
    this.#remote = remote;
    this.#check = check;
  }

  /**
   * Files and facts of `tip`, which is fetched if it is missing; those of a newer commit if the branch has moved on.
   */
  async newest(tip: Tip, wanted: Wanted, signal: AbortSignal): Promise<Found> {
    const fetch = () =>
      tip.name === undefined
        ? this.#fetchCommit(tip.sha, "head", wanted, signal)
        : this.#follow(tip.ref, wanted, signal);
    const sought = { object: tip.object, ...(tip.name !== undefined && { name: tip.name }) };
    return this.#healed(() => this.#attempt("head", sought, fetch, wanted, signal), signal);
  }

  /** Files and facts of commit `sha`, which is fetched if it is missing, and is kept as `pin` if it is good. */
  async pinned(sha: string, wanted: Wanted, signal: AbortSignal): Promise<Found> {
    const fetch = async (): Promise<void> => {
      if ((await this.#said(["rev-parse", "--verify", "--quiet", keptAs(sha)], signal)) !== sha) {
        return this.#fetchCommit(sha, "pin", wanted, signal);
      }
      await this.#git.text(this.#folder, ["update-ref", nameOf("pin"), sha], signal);
    };
    return this.#healed(() => this.#attempt("pin", { object: sha }, fetch, wanted, signal), signal);
  }

  /** Files and facts of a kept commit, without the network; undefined if it is missing or incomplete. */
  async local(kept: Kept, wanted: Wanted, signal: AbortSignal): Promise<Found | undefined> {
    const object = await this.#object(kept, signal);
    if (object === undefined) return undefined;
    try {
      return (await this.#missing(object.commit, wanted, signal)).length === 0
        ? await this.#read(object, wanted, signal)
        : undefined;
    } catch (error) {
      return this.#orNothing(error, signal);
    }
  }

  /** The commit that is kept; undefined where none is. */
  async commitOf(kept: Kept, signal: AbortSignal): Promise<string | undefined> {
    return (await this.#object(kept, signal))?.commit;
  }

  /** The parents of `sha`, which must exist here; the parents need not. */
  async parentsOf(sha: string, signal: AbortSignal): Promise<string[]> {
    const text = await this.#git.text(this.#folder, ["cat-file", "commit", sha], signal);
    const headers = text.slice(0, text.indexOf("\n\n"));
    return [...headers.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, parent = ""]) => parent);
  }

  /** Marks the last fetched revision as good, and keeps of all earlier ones these commits. */
  async keepHead(sha: string, commits: readonly string[], signal: AbortSignal): Promise<void> {
    const removals = await this.#removalsExcept([sha, ...commits], signal);
    const marks = [`update ${nameOf("good")} ${nameOf("head")}`, `update ${keptAs(sha)} ${sha}`];
    await this.#git.updateReferences(this.#folder, [...marks, ...removals], signal);
  }

  /** The changes that remove the references of kept revisions, but for those of these commits. */
  async #removalsExcept(commits: readonly string[], signal: AbortSignal): Promise<string[]> {
    const format = ["for-each-ref", "--format=%(refname)", `${keptFolder}/`];
    const kept = (await this.#said(format, signal))?.split("\n") ?? [];
    const wanted = new Set(commits.map(keptAs));
    return kept.filter((one) => !wanted.has(one)).map((one) => `delete ${one}`);
  }

  async #healed(attempt: () => Promise<Found>, signal: AbortSignal): Promise<Found> {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DamagedClone) && !(await this.#isOurFault(error, signal))) throw error;
    }
    await rm(this.#folder, { recursive: true, force: true });
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof DamagedClone)) throw error;
      if (!this.#needsAll) {
        this.#needsAll = true;
        return this.#healed(attempt, signal);
      }
      const what = `${this.#remote.display}: a fresh clone cannot be read: ${error.message}`;
      throw new SourceError("GitOperationFailed", what);
    }
  }

  async #attempt(
    kept: Kept,
    { object: sought, name }: { object: string; name?: string },
    fetch: () => Promise<void>,
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<Found> {
    await this.#prepare(objectFormatOf(sought), wanted, signal);
    let object = await this.#object(kept, signal);
    if ((object?.tag ?? object?.commit) !== sought) {
      await fetch();
      object = await this.#object(kept, signal);
    }
    if (object === undefined) throw await this.#noCommit(kept, signal);
    await this.#complete(object.commit, wanted, signal);
    try {
      return await this.#read({ ...object, ...(name !== undefined && { name }) }, wanted, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SourceError && error.reason !== "GitOperationFailed" && !needsMissing(error)) throw error;
      throw new DamagedClone(this.#remote.redact(error instanceof Error ? error.message : String(error)));
    }
  }

  /** Fetches what is missing below the path. */
  async #complete(commit: string, wanted: Wanted, signal: AbortSignal): Promise<void> {
    const missing = await this.#missing(commit, wanted, signal);
    if (missing.length === 0) return;
    try {
      for (const objects of fetchesOf(missing)) await this.#fetch(objects, [], "files", signal);
      if ((await this.#missing(commit, wanted, signal)).length === 0) return;
    } catch (error) {
      if (!(error instanceof SourceError) || error.reason !== "CommitNotFound") throw error;
      this.#needsAll = true;
    }
    throw new DamagedClone(`files of ${commit} are missing`);
  }

  /** The objects that a read needs and that are not here. */
  async #missing(commit: string, wanted: Wanted, signal: AbortSignal): Promise<string[]> {
    if (!this.#isPartial(wanted)) return [];
    const approvals = wanted.approvals === true ? [approvalsFolder] : [];
    return missingBelow(this.#git, this.#folder, commit, [wanted.path, ...approvals], signal);
  }

  #brought(wanted: Wanted): Brought {
    return this.#isPartial(wanted) ? "commits" : "everything";
  }

  #isPartial({ path }: Wanted): boolean {
    return path !== "." && !this.#needsAll;
  }

  async #read(object: NamedObject, wanted: Wanted, signal: AbortSignal): Promise<Found> {
    const signature = await this.#check(this.#folder, object, signal);
    const read = await readCommit(this.#git, this.#folder, object.commit, { ...wanted, blobs: this.#blobs }, signal);
    if (wanted.approvals !== true) return { ...read, ...(signature && { signature }) };
    const approvals = await approvalsOf(this.#git, this.#folder, object.commit, wanted, signal);
    return { ...read, ...(signature && { signature }), approvals };
  }

  /**
   * Creates the folder if it is missing or damaged. No other process uses it, so any lock in it is left over from a
   * killed process, and any unfinished pack from a fetch that failed.
   */
  async #prepare(format: ObjectFormat, wanted: Wanted, signal: AbortSignal): Promise<void> {
    // A server believes that files are here whose commits are.
    if (!this.#isPartial(wanted) && (await lacksFiles(this.#folder)))
      await rm(this.#folder, { recursive: true, force: true });
    await removeUnfinished(this.#folder);
    if (await this.#isFull()) await this.#compact(signal);
    if (await this.#isFull()) await this.#forgetEarlier(signal);
    const isThere = existsSync(join(this.#folder, "objects", "pack")) && !(await this.#isFull());
    if (isThere && (await isOfFormat(this.#folder, format))) return this.#removeLocks();
    await makeRepository(this.#folder, format, this.#git, signal);
  }

  #isFull(): Promise<boolean> {
    return isFull(this.#folder, this.#git.maxSize);
  }

  /** The earlier revisions that are kept for a rollback; each is fetched again where one is asked for. */
  async #forgetEarlier(signal: AbortSignal): Promise<void> {
    try {
      await this.#git.updateReferences(this.#folder, await this.#removalsExcept([], signal), signal);
    } catch {
      signal.throwIfAborted();
    }
    await this.#compact(signal);
  }

  /** The last good revision stays through this, unlike through a new clone. */
  async #compact(signal: AbortSignal): Promise<void> {
    try {
      await this.#git.text(this.#folder, ["repack", "-a", "-d", "-q", "--pack-kept-objects"], signal);
      await this.#git.text(this.#folder, ["prune", "--expire=now"], signal);
    } catch {
      signal.throwIfAborted();
    }
  }

  async #removeLocks(): Promise<void> {
    const references = (["head", "good", "pin"] as const).map((kept) => `${nameOf(kept)}.lock`);
    const locksIn = async (folder: string): Promise<string[]> => {
      const names = await readdir(join(this.#folder, folder)).catch(() => []);
      return names.filter((name) => name.endsWith(".lock")).map((name) => join(folder, name));
    };
    await Promise.all(
      [...(await locksIn(".")), ...(await locksIn(keptFolder)), ...references].map((name) =>
        rm(join(this.#folder, name), { recursive: true, force: true }),
      ),
    );
  }

  /** What a reference of ours points to; undefined if it is missing, or its commit is. */
  async #object(kept: Kept, signal: AbortSignal): Promise<NamedObject | undefined> {
    const format = "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype)";
    const line = await this.#said(["for-each-ref", format, nameOf(kept)], signal);
    const [object = "", type, inner = "", innerType] = line?.split(" ") ?? [];
    if (type === "commit") return { commit: object };
    if (type !== "tag") return undefined;
    if (innerType === "commit") return { commit: inner, tag: object };
    const commit = await this.#said(["rev-parse", "--verify", "--quiet", `${object}^{commit}`], signal);
    return commit === undefined ? undefined : { commit, tag: object };
  }

  /** Output of a read-only command; undefined if it finds nothing, or damage. */
  async #said(args: string[], signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.#git.text(this.#folder, args, signal)).trim() || undefined;
    } catch (error) {
      if (error instanceof SourceError && error.reason === "GitNotInstalled") throw error;
      return this.#orNothing(error, signal);
    }
  }

  #orNothing(error: unknown, signal: AbortSignal): undefined {
    signal.throwIfAborted();
    if (error instanceof SourceError && error.reason.startsWith("Signature")) throw error;
  }

  /** After a successful fetch: a tag may name a file or a folder, which is not damage. */
  async #noCommit(kept: Kept, signal: AbortSignal): Promise<Error> {
    const type = await this.#said(["cat-file", "-t", `${nameOf(kept)}^{}`], signal);
    if (type === undefined || type === "commit") return new DamagedClone(`${nameOf(kept)} is missing after a fetch`);
    return new SourceError(
      "CommitNotFound",
      `${this.#remote.display}: expected a tag that names a commit, found a ${type}`,
    );
  }

  /** The `+` also follows a branch whose history was rewritten. */
  async #follow(ref: string, wanted: Wanted, signal: AbortSignal): Promise<void> {
    await this.#fetch([`+${ref}:${nameOf("head")}`], ["--depth=1"], this.#brought(wanted), signal);
  }

  /** Some servers refuse a commit to which no branch points: then the branches are fetched, with their history. */
  async #fetchCommit(sha: string, kept: Kept, wanted: Wanted, signal: AbortSignal): Promise<void> {
    const brings = this.#brought(wanted);
    try {
      await this.#fetch([`+${sha}:${nameOf(kept)}`], ["--depth=1"], brings, signal);
    } catch (error) {
      if (!(error instanceof SourceError) || error.reason !== "CommitNotFound") throw error;
      await this.#fetch(["+refs/heads/*:refs/sluice/branches/*"], [whole, "--prune"], brings, signal);
      const type = await this.#said(["cat-file", "-t", sha], signal);
      if (type !== "commit") {
        throw new SourceError(
          "CommitNotFound",
          `${this.#remote.display}: expected commit ${sha}, but no branch contains it, and the server does not serve it directly: push it, or name another one`,
        );
      }
      await this.#git.text(this.#folder, ["update-ref", nameOf(kept), sha], signal);
    }
  }

  async #fetch(
    refspecs: readonly string[],
    more: readonly string[],
    brings: Brought,
    signal: AbortSignal,
  ): Promise<void> {
    const fixed = ["fetch", "--progress", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
    const argumentsFor = (url: string, options: readonly string[]): string[] =>
      brings === "everything"
        ? [...fixed, ...options, "--", url, ...refspecs]
        : [...partialSettings(url, brings), ...fixed, ...options, withoutFiles, remoteName, ...refspecs];
    const fetch = (options: readonly string[]) =>
      this.#git.fetch(this.#folder, (url, own) => argumentsFor(url, [...options, ...own]), signal);
    try {
      await fetch(more);
    } catch (error) {
      if (!(error instanceof SourceError) || !error.message.includes("does not support shallow")) throw error;
      await fetch(more.filter((option) => !option.startsWith("--depth=")));
    }
  }

  /** Finds out whether a failed fetch is the fault of the remote or of this folder: an intact folder passes `fsck`. */
  async #isOurFault(error: unknown, signal: AbortSignal): Promise<boolean> {
    if (!(error instanceof SourceError) || !suspicious.has(error.reason)) return false;
    if (error.reason === "GitOperationFailed" && damage.test(error.message)) return true;
    try {
      await this.#git.text(this.#folder, ["fsck", "--connectivity-only", "--no-dangling"], signal);
      return false;
    } catch {
      signal.throwIfAborted();
      return true;
    }
  }
}

/** Reasons that a damaged clone may cause. */
const suspicious: ReadonlySet<string> = new Set(["GitOperationFailed", "TransferCorrupt", "TransferIncomplete"]);

const damage =
  /unable to (create|write|resolve)|\.lock|corrupt|loose object|packfile|not a git repository|shallow|inflate|bad object/i;

/** References to the commits of earlier good revisions, by their hashes. */
const keptFolder = "refs/sluice/kept";

function keptAs(sha: string): string {
  return `${keptFolder}/${sha}`;
}

function nameOf(kept: Kept): string {
  return `refs/sluice/${kept}`;
}
