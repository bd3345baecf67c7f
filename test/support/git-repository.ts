import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Commits here name a fixed author and never read the configuration of the machine. */
const environment = {
  ...process.env,
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.test",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.test",
};

/** Text of a file, `null` to remove it, or a link to somewhere. */
export type FileChange = string | Buffer | null | { link: string };

/** A real Git repository in a temporary folder. */
export class GitRepository {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** An empty repository; its branch comes into being with the first commit. */
  static async create(branch = "main", format = "sha1"): Promise<GitRepository> {
    const repository = new GitRepository(await mkdtemp(join(tmpdir(), "sluice-repository-")));
    await repository.git("init", "--quiet", `--initial-branch=${branch}`, `--object-format=${format}`);
    return repository;
  }

  /** Begins anew at the same place, without a commit or a file, and with other hashes. */
  async remakeAs(format: "sha1" | "sha256"): Promise<void> {
    for (const name of await readdir(this.path)) await rm(join(this.path, name), { recursive: true, force: true });
    await this.git("init", "--quiet", "--initial-branch=main", `--object-format=${format}`);
  }

  /** Runs `git` in the repository and gives its output, trimmed. */
  git(...args: string[]): Promise<string> {
    return this.#run("git", ...args);
  }

  /** The same at another time, which what it makes has. */
  gitAt(date: string, ...args: string[]): Promise<string> {
    return this.#run("env", `GIT_COMMITTER_DATE=${date}`, "git", ...args);
  }

  /** Writes `files` and commits them; gives the commit's sha. */
  async commit(files: Record<string, FileChange>, message = "A change"): Promise<string> {
    for (const [path, change] of Object.entries(files)) await this.#change(join(this.path, path), change);
    // In one process: each that a test starts copies the tables of its memory.
    const script = `git add --all && git commit --quiet --allow-empty --message "$1" && git rev-parse HEAD`;
    return this.#run("sh", "-c", script, "sh", message);
  }

  head(): Promise<string> {
    return this.git("rev-parse", "HEAD");
  }

  /** Replaces the history of `branch` by one unrelated commit, as a force-push does. */
  async replaceHistory(files: Record<string, FileChange>, branch = "main"): Promise<string> {
    await this.git("checkout", "--quiet", "--orphan", "unrelated");
    await this.git("rm", "-r", "--quiet", "--force", ".");
    const sha = await this.commit(files, "Unrelated history");
    await this.git("branch", "--force", branch, "unrelated");
    await this.git("checkout", "--quiet", branch);
    return sha;
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }

  async #run(program: string, ...args: string[]): Promise<string> {
    const { stdout } = await execute(program, args, { cwd: this.path, env: environment });
    return stdout.trim();
  }

  async #change(path: string, change: FileChange): Promise<void> {
    await rm(path, { recursive: true, force: true });
    if (change === null) return;
    await mkdir(dirname(path), { recursive: true });
    if (typeof change === "string" || Buffer.isBuffer(change)) await writeFile(path, change);
    else await symlink(change.link, path);
  }
}
