import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Clone } from "./clone.ts";
import { defaultTimeouts, Git } from "./git.ts";
import type { Environment, GitTimeouts } from "./git.ts";
import { parseRemote } from "./remote.ts";
import type { Remote } from "./remote.ts";
import { defaultLimits, normalisePath, SourceError } from "./revision.ts";
import type { RequestListener, Revision, RevisionSource, SourceDescription, SourceLimits } from "./revision.ts";

export interface RepositoryOptions {
  /** A folder, or a file://, https://, http:// or ssh:// URL, or `user@host:path`. */
  url: string;
  /** Default: the branch that the remote's HEAD names. */
  branch?: string;
  /** Folder inside the repository, default its root. */
  path?: string;
  dataDir: string;
  /** What git may see of the process's environment. */
  env: Environment;
  timeouts?: GitTimeouts;
  limits?: SourceLimits;
}

/** A branch of a Git repository. An unchanged remote costs one round trip: `ls-remote` comes first. */
export class Repository implements RevisionSource {
  readonly #options: RepositoryOptions;
  readonly #remote: Remote;
  readonly #path: string;
  readonly #home: string;
  readonly #git: Git;
  readonly #clone: Clone;
  #branch: string | undefined;
  #last: Revision | undefined;

  /** Throws SourceError URLInvalid or InvalidPath. Touches neither disk nor network. */
  constructor(options: RepositoryOptions) {
    this.#options = options;
    this.#remote = parseRemote(options.url);
    this.#path = normalisePath(options.path ?? ".");
    this.#branch = options.branch === undefined ? undefined : checkBranch(options.branch);
    this.#home = join(options.dataDir, "git");
    this.#git = new Git(this.#remote, options.env, options.timeouts ?? defaultTimeouts);
    const name = createHash("sha256").update(this.#remote.url).digest("hex").slice(0, 16);
    this.#clone = new Clone(join(this.#home, name), this.#git, this.#remote);
  }

  get description(): SourceDescription {
    const branch = this.#branch === undefined ? {} : { branch: this.#branch };
    return { kind: "git", url: this.#remote.display, ...branch, path: this.#path };
  }

  async fetch(signal: AbortSignal, onRequest?: RequestListener): Promise<Revision> {
    await mkdir(this.#home, { recursive: true, mode: 0o700 });
    const { branch, sha } = await timed("ls-remote", onRequest, () => this.#newest(signal));
    this.#branch = branch;
    if (this.#last?.sha === sha && this.#last.branch === branch) return this.#last;
    const ref = branch === "HEAD" ? "HEAD" : `refs/heads/${branch}`;
    const limits = this.#options.limits ?? defaultLimits;
    const read = await timed("fetch", onRequest, () => this.#clone.revision(ref, sha, this.#path, limits, signal));
    this.#last = { ...read, id: `${branch}@sha1:${read.sha}`, branch };
    return this.#last;
  }

  async close(): Promise<void> {}

  async #newest(signal: AbortSignal): Promise<{ branch: string; sha: string }> {
    const wanted = this.#options.branch;
    const pattern = wanted === undefined ? "HEAD" : `refs/heads/${wanted}`;
    const output = await this.#git.text(this.#home, ["ls-remote", "--symref", "--", this.#remote.url, pattern], signal);
    const line = output.split("\n").find((one) => /^[0-9a-f]{40,64}\t/.test(one) && one.endsWith(`\t${pattern}`));
    const sha = line?.split("\t")[0];
    if (sha === undefined) throw await this.#branchMissing(wanted, signal);
    const followed = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(output)?.[1] ?? "HEAD";
    return { branch: wanted ?? followed, sha };
  }

  async #branchMissing(wanted: string | undefined, signal: AbortSignal): Promise<SourceError> {
    const output = await this.#git.text(this.#home, ["ls-remote", "--heads", "--", this.#remote.url], signal);
    const branches = [...output.matchAll(/\trefs\/heads\/(.+)$/gm)].map((match) => match[1] ?? "");
    const has =
      branches.length === 0
        ? "it has no branch at all: commit a first pipeline file"
        : `it has ${branches.slice(0, 10).join(", ")}${branches.length > 10 ? ", …" : ""}: push the branch, or name one of these with --branch`;
    const what = wanted === undefined ? "a default branch" : `branch ${wanted}`;
    return new SourceError("BranchNotFound", `${this.#remote.display}: expected ${what}, but ${has}`);
  }
}

async function timed<Result>(
  op: Parameters<RequestListener>[0],
  listener: RequestListener | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  const start = performance.now();
  let result: "success" | "error" = "error";
  try {
    const value = await work();
    result = "success";
    return value;
  } finally {
    listener?.(op, result, (performance.now() - start) / 1000);
  }
}

/** Branch names as Git allows them, minus what a shell or an option parser could take for something else. */
function checkBranch(branch: string): string {
  const fits = /^[^-/.][^\s~^:?*[\\\p{Cc}]*$/u.test(branch) && !/\.\.|\/\/|@\{|\/$|\.lock$|\.$/.test(branch);
  if (fits) return branch;
  throw new SourceError(
    "URLInvalid",
    `--branch: expected the name of a branch such as "main", got ${JSON.stringify(branch)}`,
  );
}
