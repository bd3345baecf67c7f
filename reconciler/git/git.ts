import { simpleGit } from "simple-git";
import type { SimpleGit } from "simple-git";
import type { Remote } from "./remote.ts";
import { SourceError } from "./revision.ts";
import type { SourceReason } from "./revision.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** How long one Git command may take, in milliseconds. */
export interface GitTimeouts {
  /** Without a byte of output. */
  silence: number;
  /** All in all. */
  total: number;
}

export const defaultTimeouts: GitTimeouts = { silence: 60_000, total: 600_000 };

/**
 * Settings of the person who runs Sluice that Git may see. Every other `GIT_*` variable stays behind: one that is left
 * over from a hook or a script (GIT_DIR, GIT_INDEX_FILE, …) would send the commands to another repository.
 */
const kept = /^GIT_(SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|ASKPASS|PROXY_\w+|HTTP_\w+|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))$/;
const dropped = /^(GIT_.*|EDITOR|VISUAL|PAGER|PREFIX|LC_ALL|LANGUAGE)$/i;

/**
 * Runs the system's `git` in a folder, for one remote. It asks nobody anything, speaks no protocol but file, http,
 * https and ssh, and always comes back: with an answer, or with a SourceError that holds no credential.
 */
export class Git {
  readonly #remote: Remote;
  readonly #environment: Record<string, string>;
  readonly #timeouts: GitTimeouts;

  constructor(remote: Remote, environment: Environment, timeouts: GitTimeouts) {
    this.#remote = remote;
    this.#environment = environmentOf(remote, environment, timeouts);
    this.#timeouts = timeouts;
  }

  /** Output of `git <args>` in `folder`. */
  text(folder: string, args: string[], signal: AbortSignal): Promise<string> {
    return this.#run(folder, args, signal, undefined, (git) => git.raw(args));
  }

  /** Output of `git cat-file --batch` in `folder`, for these objects. */
  contents(folder: string, objects: readonly string[], signal: AbortSignal): Promise<Buffer> {
    const args = ["--batch"];
    const input = objects.map((object) => `${object}\n`).join("");
    return this.#run(
      folder,
      ["cat-file", ...args],
      signal,
      input,
      async (git) => (await git.binaryCatFile(args)) as Buffer,
    );
  }

  async #run<T>(
    folder: string,
    args: readonly string[],
    signal: AbortSignal,
    input: string | undefined,
    command: (git: SimpleGit) => PromiseLike<T>,
  ): Promise<T> {
    const options = (abort: AbortSignal) => ({
      baseDir: folder,
      abort,
      timeout: { block: this.#timeouts.silence },
      // A grandchild may hold the pipes open after git has ended; slow machines need time to read the rest.
      completion: { onClose: true, onExit: 5_000 },
      allowEnvironment: Object.keys(this.#environment),
      unsafe: allowed,
      errors: (error: Buffer | Error | undefined, result: { exitCode: number; stdErr: Buffer[] }) =>
        error ?? (result.exitCode === 0 ? undefined : Buffer.concat(result.stdErr)),
      ...(input === undefined ? {} : { input: () => input }),
    });
    try {
      return await bounded(signal, this.#timeouts.total, (abort) =>
        command(simpleGit(options(abort)).env(this.#environment)),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw this.#failure(args, error);
    }
  }

  #failure(args: readonly string[], error: unknown): SourceError {
    const output = error instanceof Error ? error.message : String(error);
    if (/spawn git E(NOENT|ACCES)/.test(output)) {
      return new SourceError("GitOperationFailed", "expected the program git on the PATH, found none: install Git");
    }
    const said = this.#remote.redact(essence(output));
    const timedOut = /out of time|block timeout reached|Operation too slow|timed out/i.test(said);
    const reason: SourceReason = timedOut ? "Timeout" : reasonOf(said);
    const what = timedOut
      ? `no end after ${this.#timeouts.silence / 1000} s of silence or ${this.#timeouts.total / 1000} s in all`
      : said || "git said nothing about why";
    // The cause is left out on purpose: it quotes the command's output as it was.
    return new SourceError(reason, `git ${args[0] ?? ""} of ${this.#remote.display} failed: ${what}${wayOut(reason)}`);
  }
}

/** Ours alone: none of these comes from a repository. */
const allowed = {
  allowUnsafeSshCommand: true,
  allowUnsafeAskPass: true,
  allowUnsafeConfigEnvCount: true,
  allowUnsafeConfigPaths: true,
  allowUnsafeGitProxy: true,
  allowUnsafeHooksPath: true,
};

function environmentOf(remote: Remote, from: Environment, timeouts: GitTimeouts): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && (kept.test(name) || !dropped.test(name))) environment[name] = value;
  }
  const ssh = environment["GIT_SSH_COMMAND"] ?? (environment["GIT_SSH"] === undefined ? "ssh" : undefined);
  return {
    ...environment,
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ALLOW_PROTOCOL: "file:http:https:ssh",
    ...(ssh !== undefined && /^(\S*\/)?ssh(\s|$)/.test(ssh)
      ? { GIT_SSH_COMMAND: `${ssh} -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15` }
      : {}),
    ...configuration(remote, timeouts),
  };
}

/**
 * Settings of our own, in the environment because a command line is there for everybody to read. Git's HTTP helper
 * outlives a git that is killed, so it has to give up by itself, and first.
 */
function configuration(remote: Remote, timeouts: GitTimeouts): Record<string, string> {
  const settings: [string, string][] = [
    ["http.lowSpeedLimit", "1"],
    ["http.lowSpeedTime", String(Math.max(1, Math.floor((timeouts.silence * 0.8) / 1000)))],
    ["gc.auto", "0"],
    ["maintenance.auto", "false"],
    ["core.hooksPath", "/dev/null"],
    ["fetch.unpackLimit", "1"],
  ];
  if (remote.authorization !== undefined) {
    settings.push([`http.${remote.url}.extraHeader`, `Authorization: ${remote.authorization}`]);
  }
  return Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(settings.length)],
    ...settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]) as Record<string, string>;
}

/**
 * Aborts `work` after so many milliseconds, or with `signal`; in that case it rejects at once, since git may need a
 * moment to end. Leaves nothing behind on `signal`, which lives as long as the process.
 */
async function bounded<Result>(
  signal: AbortSignal,
  milliseconds: number,
  work: (abort: AbortSignal) => PromiseLike<Result>,
): Promise<Result> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(outOfTime)), milliseconds);
  const onAbort = (): void => limit.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const aborted = new Promise<never>((_resolve, reject) => {
    limit.signal.addEventListener("abort", () => reject(limit.signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([work(limit.signal), aborted]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

const outOfTime = "out of time";

/** The lines that say why, without progress, on one line. */
function essence(output: string): string {
  const lines = output
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter(
      (line) => line !== "" && !/^(remote: )?(Counting|Compressing|Enumerating|Receiving|Resolving|Total)\b/.test(line),
    );
  return lines.slice(-4).join("; ").slice(0, 600);
}

function reasonOf(said: string): SourceReason {
  if (/couldn't find remote ref|Remote branch .* not found/.test(said)) return "BranchNotFound";
  const refused =
    /Authentication failed|could not read (Username|Password)|Permission denied|Host key verification failed|returned error: 40[13]/;
  return refused.test(said) ? "AuthenticationFailed" : "GitOperationFailed";
}

function wayOut(reason: SourceReason): string {
  if (reason !== "AuthenticationFailed") return "";
  return "; check the credentials: for https a user and token in the URL or a Git credential helper, for ssh a key that needs no passphrase and the host in known_hosts";
}
