import { realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { oneLine } from "../../engine/language.ts";
import { readCommit, withoutPointers } from "../git/commit.ts";
import { Credentials } from "../git/credentials.ts";
import { defaultTimeouts, type Environment, workTreeEnvironment } from "../git/environment.ts";
import { Git } from "../git/git.ts";
import { runLocally } from "../git/git-process.ts";
import { checkLimits, defaultLimits, defaultMaxSize } from "../git/limits.ts";
import { parseRemote } from "../git/remote.ts";
import { SourceError, type RevisionFile, type SkippedFile } from "../git/revision.ts";
import { Blobs, parseTree } from "../git/tree.ts";
import { asCommitted } from "./clean.ts";
import { filesNow } from "./files.ts";

/** The files of one side of a comparison, with their paths from the top of the work tree. */
export interface TreeFiles {
  files: RevisionFile[];
  skipped: SkippedFile[];
}

/** The most bytes that git may print about itself. */
const mostAnswer = 1 << 20;

/** The most bytes of files that are not committed. */
const mostContents = 192 << 20;

/** A file of the index. */
interface IndexEntry {
  mode: string;
  object: string;
  path: string;
}

const [linkMode, submoduleMode] = ["120000", "160000"];

/** A line of `git ls-files --stage`; undefined for a side of a conflict, whose file is what counts. */
function indexEntry(line: string): IndexEntry | undefined {
  const [, mode = "", object = "", path = ""] = /^(\d+) ([0-9a-f]+) 0\t(.+)$/s.exec(line) ?? [];
  return path === "" ? undefined : { mode, object, path };
}

const timeouts = { ...defaultTimeouts, afterExit: false } as const;

/**
 * A folder of a Git work tree: its files as they are now, and as they are in commits of the clone. It connects to no
 * remote and changes nothing.
 */
export class WorkTree {
  readonly top: string;
  /** The folder from the top, `.` for the top itself. */
  readonly under: string;
  readonly #git: Git;
  readonly #blobs = new Blobs();
  readonly #environment: Environment;
  readonly #signal: AbortSignal;

  private constructor(top: string, under: string, environment: Environment, signal: AbortSignal) {
    const remote = parseRemote(top);
    const options = { timeouts, maxSize: defaultMaxSize, isWorkTree: true } as const;
    this.#git = new Git(remote, new Credentials({}, remote, undefined), environment, options);
    this.top = top;
    this.under = under;
    this.#environment = environment;
    this.#signal = signal;
  }

  /**
   * The work tree that `folder` is in. Throws a SourceError where there is none, or no such folder: it is not there, and
   * Git knows no file of it, which a sparse checkout would leave out.
   */
  static async around(folder: string, environment: Environment, signal: AbortSignal): Promise<WorkTree> {
    const none = new SourceError("InvalidPath", `${folder}: expected a folder of a Git work tree, found none`);
    const wanted = resolve(folder);
    const there = await nearest(wanted);
    if (!(await stat(there)).isDirectory()) throw none;
    const real = await realpath(there);
    const top = await realpath(await topOf(real, folder, environment, signal));
    const under = relative(top, join(real, relative(there, wanted)))
      .split(sep)
      .join("/");
    const made = new WorkTree(top, under || ".", environment, signal);
    if (there !== wanted && (await made.#listed()).length === 0) throw none;
    return made;
  }

  /**
   * The hash of the commit that `name` means: a commit, tag or branch of the clone, or else a branch of `origin`. Throws a
   * SourceError where there is none.
   */
  async commit(name: string): Promise<string> {
    for (const spelled of [name, `refs/remotes/origin/${name}`]) {
      const found = await this.#line("rev-parse", "--verify", "--quiet", "--end-of-options", `${spelled}^{commit}`);
      if (found !== undefined) return found;
    }
    throw new SourceError(
      "CommitNotFound",
      `expected a branch, tag or commit of the clone ${this.top}, found none that is called ${oneLine(name.slice(0, 200))}: ` +
        "fetch it, in CI with the whole history (fetch-depth: 0)",
    );
  }

  /** What the commit that is checked out merges `head` into; undefined where it is no such merge. */
  async mergedInto(head: string): Promise<string | undefined> {
    const merged = await this.#line("rev-parse", "--verify", "--quiet", "HEAD^2");
    return merged === head ? this.#line("rev-parse", "--verify", "--quiet", "HEAD^1") : undefined;
  }

  /** Whether the clone has a branch, tag or commit. */
  async has(name: string): Promise<boolean> {
    return this.commit(name).then(
      () => true,
      (error: unknown) => {
        if (error instanceof SourceError) return false;
        throw error;
      },
    );
  }

  /** The commit at which `head` left `base`; undefined where the clone does not have it. */
  branchPoint(base: string, head: string): Promise<string | undefined> {
    return this.#line("merge-base", base, head);
  }

  /** The files of the folder in a commit. */
  async filesAt(commit: string): Promise<TreeFiles> {
    const wanted = { path: this.under, limits: defaultLimits, display: this.top, blobs: this.#blobs };
    return readCommit(this.#git, this.top, commit, wanted, this.#signal);
  }

  /**
   * The files of the folder as a commit of them would have them, also those that are not committed, except those that Git
   * ignores. What Git knows as unchanged is read from its index: it may not be in the folder at all, or there in another form.
   */
  async filesNow(): Promise<TreeFiles> {
    const [index, modified, others] = [
      await this.#listed("--stage"),
      await this.#listed("--modified"),
      await this.#listed("--others", "--exclude-standard"),
    ];
    const changed = new Set(modified);
    const entries = index.flatMap((line) => indexEntry(line) ?? []);
    const unchanged = await this.#inIndex(entries.filter(({ path }) => !changed.has(path)));
    const found = await filesNow(this.top, [...new Set([...changed, ...others])], defaultLimits);
    const files = await asCommitted(found.files, (...run) => this.#run(...run));
    const all = [...unchanged.files, ...files].toSorted((a, b) => (a.path < b.path ? -1 : 1));
    checkLimits(
      all.map(({ bytes }) => ({ bytes: bytes.length })),
      defaultLimits,
      this.top,
    );
    return { files: all, skipped: [...unchanged.skipped, ...found.skipped] };
  }

  /** What `git ls-files` lists of the folder. */
  async #listed(...which: string[]): Promise<string[]> {
    // The name of a folder may look like a pattern.
    const under = this.under === "." ? [] : ["--", `:(literal)${this.under}`];
    const args = ["ls-files", "-z", "--full-name", ...which, ...under];
    return (await this.#git.text(this.top, args, this.#signal)).split("\0").filter(Boolean);
  }

  /** The files of the index, as those of a commit are read. */
  async #inIndex(entries: readonly IndexEntry[]): Promise<TreeFiles> {
    const objects = entries.filter(({ mode }) => mode !== submoduleMode).map(({ object }) => object);
    const sizes = await this.#sizes([...new Set(objects)]);
    const line = ({ mode, object, path }: IndexEntry) => `${mode} blob ${object} ${sizes.get(object) ?? "-"}\t${path}`;
    const { files, skipped } = parseTree(entries.map(line).join("\0"), defaultLimits);
    const contents = await new Blobs().read(this.#git, this.top, files, this.#signal);
    const read = files.map(({ path }, index) => ({ path, bytes: contents[index]! }));
    const links = new Set(entries.filter(({ mode }) => mode === linkMode).map(({ path }) => path));
    // Where a link of the index leads is not known, as it is of one in a commit.
    const left = skipped.map(({ version, ...one }) => (links.has(one.path) || !version ? one : { ...one, version }));
    return withoutPointers(read, left);
  }

  async #sizes(objects: readonly string[]): Promise<Map<string, string>> {
    if (objects.length === 0) return new Map();
    const text = await this.#git.targets(this.top, objects, this.#signal);
    return new Map(
      [...text.matchAll(/^([0-9a-f]{40,64}) blob (\d+)$/gm)].map(([, object = "", size = ""]) => [object, size]),
    );
  }

  async #run(args: readonly string[], input: string, variables: Record<string, string>): Promise<Buffer> {
    const env = { ...workTreeEnvironment(this.#environment), ...variables };
    try {
      return await runLocally({ folder: this.top, args, input, env, most: mostContents, ...timeouts }, this.#signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      const said = oneLine(error instanceof Error ? error.message.trim().slice(0, 300) : String(error));
      throw new SourceError(
        "GitOperationFailed",
        `${this.top}: git ${args[0]} of files that are not committed failed: ${said}`,
      );
    }
  }

  /**
   * The text of a file, named from the working directory, in a commit; undefined where it is not there, or outside. What
   * is a link today may have been a file then, so the name counts, and not where it leads.
   */
  async textAt(commit: string, file: string): Promise<string | undefined> {
    const folder = dirname(resolve(file));
    const path = relative(this.top, join(await realpath(folder).catch(() => folder), basename(file)));
    if (path.startsWith("..") || isAbsolute(path)) return undefined;
    const args = ["ls-tree", "-z", "--full-tree", commit, "--", `:(literal)${path}`];
    const listing = await this.#git.text(this.top, args, this.#signal);
    if (!/^100\d+ blob /.test(listing)) return undefined;
    return this.#git.text(this.top, ["cat-file", "blob", `${commit}:${path.split(sep).join("/")}`], this.#signal);
  }

  /** The one line that git answers; undefined where it fails. */
  async #line(...args: string[]): Promise<string | undefined> {
    const text = await this.#git.text(this.top, args, this.#signal).catch((error: SourceError) => {
      if (error.reason === "GitNotInstalled" || error.reason === "Timeout") throw error;
      return "";
    });
    return text.trim() || undefined;
  }
}

/** The path, or else the nearest one above it that is there. */
async function nearest(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere || dirname(path) === path ? path : nearest(dirname(path));
}

/** Unlike every other command, this one looks at the folders above. */
async function topOf(real: string, folder: string, environment: Environment, signal: AbortSignal): Promise<string> {
  const run = { folder: real, args: ["rev-parse", "--show-toplevel"], input: "", most: mostAnswer, ...timeouts };
  try {
    return (await runLocally({ ...run, env: workTreeEnvironment(environment) }, signal)).toString("utf8").trimEnd();
  } catch (error) {
    const said = oneLine(error instanceof Error ? error.message.trim().slice(0, 300) : String(error));
    throw new SourceError("InvalidPath", `${folder}: expected a folder of a Git work tree: ${said}`);
  }
}
