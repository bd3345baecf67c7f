import { dirname, resolve } from "node:path";
import { simpleGit, type SimpleGit } from "simple-git";
import { type Answer, connectionTrouble, lastAnswer, reasonOf, wayOut, withoutTrace } from "./failure.ts";
import type { Credentials, Granted } from "./credentials.ts";
import { type Environment, type GitTimeouts, localEnvironment, remoteEnvironment } from "./environment.ts";
import type { Remote } from "./remote.ts";
import { SourceError } from "./revision.ts";

/** A failure of git with the answer of the server, for a command that may be tried at another URL. */
class Refusal extends SourceError {
  readonly answer: Answer | undefined;

  constructor(reason: SourceError["reason"], message: string, answer: Answer | undefined) {
    super(reason, message, { retryAfter: answer?.retryAfter });
    this.answer = answer;
  }
}

/**
 * The most bytes that git may print, which are kept in memory: the list of a tree, the contents of all files that are
 * read, and what a command tells that connects to a remote. Few bytes of a pack can describe a tree of any size, and a
 * server sends as many lines about its progress as it wants.
 */
const mostBytes = { text: 64 << 20, contents: 192 << 20, exchange: 16 << 20 };

/** Git printed more than that. */
class OutputTooLarge extends Error {}

interface Run<Result> {
  folder: string;
  /** The most bytes that it may print. */
  most: number;
  args: readonly string[];
  environment: Record<string, string>;
  redact: (text: string) => string;
  input?: string;
  command: (git: SimpleGit) => PromiseLike<Result>;
}

/**
 * Runs the system's `git` in a folder, for one remote. It prompts for nothing, speaks no protocol but file, git, http,
 * https and ssh, and always ends: with its output, or with a SourceError that holds no credential.
 */
export class Git {
  readonly #remote: Remote;
  readonly #credentials: Credentials;
  readonly #environment: Environment;
  readonly #timeouts: GitTimeouts;
  /** Differs from that of the remote after its server redirected to another of its paths. */
  #url: string;

  constructor(remote: Remote, credentials: Credentials, environment: Environment, timeouts: GitTimeouts) {
    this.#remote = remote;
    this.#credentials = credentials;
    this.#environment = environment;
    this.#timeouts = timeouts;
    this.#url = remote.url;
  }

