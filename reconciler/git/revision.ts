/**
 * What the desired state was read from: the files of one commit, or of one moment of a plain folder.
 */
export interface Revision {
  /** `<branch or tag>@sha1:<hex>`, `sha1:<hex>` where a commit is followed, or `dir@sha256:<hex>` for a plain folder. */
  id: string;
  /** The hex part of `id`. */
  sha: string;
  /** Candidates for pipeline files under the watched path, ordered by path. */
  files: RevisionFile[];
  /** Hidden files of a plain folder, as far as they were looked at; those of a commit are among `files`. */
  hidden?: RevisionFile[];
  /** Files under the watched path that were not read. The pipeline of such a file stays as it is. */
  skipped: SkippedFile[];
  /** The branch, where one is followed. */
  branch?: string;
  /** Another address of the server, to which it redirected when this revision was read; absent where it did not. */
  redirected?: string;
  /** Absent for a plain folder, as are the two below. */
  /** ISO 8601, UTC. */
  committedAt?: string;
  author?: string;
  /** First line of the commit's message, without control characters, at most 200 characters. */
  subject?: string;
  /** The signature of the commit, or of its tag; absent if signatures are not verified. */
  signature?: Signature;
  /** Fingerprints of changes that it approves. Absent where they are not asked for. */
  approvals?: string[];
  /**
   * The commits of the followed ref before it, the newest first, back to the one that was applied last. Absent where
   * there are none, that is not known, or approvals are not asked for.
   */
  earlier?: readonly EarlierCommit[];
  /** Notes for the operator, such as a rewritten history. */
  notes?: string[];
  /** A plain folder that may be half of a copy. Absent where it has stood still, and for a commit. */
  settling?: Settling;
}

/** A commit that no poll may have seen, and the fingerprints of changes that its message approves. */
export interface EarlierCommit {
  commit: string;
  approvals: readonly string[];
}

/** The hash in the id of a revision, or a hash as it is. */
export function commitIn(revision: string): string {
  return revision.replace(/^(?:.*@)?sha(?:1|256):/, "");
}

/** A folder that has not stood still for long enough: what it lacks may be on its way. */
export interface Settling {
  /** Milliseconds that it has to stand still. */
  after: number;
  /** When it has, if nothing changes until then: milliseconds of the monotonic clock of the process. */
  at: number;
  /** What changed last. Absent where nothing has since the folder is followed. */
  changed?: string;
  /** The files that changed so lately, in this order. */
  recent: RecentChange[];
  /** The same as `at` for the folder as a whole, which was read for the first time. Absent where that is over. */
  start?: number;
  /** Files that do not count as they are yet; absent where there are none. */
  changing?: ChangingFiles;
}

export interface RecentChange {
  path: string;
  /** When the folder has stood still since, by the monotonic clock of the process. */
  at: number;
}

/** Undefined where nothing is waited for. */
export function settlingAfter(after: number, recent: RecentChange[], start?: number): Settling | undefined {
  const last = recent.at(-1);
  const at = Math.max(start ?? -Infinity, last?.at ?? -Infinity);
  if (after === 0 || at === -Infinity) return undefined;
  return { after, at, ...(last && { changed: last.path }), recent, ...(start !== undefined && { start }) };
}

/** A revision whose `ignored` files are not waited for: no pipeline is read from them. */
export function withoutWaiting(revision: Revision, ignored: readonly string[]): Revision {
  const { settling, ...rest } = revision;
  if (settling === undefined || ignored.length === 0) return revision;
  const left = new Set(ignored);
  const counted = settlingAfter(
    settling.after,
    settling.recent.filter(({ path }) => !left.has(path)),
    settling.start,
  );
  const paths = settling.changing?.paths.filter((path) => !left.has(path)) ?? [];
  const changing = settling.changing && paths.length > 0 ? { ...settling.changing, paths } : undefined;
  if (counted === undefined) return rest;
  return { ...rest, settling: { ...counted, ...(changing && { changing }) } };
}

