import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { ReferenceReader } from "../secrets/file-and-env.ts";
import { Mutex } from "../../engine/language.ts";
import { Clone, type Found, type NamedObject } from "./clone.ts";
import { approvalsIn, trailersFormat, type Wanted } from "./commit.ts";
import { type AccessSettings, Credentials } from "./credentials.ts";
import { defaultTimeouts, type Environment, type GitTimeouts } from "./environment.ts";
import { ofDisk } from "./failure.ts";
import { Git } from "./git.ts";
import { History } from "./history.ts";
import {
  Descent,
  digestOf,
  type LastGood,
  readLastGood,
  revisionNotes,
  withCommit,
  writeLastGood,
} from "./last-good.ts";
import { defaultLimits, defaultMaxSize, type SourceLimits } from "./limits.ts";
import { fullHash, idOf, readReference, type Reference, type ReferenceSettings, shownReference } from "./reference.ts";
import { Lookup, timed } from "./lookup.ts";
import { parseRemote, type Remote } from "./remote.ts";
import {
  type EarlierCommit,
  normalisePath,
  type RequestListener,
  type Revision,
  type RevisionSource,
  type Signature,
  type SourceDescription,
  SourceError,
  type WaitingCommit,
} from "./revision.ts";
import { mustBeOf, Signatures, type SignatureSettings } from "./signatures.ts";

export interface RepositoryOptions extends ReferenceSettings {
  /** A folder, or a file://, https://, http://, ssh:// or git:// URL, or `user@host:path`. */
  url: string;
  /** Folder inside the repository, default its root. */
  path?: string;
  dataDir: string;
  /** The environment of the process, of which git receives a part. */
  env: Environment;
  access?: AccessSettings;
  /** Resolves the references of `access`. If absent, they are used as they are. */
  secrets?: ReferenceReader;
  /** If given, a commit that none of these keys signed is refused. */
  verify?: SignatureSettings;
  timeouts?: GitTimeouts;
  limits?: SourceLimits;
  /** The most bytes that a fetch may write. */
  maxSize?: number;
  /** Whether it is read which changes a revision approves. */
  approvals?: boolean;
}

/**
 * A branch, a tag or a commit of a Git repository. An unchanged remote costs one round trip: `ls-remote` comes first.
 * With signature keys, the commit at the tip is verified, and that it descends from the last one; earlier commits are not.
 */
export class Repository implements RevisionSource {
  readonly #remote: Remote;
  readonly #reference: Reference;
  readonly #wanted: Wanted;
  readonly #home: string;
  readonly #record: string;
  readonly #git: Git;
  readonly #clone: Clone;
  readonly #history: History;
  readonly #lookup: Lookup;
  readonly #signatures: Signatures | undefined;
  readonly #descent: Descent;
  readonly #commits: string[] = [];
  #name: string | undefined;
  #good: Revision | undefined;
  /** The commit or the tag of `#good`, as the remote lists it; undefined where that is not known. */
  #object: string | undefined;
  #pinned: Revision | undefined;
  /** The accepted keys with which `#good` and `#pinned` were verified. */
  #keys = "";
  /** The commit that was applied last. */
  #applied: string | undefined;
  /** One fetch at a time uses the folder: another would delete its locks as leftovers. */
  readonly #mutex = new Mutex();