  /** Output of `git <args>` in `folder`, without a remote. */
  text(folder: string, args: string[], signal: AbortSignal): Promise<string> {
    const environment = localEnvironment(this.#environment);
    const { redact } = this.#remote;
    const most = mostBytes.text;
    return this.#run({ folder, args, environment, redact, most, command: (git) => git.raw(args) }, signal);
  }

  /** Output of `git cat-file --batch` in `folder`, for these objects. */
  contents(folder: string, objects: readonly string[], signal: AbortSignal): Promise<Buffer> {
    const environment = localEnvironment(this.#environment);
    const input = objects.map((object) => `${object}\n`).join("");
    const { redact } = this.#remote;
    const most = mostBytes.contents;
    return this.#run({ folder, args: ["cat-file"], environment, redact, most, input, command: catFile }, signal);
  }

  /** Output of a git command that connects to the remote: `args` receives its URL. */
  async exchange(folder: string, args: (url: string) => string[], signal: AbortSignal): Promise<string> {
    const granted = await this.#credentials.resolve();
    try {
      return await this.#ask(folder, args(this.#url), granted, signal);
    } catch (error) {
      const moved = error instanceof Refusal ? movedTo(error.answer, this.#url) : undefined;
      if (moved === undefined) throw error;
      this.#url = moved;
      return this.#ask(folder, args(moved), granted, signal);
    }
  }

  #ask(folder: string, args: string[], granted: Granted, signal: AbortSignal): Promise<string> {
    const environment = remoteEnvironment(this.#environment, this.#remote, granted, this.#timeouts);
    const secrets = granted.secrets.filter((secret) => secret.length > 2);
    const redact = (text: string) =>
      this.#remote.redact(secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text));
    const most = mostBytes.exchange;
    return this.#run({ folder, args, environment, redact, most, command: (git) => git.raw(args) }, signal);
  }

  async #run<Result>(run: Run<Result>, signal: AbortSignal): Promise<Result> {
    const { folder, input, most, command } = run;
    // Git must not use a repository in a parent folder instead of a damaged one.
    const environment = { ...run.environment, GIT_CEILING_DIRECTORIES: dirname(resolve(folder)) };
    const options = (abort: AbortSignal) => ({
      baseDir: folder,
      abort,
      timeout: { block: this.#timeouts.silence },
      // A grandchild may hold the pipes open after git has ended; slow machines need time to read the rest.
      completion: { onClose: true, onExit: 5_000 },
      allowEnvironment: Object.keys(environment),
      unsafe: allowed,
      errors: (error: Buffer | Error | undefined, result: { exitCode: number; stdErr: Buffer[] }) =>
        error ?? (result.exitCode === 0 ? undefined : Buffer.concat(result.stdErr)),
      ...(input === undefined ? {} : { input: () => input }),
    });
    try {
      return await bounded(signal, this.#timeouts.total, (abort, end) => {
        const git = simpleGit(options(abort)).env(environment);
        let bytes = 0;
        const count = (chunk: Buffer): void => {
          bytes += chunk.length;
          if (bytes > most) end(new OutputTooLarge());
        };
        const counted = git.outputHandler((_command, stdout, stderr) => {
          stdout.on("data", count);
          stderr.on("data", count);
        });
        return command(counted);
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OutputTooLarge) throw this.#tooLarge(run);
      throw this.#failure(run, error);
    }
  }

  #tooLarge({ args, most }: Run<unknown>): SourceError {
    const what = `git ${args[0] ?? ""} of ${this.#remote.display} printed more than ${most >> 20} MiB, and was ended`;
    return new SourceError("TooLarge", `${what}: expected a repository of files, see what its last commits added`);
  }

  #failure({ args, redact }: Run<unknown>, error: unknown): SourceError {
    const output = error instanceof Error ? error.message : String(error);
    const answer = lastAnswer(output, Date.now());
    const said = redact(essence(withoutTrace(output)));
    const reason = reasonOf(`${said}\n${connectionTrouble(output)}`, answer);
    if (reason === "GitNotInstalled") {
      return new SourceError(reason, "expected the program git on the PATH, found none: install Git");
    }
    const what =
      reason === "Timeout"
        ? `no end after ${this.#timeouts.silence / 1000} s of silence or ${this.#timeouts.total / 1000} s in all`
        : said || "git said nothing about why";
    const way = wayOut(reason, { ...answer, ...(answer?.location && { location: shown(answer.location, redact) }) });
    // The cause is left out on purpose: it quotes the command's output as it was.
    return new Refusal(reason, `git ${args[0] ?? ""} of ${this.#remote.display} failed: ${what}${way}`, answer);
  }
}

async function catFile(git: SimpleGit): Promise<Buffer> {
  return (await git.binaryCatFile(["--batch"])) as Buffer;
}

/** All of these are our own; none comes from a repository. */
const allowed = {
  allowUnsafeSshCommand: true,
  allowUnsafeAskPass: true,
  allowUnsafeConfigEnvCount: true,
  allowUnsafeConfigPaths: true,
  allowUnsafeFsMonitor: true,
  allowUnsafeGitProxy: true,
  allowUnsafeHooksPath: true,
  allowUnsafeTemplateDir: true,
};

/** Another path of the same server, which may have our credentials as well; undefined for anywhere else. */
function movedTo(answer: Answer | undefined, url: string): string | undefined {
  const { status = 0, location = "" } = answer ?? {};
  if (status < 300 || status >= 400 || !URL.canParse(location, url)) return undefined;
  const target = new URL(location, url);
  const path = /^(.+)\/info\/refs$/.exec(target.pathname)?.[1];
  const isSame = target.origin === new URL(url).origin && target.username === "" && target.password === "";
  return isSame && path !== undefined && `${target.origin}${path}` !== url ? `${target.origin}${path}` : undefined;
}

/** The target of a redirect, for people. */
function shown(location: string, redact: (text: string) => string): string {
  const text = redact(location).replace(/\/info\/refs(\?.*)?$/, "");
  return text.replaceAll(/\p{Cc}/gu, "?").slice(0, 200);
}

/**
 * Aborts `work` after so many milliseconds, with `signal`, or with an error that it gives itself; it then rejects at once, because git may need a moment to
 * end. Removes its listener from `signal`, which lives as long as the process.
 */
async function bounded<Result>(
  signal: AbortSignal,
  milliseconds: number,
  work: (abort: AbortSignal, end: (error: Error) => void) => PromiseLike<Result>,
): Promise<Result> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(outOfTime)), milliseconds);
  const onAbort = (): void => limit.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const aborted = new Promise<never>((_resolve, reject) => {
    limit.signal.addEventListener("abort", () => reject(limit.signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([work(limit.signal, (error) => limit.abort(error)), aborted]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

const outOfTime = "out of time";

/** The error lines, without progress, as one line. */
function essence(output: string): string {
  const lines = output
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !idle.test(line));
  return lines.slice(-4).join("; ").slice(0, 600);
}

const idle =
  /^((remote: )?(Counting|Compressing|Enumerating|Receiving|Resolving|Total)\b|Please make sure you have the correct access|and the repository exists)/;