/**
 * Files of a folder that have just changed, and may be half of what is written. What they held before holds, and nothing
 * of a new one.
 */
export interface ChangingFiles {
  paths: string[];
  /** Milliseconds that each has to stand still. */
  after: number;
  /** When the first of them has, if it does not change until then: milliseconds of the monotonic clock of the process. */
  at: number;
  /** One of them has not changed for long, so that its end is worth waiting for. */
  isBrief: boolean;
}

/** All files of a revision, hidden ones included. */
export function filesOf({ files, hidden = [] }: Revision): RevisionFile[] {
  return [...files, ...hidden];
}

/**
 * The paths of what was not read, as patterns name them: a folder, or what may be one, also with a slash at its end; and
 * files of a folder that changed lately, which may be gone. `before`: what was not read of earlier revisions.
 */
export function unreadPaths(
  { skipped, settling, files = [] }: Pick<Revision, "skipped"> & Partial<Revision>,
  before: readonly string[] = [],
): string[] {
  const known = new Set(files.map(({ path }) => path));
  const lately = [...(settling?.recent.map(({ path }) => path) ?? []), ...(settling?.changing?.paths ?? [])];
  const gone = [...new Set(lately)].filter((path) => path !== "" && !known.has(path));
  const unread = new Set([...skipped.map(({ path }) => path), ...before]);
  return [...[...unread].flatMap((path) => [path, `${path}/`]), ...gone];
}

/** A valid signature. It covers the files of this commit, and not earlier commits. */
export interface Signature {
  kind: "gpg" | "ssh";
  /** Of the key, as gpg or ssh-keygen writes it. */
  fingerprint: string;
  /** The name of the holder in the file of accepted keys. */
  signer: string;
}

export interface RevisionFile {
  /** From the root of the repository, or of the folder, with forward slashes. */
  path: string;
  bytes: Buffer;
}

export interface SkippedFile {
  /** A file, or the folder that was not entered. */
  path: string;
  reason: string;
  /** It is a folder, whose files are not known. */
  isFolder?: true;
  /** The hash of what is there, or of where a link within the repository leads; absent where that is not known. */
  version?: string;
}

/** The description of a source, without credentials. */
export interface SourceDescription {
  kind: "git" | "dir";
  url: string;
  /** Where the server redirected at the last poll that succeeded; absent where it did not. */
  redirected?: string;
  /** Where a branch is followed; absent before the first fetch of the remote's default branch. */
  branch?: string;
  tag?: string;
  commit?: string;
  path: string;
}

/** Called after every exchange with a remote. */
export type RequestListener = (op: "ls-remote" | "fetch", result: "success" | "error", seconds: number) => void;

/**
 * Where revisions come from. The reconciler calls `fetch` once per turn and never twice at a time. An error of `fetch`
 * is a SourceError; no pipeline is changed because of it.
 */
export interface RevisionSource {
  readonly description: SourceDescription;
  /** Why the connection to the source is not secure, for the log at the start. */
  readonly warnings?: readonly string[];
  /** The newest revision, always complete. The same object while nothing has changed. */
  fetch(signal: AbortSignal, onRequest?: RequestListener): Promise<Revision>;
  /** The revision that `fetch` or `cached` gave last, without a wait, as it is to be used now. Absent where none did. */
  readonly known?: Revision | undefined;
  /** Ends a fetch that is under way, which then rejects with FetchInterrupted: someone needs the source. */
  interrupt?(): void;
  /**
   * The last good revision: fetched completely, and verified if signatures are. It comes from disk, so it exists after
   * a restart while the remote is down. Undefined where there is none.
   */
  cached?(signal: AbortSignal): Promise<Revision | undefined>;
  /**
   * The files of `commit`, a full hash, which must be one that the followed branch or tag contains, or once pointed to;
   * verified if signatures are. Throws SourceError otherwise. Does not change the results of `fetch` and `cached`.
   */
  at?(commit: string, signal: AbortSignal): Promise<Revision>;
  /** Says which commit was applied last: from the next one that is fetched on, `earlier` goes back to it. */
  noteApplied?(commit: string): void;
  /**
   * The commit that is not followed until an operator approves it, since signatures are required and it does not descend
   * from the one that was followed last. Absent where there is none.
   */
  readonly waiting?: WaitingCommit | undefined;
  /** Follows commit `waiting.to` from the next fetch on, also after a restart. Throws SourceError. */
  approve?(commit: string): Promise<void>;
  /** Calls `onChange` when a fetch is likely to return another revision. If absent, the source is only polled. */
  watch?(onChange: () => void): Promise<void>;
  /** Releases watchers. Safe to call twice. */
  close(): Promise<void>;
}

