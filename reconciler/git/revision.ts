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
  /** What lies under the watched path, and was not read. A pipeline whose file is named here is left as it runs. */
  skipped: SkippedFile[];
  /** The branch, where one is followed. */
  branch?: string;
  /** Absent for a plain folder, as are the two below. */
  /** ISO 8601, UTC. */
  committedAt?: string;
  author?: string;
  /** First line of the commit's message, without control characters, at most 200 characters. */
  subject?: string;
  /** Who signed the commit, or the tag that names it; absent where signatures are not asked for. */
  signature?: Signature;
  /** What a person should know of how this revision came about, such as a history that was rewritten. */
  notes?: string[];
}

/** A signature that holds. It speaks for the files of this commit, and says nothing of the commits before it. */
export interface Signature {
  kind: "gpg" | "ssh";
  /** Of the key, as gpg or ssh-keygen writes it. */
  fingerprint: string;
  /** As the file of accepted keys names the holder. */
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
}

/** Where a source looks, for people: no credentials. */
export interface SourceDescription {
  kind: "git" | "dir";
  url: string;
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
 * is a SourceError and means that nothing is known, so nothing is changed.
 */
export interface RevisionSource {
  readonly description: SourceDescription;
  /** What is unsafe about the way to the source as it is set up, for the log of the start. */
  readonly warnings?: readonly string[];
  /** The newest revision, complete or not at all. The same object again while nothing has changed. */
  fetch(signal: AbortSignal, onRequest?: RequestListener): Promise<Revision>;
  /**
   * The last revision that was good: fetched whole, and verified where that is asked for. From disk, without the
   * network, so that it is also there after a restart while the remote is down. Undefined where there is none.
   */
  cached?(signal: AbortSignal): Promise<Revision | undefined>;
  /**
   * The files of `commit`, a full hash, which must be one that the followed branch or tag contains, or once pointed to;
   * verified where that is asked for. Throws SourceError otherwise. What `fetch` and `cached` give stays as it is.
   */
  at?(commit: string, signal: AbortSignal): Promise<Revision>;
  /** Calls `onChange` when a fetch is likely to give another revision. Where absent, only polling tells. */
  watch?(onChange: () => void): Promise<void>;
  /** Releases watchers. Safe to call twice. */
  close(): Promise<void>;
}

/** Why a revision could not be had. A closed set: the reason of a condition. */
export type SourceReason =
  // The way to the remote.
  | "HostNotFound"
  | "ConnectionRefused"
  | "ConnectionFailed"
  | "TLSFailed"
  | "HostKeyRejected"
  | "Timeout"
  // What it answered.
  | "AuthenticationFailed"
  | "RepositoryNotFound"
  | "RateLimited"
  | "ServerError"
  | "Redirected"
  | "TransferIncomplete"
  | "TransferCorrupt"
  // What it holds.
  | "RepositoryEmpty"
  | "BranchNotFound"
  | "TagNotFound"
  | "CommitNotFound"
  | "TooLarge"
  // Signatures. That one cannot be checked never means that it is bad.
  | "SignatureMissing"
  | "SignatureInvalid"
  | "SignatureKeyUnknown"
  | "SignatureKeyExpired"
  | "SignatureKeyRevoked"
  | "VerificationUnavailable"
  // Here.
  | "URLInvalid"
  | "InvalidPath"
  | "CredentialsNotFound"
  | "GitNotInstalled"
  | "DiskFull"
  | "CacheNotWritable"
  | "GitOperationFailed";

/** Reasons that stand until a person has changed something. */
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
]);

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

  /** Trying again cannot help before a person has changed something. */
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
