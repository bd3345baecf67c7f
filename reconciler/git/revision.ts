/**
 * What the desired state was read from: the files of one commit, or of one moment of a plain folder.
 */
export interface Revision {
  /** `<branch>@sha1:<hex>`, or `dir@sha256:<hex>` for a plain folder. */
  id: string;
  /** The hex part of `id`. */
  sha: string;
  /** Candidates for pipeline files under the watched path, ordered by path. */
  files: RevisionFile[];
  /** What lies under the watched path, and was not read. A pipeline whose file is named here is left as it runs. */
  skipped: SkippedFile[];
  /** Absent for a plain folder, as are the four below. */
  branch?: string;
  /** ISO 8601, UTC. */
  committedAt?: string;
  author?: string;
  /** First line of the commit's message, without control characters, at most 200 characters. */
  subject?: string;
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
  /** Absent for a plain folder, and before the first fetch where the remote's default branch is followed. */
  branch?: string;
  path: string;
}

/** Is told of every exchange with a remote. */
export type RequestListener = (op: "ls-remote" | "fetch", result: "success" | "error", seconds: number) => void;

/**
 * Where revisions come from. The reconciler calls `fetch` once per turn and never twice at a time. An error of `fetch`
 * is a SourceError and means that nothing is known, so nothing is changed.
 */
export interface RevisionSource {
  readonly description: SourceDescription;
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

/** Why a revision could not be had. A closed set: a condition's reason, and a metric label. */
export type SourceReason =
  | "GitOperationFailed"
  | "AuthenticationFailed"
  | "BranchNotFound"
  | "Timeout"
  | "TooLarge"
  | "URLInvalid"
  | "InvalidPath";

/** Says what could not be read, why, and what to do. Its message never holds a credential. */
export class SourceError extends Error {
  readonly reason: SourceReason;

  constructor(reason: SourceReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SourceError";
    this.reason = reason;
  }

  /** Trying again cannot help before a person has changed something. */
  get stalls(): boolean {
    return this.reason === "URLInvalid" || this.reason === "InvalidPath" || this.reason === "TooLarge";
  }
}

/** Bounds on what a repository can make this process read. */
export interface SourceLimits {
  files: number;
  /** A larger file is skipped, and named. */
  fileBytes: number;
  /** Of all files together. */
  bytes: number;
}

export const defaultLimits: SourceLimits = { files: 10_000, fileBytes: 4 << 20, bytes: 128 << 20 };

/** Whether a path may hold pipelines; the loader decides what is one. */
export function isCandidate(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path);
}

/** Refuses a folder that holds more than is read at once, so that a part of it is never taken for the whole. */
export function checkLimits(files: readonly { bytes: number }[], limits: SourceLimits, where: string): void {
  if (files.length > limits.files) {
    throw new SourceError(
      "TooLarge",
      `${where} holds ${files.length} YAML and JSON files, at most ${limits.files} are read: watch a folder of it with --path`,
    );
  }
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  if (total > limits.bytes) {
    throw new SourceError(
      "TooLarge",
      `${where} holds ${total} bytes of YAML and JSON, at most ${limits.bytes} are read: watch a folder of it with --path`,
    );
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