  /** Throws SourceError URLInvalid or InvalidPath. Touches neither disk nor network. */
  constructor(options: RepositoryOptions) {
    const { url, dataDir, env, access = {}, secrets, verify = {}, limits = defaultLimits, approvals = false } = options;
    this.#remote = parseRemote(url);
    this.#reference = readReference(options);
    this.#wanted = { path: normalisePath(options.path ?? "."), limits, display: this.#remote.display, approvals };
    this.#name = options.branch;
    this.#home = join(dataDir, "git");
    const credentials = new Credentials(access, this.#remote, secrets);
    const { timeouts = defaultTimeouts, maxSize = defaultMaxSize } = options;
    this.#git = new Git(this.#remote, credentials, env, { timeouts, maxSize });
    const folder = join(this.#home, createHash("sha256").update(this.#remote.url).digest("hex").slice(0, 16));
    this.#record = `${folder}.json`;
    this.#clone = new Clone(folder, this.#git, this.#remote, (...object) => this.#check(...object));
    this.#history = new History(`${folder}.history`, this.#git, this.#remote);
    this.#lookup = new Lookup(this.#reference, this.#home, this.#git, this.#remote);
    this.#descent = new Descent(this.#remote.display);
    const isVerified = verify.gpg !== undefined || verify.ssh !== undefined;
    this.#signatures = isVerified ? new Signatures(verify, join(this.#home, "keys"), env) : undefined;
  }

  get description(): SourceDescription {
    const { path, display } = this.#wanted;
    const place = { url: display, ...placed(this.#good?.redirected) };
    return { kind: "git", ...place, ...shownReference(this.#reference, this.#name), path };
  }

  get warnings(): string[] {
    return this.#remote.warning === undefined ? [] : [this.#remote.warning];
  }

  fetch(signal: AbortSignal, onRequest?: RequestListener): Promise<Revision> {
    return this.#alone(async () => {
      await this.#readKeys(signal);
      const tip = await this.#lookup.tip(signal, onRequest);
      this.#name = tip.name;
      const known = this.#good;
      if (known?.id === idOf(tip, tip.sha) && this.#object === tip.object) return await this.#placed(known);
      const [reference, clone, history] = [this.#reference, this.#clone, this.#history];
      const before = await this.#recall();
      const found = await timed("fetch", onRequest, () => clone.newest(tip, this.#wanted, signal));
      const step = { reference, before, tip, found, clone, history, signal };
      if (this.#signatures !== undefined) await this.#descent.check(step);
      const notes = await revisionNotes(step);
      const earlier = await this.#earlier(found.sha, tip.name === undefined ? undefined : tip.ref, signal);
      if (earlier === "unknown") notes.push(earlierUnknown(this.#applied));
      const read = earlier === "unknown" ? found : { ...found, ...earlier };
      const revision = this.#revision(read, { ...named(tip.name), ...placed(this.#git.redirected) }, notes);
      await this.#remember(revision, notes, signal);
      this.#good = revision;
      // A branch may have moved on since it was listed.
      this.#object = found.sha === tip.sha ? tip.object : undefined;
      return revision;
    });
  }

  cached(signal: AbortSignal): Promise<Revision | undefined> {
    return this.#alone(async () => {
      await this.#readKeys(signal);
      if (this.#good !== undefined) return this.#good;
      const record = await this.#recall();
      if (record === undefined) return undefined;
      const found = await this.#clone.local("good", this.#wanted, signal);
      if (found?.sha !== record.sha) return undefined;
      if (record.path === this.#wanted.path && digestOf(found) !== record.digest) return undefined;
      this.#name ??= record.name;
      const earlier = await this.#earlier(found.sha, undefined, signal);
      this.#good = this.#revision(earlier === "unknown" ? found : { ...found, ...earlier }, record, []);
      return this.#good;
    });
  }

  at(commit: string, signal: AbortSignal): Promise<Revision> {
    return this.#alone(async () => {
      const sha = fullHash(commit, "the commit to go back to");
      await this.#readKeys(signal);
      const record = await this.#recall();
      const { redirected } = this.#good ?? record ?? {};
      if (this.#pinned?.sha === sha && this.#pinned.redirected === redirected) return this.#pinned;
      // A commit is kept as the pin only after it was found in the history.
      if ((await this.#clone.commitOf("pin", signal)) !== sha) await this.#mustContain(sha, signal);
      const found = await this.#clone.pinned(sha, this.#wanted, signal);
      // After a start without the remote nobody has said yet which branch is the default one.
      this.#name ??= record?.name;
      this.#pinned = this.#revision(found, { ...named(this.#name), ...placed(redirected) }, []);
      return this.#pinned;
    });
  }

  noteApplied(commit: string): void {
    this.#applied = commit;
  }

  get waiting(): WaitingCommit | undefined {
    return this.#descent.waiting;
  }

  approve(commit: string): Promise<void> {
    return this.#alone(async () => {
      const record = await this.#recall();
      if (record !== undefined) await writeLastGood(this.#record, { ...record, approved: commit });
    });
  }

  async close(): Promise<void> {}

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#mutex.run(async () => {
      try {
        await mkdir(this.#home, { recursive: true, mode: 0o700 });
        this.#git.beginPoll();
        return await work();
      } catch (error) {
        throw ofDisk(error, this.#home);
      }
    });
  }

  /** Forgets what was verified with other keys than the present ones. */
  async #readKeys(signal: AbortSignal): Promise<void> {
    const keys = (await this.#signatures?.readKeys(signal)) ?? "";
    if (keys !== this.#keys) [this.#good, this.#pinned] = [undefined, undefined];
    this.#keys = keys;
  }

  /** Verifies a signed tag itself; otherwise its commit. */
  async #check(
    folder: string,
    { commit, tag, name }: NamedObject,
    signal: AbortSignal,
  ): Promise<Signature | undefined> {
    if (this.#signatures === undefined) return undefined;
    const text = async (type: string, sha: string) => this.#git.text(folder, ["cat-file", type, sha], signal);
    const tagText = tag === undefined ? undefined : await text("tag", tag);
    if (tag !== undefined && tagText !== undefined && this.#signatures.signs("tag", tagText)) {
      const signature = await this.#signatures.verify(folder, "tag", tag, tagText, signal);
      if (name !== undefined) mustBeOf(name, tag, tagText);
      return signature;
    }
    return this.#signatures.verify(folder, "commit", commit, await text("commit", commit), signal);
  }

  /**
   * The commits before `sha` that `ref` has as well, back to the one that was applied last, and what their messages approve.
   * Without `ref`, as far as they are here. Of a history that was rewritten, or of another ref, none counts.
   */
  async #earlier(
    sha: string,
    ref: string | undefined,
    signal: AbortSignal,
  ): Promise<Pick<Revision, "earlier"> | "unknown"> {
    const applied = this.#applied;
    if (this.#wanted.approvals !== true || applied === undefined || applied === sha) return {};
    if ((await this.#clone.parentsOf(sha, signal))[0] === applied) return {};
    const range = { from: applied, to: sha, format: trailersFormat, ...(ref !== undefined && { ref }) };
    const commits = await this.#history.since(range, signal).catch((error: unknown) => {
      // Of other failures, the next poll may know more.
      if (error instanceof SourceError && error.reason === "GitOperationFailed") return "unknown" as const;
      throw error;
    });
    if (commits === "unknown") return "unknown";
    if (commits === "no") return {};
    const earlier: EarlierCommit[] = [];
    for (const { sha: commit, text } of commits) {
      if (commit === sha) continue;
      const approvals = approvalsIn([text]);
      const counts = approvals.length === 0 || (await this.#isSigned(commit, signal));
      earlier.push({ commit, approvals: counts ? approvals : [] });
    }
    return { earlier };
  }

  /** Whether a commit of the history is signed as it has to be: a signature of a later one says nothing about its message. */
  async #isSigned(commit: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#check(this.#history.folder, { commit }, signal);
      return true;
    } catch (error) {
      if (error instanceof SourceError && error.reason.startsWith("Signature")) return false;
      throw error;
    }
  }

  /** Throws SourceError unless the followed reference contains `sha`, or once pointed to it. */
  async #mustContain(sha: string, signal: AbortSignal): Promise<void> {
    const record = await this.#recall();
    if (record?.commits.includes(sha) === true || this.#commits.includes(sha)) return;
    const tip = await this.#lookup.tip(signal);
    const { ref, name } = tip;
    const contained = sha === ref ? "yes" : await this.#history.contains(tip, sha, signal);
    if (contained === "yes") return;
    const what =
      name === undefined ? `commit ${ref}` : `${this.#reference.kind.startsWith("tag") ? "tag" : "branch"} ${name}`;
    const how = contained === "no" ? "" : ", as far back as was looked";
    throw new SourceError(
      "CommitNotFound",
      `${this.#remote.display}: ${what} does not contain commit ${sha}${how}: name one of its commits`,
    );
  }

  /** The last good revision, as read at the place of this poll: the same object where that has not changed. */
  async #placed(good: Revision): Promise<Revision> {
    const { redirected: before, ...rest } = good;
    const { redirected } = this.#git;
    if (before === redirected) return good;
    const record = await this.#recall();
    if (record !== undefined) {
      const { redirected: _earlier, ...facts } = record;
      await writeLastGood(this.#record, { ...facts, ...placed(redirected) });
    }
    return (this.#good = { ...rest, ...placed(redirected) });
  }

  #revision(read: Found, { name, redirected }: Pick<LastGood, "name" | "redirected">, notes: string[]): Revision {
    const branch = this.#reference.kind === "branch" || this.#reference.kind === "default" ? name : undefined;
    return {
      ...read,
      id: idOf(named(name), read.sha),
      ...(branch !== undefined && { branch }),
      ...(redirected !== undefined && { redirected }),
      ...(notes.length > 0 && { notes }),
    };
  }

  /** The record of the last good revision of what is followed now. */
  async #recall(): Promise<LastGood | undefined> {
    const record = await readLastGood(this.#record);
    if (record !== "damaged") return record?.followed === this.#followed ? record : undefined;
    if (this.#signatures === undefined) return undefined;
    throw new SourceError(
      "AncestryUnknown",
      `${this.#record} is damaged, so it is unknown which commit was followed last, and signatures are required: restore it, or remove it to follow any signed commit once`,
    );
  }

  /**
   * Stores the revision for a restart while the remote is down. A failed write does not make the revision bad, except
   * where signatures are required: after a restart it would not be known what was followed.
   */
  async #remember(revision: Revision, notes: string[], signal: AbortSignal): Promise<void> {
    const { sha, redirected } = revision;
    this.#commits.splice(0, Infinity, ...withCommit((await this.#recall())?.commits ?? this.#commits, sha));
    const facts = { ...named(this.#name), ...placed(redirected) };
    const rest = { sha, path: this.#wanted.path, digest: digestOf(revision), commits: this.#commits };
    try {
      await this.#clone.keepHead(sha, this.#commits, signal);
      await writeLastGood(this.#record, { followed: this.#followed, ...facts, ...rest });
    } catch (error) {
      signal.throwIfAborted();
      if (this.#signatures !== undefined) throw error;
      const why = error instanceof Error ? error.message : String(error);
      revision.notes = [...notes, `it could not be stored for a restart while the remote is down: ${why}`];
    }
  }

  get #followed(): string {
    const { kind } = this.#reference;
    if (kind === "default") return "the default branch";
    return this.#reference.kind === "commit"
      ? `commit ${this.#reference.sha}`
      : `${kind} ${(this.#reference as { name: string }).name}`;
  }
}

function earlierUnknown(applied: string | undefined): string {
  const why = `it could not be found out which commits follow ${applied}, which was applied last`;
  return `approvals in the messages of earlier commits do not count: ${why}; repeat them in a new commit`;
}

function named(name: string | undefined): { name?: string } {
  return name === undefined ? {} : { name };
}

function placed(redirected: string | undefined): { redirected?: string } {
  return redirected === undefined ? {} : { redirected };
}