/** A commit that waits for an approval. */
export interface WaitingCommit {
  /** The one that was followed last. */
  from: string;
  to: string;
}

/** Why a revision could not be fetched. A closed set: the reason of a condition. */
export type SourceReason =
  // The connection to the remote.
  | "HostNotFound"
  | "ConnectionRefused"
  | "ConnectionFailed"
  | "TLSFailed"
  | "HostKeyRejected"
  | "Timeout"
  // The answer of the remote.
  | "AuthenticationFailed"
  | "RepositoryNotFound"
  | "RateLimited"
  | "ServerError"
  | "Redirected"
  | "TransferIncomplete"
  | "TransferCorrupt"
  // The content of the repository.
  | "RepositoryEmpty"
  | "BranchNotFound"
  | "TagNotFound"
  | "CommitNotFound"
  | "TooLarge"
  // Signatures. One that cannot be checked is never reported as invalid.
  | "SignatureMissing"
  | "SignatureInvalid"
  | "SignatureKeyUnknown"
  | "SignatureKeyExpired"
  | "SignatureKeyRevoked"
  | "SignatureOfOtherTag"
  | "VerificationUnavailable"
  // Where signatures are required.
  | "NotDescendant"
  | "AncestryUnknown"
  // This machine.
  | "URLInvalid"
  | "InvalidPath"
  | "CredentialsNotFound"
  | "GitNotInstalled"
  | "DiskFull"
  | "CacheNotWritable"
  | "GitOperationFailed";

/** Reasons that last until a person changes something. */
const lasting: ReadonlySet<SourceReason> = new Set([
  "URLInvalid",
  "InvalidPath",
  "TooLarge",
  "Redirected",
  "SignatureMissing",
  "SignatureInvalid",
  "SignatureKeyUnknown",
  "SignatureKeyExpired",
  "SignatureKeyRevoked",
  "SignatureOfOtherTag",
  "NotDescendant",
  "AncestryUnknown",
]);

/** A fetch was ended because someone needs the source. It says nothing about the source. */
export class FetchInterrupted extends Error {}

/** Says what could not be read, why, and what to do. Its message never holds a credential. */
export class SourceError extends Error {
  readonly reason: SourceReason;
  /** Milliseconds from now during which the remote must not be polled (`Retry-After`). */
  readonly retryAfter?: number;

  constructor(reason: SourceReason, message: string, { retryAfter }: { retryAfter?: number | undefined } = {}) {
    super(message);
    this.name = "SourceError";
    this.reason = reason;
    if (retryAfter !== undefined) this.retryAfter = retryAfter;
  }

  /** True if a retry fails until a person changes something. */
  get stalls(): boolean {
    return lasting.has(this.reason);
  }
}

/** The watched path in one spelling: `.` for the root, no trailing slash. Refuses one that leads out of the tree. */
export function normalisePath(path: string): string {
  const parts = path.split(/[/\\]+/).filter((part) => part !== "" && part !== ".");
  if (path.startsWith("/") || parts.includes("..") || path.includes("\0")) {
    throw new SourceError(
      "InvalidPath",
      `--path ${JSON.stringify(path)}: expected a folder inside the repository, relative to its root, such as "pipelines"`,
    );
  }
  return parts.length === 0 ? "." : parts.join("/");
}
