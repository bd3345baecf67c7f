import { type ChildProcess, spawn } from "node:child_process";
import { simpleGit } from "simple-git";

/** Git printed more than it may. */
export class OutputTooLarge extends Error {}

/** How the message of a run begins that took too long. What it had said by then follows. */
export const outOfTime = "out of time";

/** Milliseconds: a grandchild may hold the pipes open after git has ended; slow machines need time to read the rest. */
const readAfterExit = 5_000;
/** Milliseconds that a group of processes may take to end. */
const endWithin = 1_000;

interface RemoteRun {
  /** Milliseconds without a byte. */
  silence: number;
  /** The most bytes that it may print. */
  most: number;
  input: string;
  /** Why what git said of a success with nothing printed is none; undefined where it is one. */
  refusal?: (said: string) => string | undefined;
}

/**
 * One run of git that connects to a remote, in a process group of its own: git does not end its helpers when it is ended,
 * and one of them may be what receives and writes without end. What connects to nothing is run by `runLocally`.
 */
export class GitProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;
  #reject!: (error: Error) => void;
  #why: Error | undefined;

  constructor(args: readonly string[], cwd: string, env: Record<string, string>) {
    this.#child = spawn("git", args, { cwd, env, detached: true, windowsHide: true });
    this.#ended = new Promise((_resolve, reject) => (this.#reject = reject));
    this.#ended.catch(() => undefined);
  }

  /** What it printed. Throws what it said where it failed, and the reason of `end`. */
  async run({ silence, most, input, refusal }: RemoteRun): Promise<Buffer> {
    const { stdout, stderr, stdin } = this.#child;
    const quiet = setTimeout(() => this.end(new Error(outOfTime)), silence);
    let bytes = 0;
    const printed = { out: [] as Buffer[], error: [] as Buffer[] };
    const take = (into: Buffer[]) => (chunk: Buffer) => {
      quiet.refresh();
      bytes += chunk.length;
      if (bytes > most) this.end(new OutputTooLarge());
      else into.push(chunk);
    };
    stdout?.on("data", take(printed.out));
    stderr?.on("data", take(printed.error));
    stdin?.on("error", () => undefined).end(input);
    const onExit = (): void => this.#kill();
    process.once("exit", onExit);
    try {
      const code = await Promise.race([this.#closed(), this.#ended]).catch(this.#unlessEnded);
      const said = Buffer.concat(printed.error).toString("utf8");
      if (this.#why?.message === outOfTime) throw new Error(`${outOfTime}\n${said}`);
      if (this.#why !== undefined) throw this.#why;
      const refused = code === 0 && printed.out.length === 0 ? refusal?.(said) : undefined;
      if (refused !== undefined) throw new Error(`${said}\n${refused}`);
      if (code === 0) return Buffer.concat(printed.out);
      throw new Error(said);
    } finally {
      process.off("exit", onExit);
      clearTimeout(quiet);
    }
  }

  /** Ends git with its helpers; `run` then throws `why`, when they have ended. */
  end(why: Error): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.#kill();
    setTimeout(() => this.#reject(why), endWithin).unref();
  }

  readonly #unlessEnded = (error: unknown): null => {
    if (error === this.#why) return null;
    throw error;
  };

  /** The exit code, once everything that it printed was read. */
  #closed(): Promise<number | null> {
    return new Promise((done, fail) => {
      this.#child.once("error", fail).once("close", done);
      this.#child.once("exit", (code) => {
        const late = setTimeout(() => (this.#kill(), done(code)), readAfterExit);
        this.#child.once("close", () => clearTimeout(late));
      });
    });
  }

  #kill(): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // All of them have ended.
    }
  }
}

interface LocalRun {
  folder: string;
  args: readonly string[];
  env: Record<string, string>;
  input: string;
  /** The most bytes that it may print. */
  most: number;
  /** As `GitTimeouts` says. */
  silence: number;
  total: number;
  afterExit?: number | false;
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

/** What a git command printed that connects to nothing. Throws what it said where it failed, and why it was ended. */
export async function runLocally(run: LocalRun, signal: AbortSignal): Promise<Buffer> {
  const { folder, args, env, input, most, silence, total, afterExit = readAfterExit } = run;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(outOfTime)), total);
  const onAbort = (): void => limit.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const ended = new Promise<never>((_resolve, reject) => {
    limit.signal.addEventListener("abort", () => reject(limit.signal.reason as Error), { once: true });
  });
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > most) limit.abort(new OutputTooLarge());
  };
  const git = simpleGit({
    baseDir: folder,
    abort: limit.signal,
    timeout: { block: silence },
    completion: { onClose: true, onExit: afterExit },
    allowEnvironment: Object.keys(env),
    unsafe: allowed,
    errors: (error, result) => error ?? (result.exitCode === 0 ? undefined : Buffer.concat(result.stdErr)),
    ...(input !== "" && { input: () => input }),
  })
    .env(env)
    .outputHandler((_command, stdout, stderr) => {
      stdout.on("data", count);
      stderr.on("data", count);
    });
  try {
    const [command, ...rest] = args;
    // Contents are bytes; everything else is text.
    const output = command === "cat-file" ? git.binaryCatFile(rest) : git.raw([...args]);
    return Buffer.from((await Promise.race([output as Promise<Buffer | string>, ended])) as Buffer);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
