import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "../../engine/language.ts";
import {
  type Answer,
  changedHostKey,
  connectionTrouble,
  foreignAnswer,
  isWaiting,
  lastAnswer,
  reasonOf,
  wayOut,
  withoutTrace,
} from "./failure.ts";
import type { Credentials, Granted } from "./credentials.ts";
import {
  cloneEnvironment,
  type Environment,
  type GitSetting,
  type GitTimeouts,
  readSettings,
  remoteEnvironment,
  settingsEnvironment,
  uploadPackOptions,
  workTreeEnvironment,
} from "./environment.ts";
import { GitProcess, OutputTooLarge, outOfTime, runLocally } from "./git-process.ts";
import { bytesOf, objectFiles, type ObjectFiles, removeNewer } from "./object-files.ts";
import { redactor, type Remote } from "./remote.ts";
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

/** A fetch wrote more than `--git-max-size`. */
class FetchTooLarge extends Error {
  readonly bytes: number;

  constructor(bytes: number) {
    super("too large");
    this.bytes = bytes;
  }
}

/** Another address of the server, and its text for people. */
interface Redirect {
  url: string;
  shown: string;
}

/** Redirects that one exchange follows, and the characters of an address that it follows. */
const [mostRedirects, longestAddress] = [5, 2_000];

/** Milliseconds between two looks at what a fetch has written. */
const lookEvery = 100;

interface Run {
  folder: string;
  /** The most bytes that it may print. */
  most: number;
  args: readonly string[];
  environment: Record<string, string>;
  /** Whether it connects to the remote. */
  isRemote: boolean;
  redact: (text: string) => string;
  input?: string;
  /** For a fetch: the files of the object store before it. */
  before?: ObjectFiles;
}

/** The arguments of a command that connects to `url`, with these options of `ls-remote` and `fetch`. */
export type RemoteArguments = (url: string, options: readonly string[]) => string[];

export interface GitOptions {
  timeouts: GitTimeouts;
  /** The most bytes that one fetch may write, and that a folder may hold before one. */
  maxSize: number;
  /** Its folders are work trees of the person who runs it; else bare repositories of our own. */
  isWorkTree?: boolean;
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
  readonly #isWorkTree: boolean;
  /** As `GitOptions` says. */
  readonly maxSize: number;
  /** Where the server of the remote redirected since `beginPoll`. */
  #redirect: Redirect | undefined;
  /** Of the person who runs Sluice, read once since `beginPoll`. */
  #settings: readonly GitSetting[] | undefined;

  constructor(
    remote: Remote,
    credentials: Credentials,
    environment: Environment,
    { timeouts, maxSize, isWorkTree = false }: GitOptions,
  ) {
    this.#remote = remote;
    this.#credentials = credentials;
    this.#environment = environment;
    this.#timeouts = timeouts;
    this.maxSize = maxSize;
    this.#isWorkTree = isWorkTree;
  }

  /** The next exchange asks the configured address: a redirect holds for one poll, since any answer of a network may be wrong. */
  beginPoll(): void {
    this.#redirect = undefined;
    this.#settings = undefined;
  }

  /** Where the server redirected since `beginPoll`, for people; undefined where it did not. */
  get redirected(): string | undefined {
    return this.#redirect?.shown;
  }

  /** Output of `git <args>` in `folder`, without a remote. */
  async text(folder: string, args: string[], signal: AbortSignal): Promise<string> {
    return (await this.#locally({ folder, args, most: mostBytes.text }, signal)).toString("utf8");
  }

  /** Output of `git cat-file --batch` in `folder`, for these objects. */
  contents(folder: string, objects: readonly string[], signal: AbortSignal): Promise<Buffer> {
    const args = ["cat-file", "--batch"];
    return this.#locally({ folder, args, most: mostBytes.contents, input: asLines(objects) }, signal);
  }

  /** Output of `git cat-file --batch-check --follow-symlinks` in `folder`, for names such as `<commit>:<path>`. */
  async targets(folder: string, names: readonly string[], signal: AbortSignal): Promise<string> {
    const args = ["cat-file", "--batch-check", "--follow-symlinks"];
    const run = { folder, args, most: mostBytes.text, input: asLines(names) };
    return (await this.#locally(run, signal)).toString("utf8");
  }

  /** Changes references in `folder`, all of them or none: `changes` are the commands of `git update-ref --stdin`. */
  async updateReferences(folder: string, changes: readonly string[], signal: AbortSignal): Promise<void> {
    // Without input git would wait for some.
    if (changes.length === 0) return;
    const args = ["update-ref", "--stdin"];
    await this.#locally({ folder, args, most: mostBytes.text, input: asLines(changes) }, signal);
  }

  /** Output of a git command that connects to nothing. */
  #locally(run: Pick<Run, "folder" | "args" | "most" | "input">, signal: AbortSignal): Promise<Buffer> {
    const make = this.#isWorkTree ? workTreeEnvironment : cloneEnvironment;
    const environment = make(this.#environment);
    return this.#run({ ...run, environment, isRemote: false, redact: this.#remote.redact }, signal);
  }

  /** Output of a git command that connects to the remote. */
  exchange(folder: string, args: RemoteArguments, signal: AbortSignal): Promise<string> {
    return this.#exchange(folder, args, undefined, signal);
  }

  /**
   * As `exchange`, for a fetch into the repository in `folder`: it is ended when it has written more than `maxSize`. What
   * a fetch wrote that failed is removed.
   */
  async fetch(folder: string, args: RemoteArguments, signal: AbortSignal): Promise<void> {
    const before = await objectFiles(folder);
    try {
      await this.#exchange(folder, args, before, signal);
    } catch (error) {
      await removeNewer(folder, before);
      throw error;
    }
  }

  async #exchange(
    folder: string,
    args: RemoteArguments,
    before: ObjectFiles | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const granted = await this.#credentials.resolve();
    this.#settings ??= await this.#personal(folder, signal);
    const options = this.#remote.isFolder === true ? uploadPackOptions(this.#settings) : [];
    for (let redirects = 0; ; redirects += 1) {
      const url = this.#redirect?.url ?? this.#remote.url;
      try {
        return await this.#ask(folder, args(url, options), granted, before, signal);
      } catch (error) {
        const moved = error instanceof Refusal && redirects < mostRedirects ? movedTo(error.answer, url) : undefined;
        if (moved === undefined) throw error;
        const hide = redactor(granted.secrets);
        this.#redirect = { url: moved, shown: this.#remote.redact(hide(moved)) };
      }
    }
  }

  async #personal(folder: string, signal: AbortSignal): Promise<GitSetting[]> {
    const environment = settingsEnvironment(this.#environment);
    const run = { folder, args: ["config", "--list", "-z"], most: mostBytes.text, environment, isRemote: false };
    return readSettings((await this.#run({ ...run, redact: this.#remote.redact }, signal)).toString("utf8"));
  }

  async #ask(
    folder: string,
    args: string[],
    granted: Granted,
    before: ObjectFiles | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const isClone = before !== undefined;
    const setting = {
      remote: this.#remote,
      granted,
      timeouts: this.#timeouts,
      settings: this.#settings ?? [],
      isClone,
    };
    const environment = remoteEnvironment(this.#environment, setting);
    const hide = redactor(granted.secrets);
    const redact = (text: string): string => this.#remote.redact(hide(text));
    const most = mostBytes.exchange;
    const run = { folder, args, environment, isRemote: true, redact, most, ...(before && { before }) };
    return (await this.#run(run, signal)).toString("utf8");
  }

  async #run(run: Run, signal: AbortSignal): Promise<Buffer> {
    signal.throwIfAborted();
    try {
      return await this.#execute(run, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OutputTooLarge) throw this.#tooLarge(run);
      if (error instanceof FetchTooLarge) throw this.#fetchTooLarge(error);
      throw this.#failure(run, error);
    }
  }

  /** What git printed. Throws what it said where it failed, and why it was ended. */
  async #execute(
    { folder, args, environment, isRemote, input, most, before }: Run,
    signal: AbortSignal,
  ): Promise<Buffer> {
    if (!existsSync(folder)) throw new Error(`not a git repository: ${folder} does not exist`);
    // Git must not use a repository in a parent folder instead of a damaged one.
    const env = { ...environment, GIT_CEILING_DIRECTORIES: dirname(resolve(folder)) };
    if (!isRemote) return runLocally({ folder, args, env, most, input: input ?? "", ...this.#timeouts }, signal);
    const child = new GitProcess(args, folder, env);
    const { silence, total } = this.#timeouts;
    const onAbort = (): void => child.end(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    const timer = setTimeout(() => child.end(new Error(outOfTime)), total);
    const done = new AbortController();
    if (before !== undefined) void this.#watch(child, folder, before, done.signal);
    try {
      const output = await child.run({ silence, most, input: input ?? "", refusal: foreignAnswer });
      if (before !== undefined) await this.#mustFit(folder, before);
      return output;
    } finally {
      done.abort();
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Ends a fetch that writes too much, until `done` aborts. */
  async #watch(child: GitProcess, folder: string, before: ObjectFiles, done: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await sleep(lookEvery, undefined, { signal: done });
        await this.#mustFit(folder, before);
      }
    } catch (error) {
      if (error instanceof FetchTooLarge) child.end(error);
    }
  }

  /** Throws FetchTooLarge where more has come than may. */
  async #mustFit(folder: string, before: ObjectFiles): Promise<void> {
    const now = await objectFiles(folder);
    const bytes = bytesOf(new Map([...now].filter(([path]) => !before.has(path))));
    if (bytes > this.maxSize) throw new FetchTooLarge(bytes);
  }

  #fetchTooLarge({ bytes }: FetchTooLarge): SourceError {
    const [found, most] = [bytes, this.maxSize].map((size) => `${Math.ceil(size / (1 << 20))} MiB`);
    const what = `${this.#remote.display}: a fetch brought ${found}, and was ended: expected at most ${most}`;
    return new SourceError(
      "TooLarge",
      `${what}, the size of --git-max-size: follow a repository without large files, or raise --git-max-size`,
    );
  }

  #tooLarge({ args, most }: Run): SourceError {
    const what = `git ${commandOf(args)} of ${this.#remote.display} printed more than ${most >> 20} MiB, and was ended`;
    return new SourceError("TooLarge", `${what}: expected a repository of files, see what its last commits added`);
  }

  #failure({ args, redact }: Run, error: unknown): SourceError {
    const output = error instanceof Error ? error.message : String(error);
    const isLate = output.startsWith(outOfTime);
    const answer = isLate && isWaiting(output) ? undefined : lastAnswer(output, Date.now());
    // Before the text is cut: otherwise a part of a secret could remain at the cut.
    const said = essence(redact(withoutTrace(output)));
    const reason = reasonOf(`${said}\n${connectionTrouble(output)}`, answer);
    if (reason === "GitNotInstalled") {
      return new SourceError(reason, "expected the program git on the PATH, found none: install Git");
    }
    const changedKey = reason === "HostKeyRejected" ? changedHostKey(output) : undefined;
    const what =
      changedKey ?? (isLate || reason === "Timeout" ? this.#late(answer) : said || "git said nothing about why");
    const way = wayOut(reason, { ...answer, ...(answer?.location && { location: shown(answer.location, redact) }) });
    // The cause is left out on purpose: it quotes the command's output as it was.
    const place = this.redirected === undefined ? "" : `, redirected to ${this.redirected},`;
    return new Refusal(
      reason,
      `git ${commandOf(args)} of ${this.#remote.display}${place} failed: ${what}${way}`,
      answer,
    );
  }

  #late(answer: Answer | undefined): string {
    const times = `${this.#timeouts.silence / 1000} s of silence or ${this.#timeouts.total / 1000} s in all`;
    if (answer?.status !== 401) return `no end after ${times}`;
    return `the server asked for credentials, and no credential helper of Git's settings gave any within ${times}`;
  }
}

/** The command among the arguments of git, which may begin with settings. */
function commandOf(args: readonly string[]): string {
  const [first = "", , ...rest] = args;
  return first === "-c" ? commandOf(rest) : first;
}

function asLines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join("");
}

/** Another path of the same server, which may have our credentials as well; undefined for anywhere else. */
function movedTo(answer: Answer | undefined, url: string): string | undefined {
  const { status = 0, location = "" } = answer ?? {};
  if (status < 300 || status >= 400 || !URL.canParse(location, url)) return undefined;
  const target = new URL(location, url);
  const path = /^(.+)\/info\/refs$/.exec(target.pathname)?.[1];
  const isSame = target.origin === new URL(url).origin && target.username === "" && target.password === "";
  const address = `${target.origin}${path}`;
  return isSame && path !== undefined && address !== url && address.length <= longestAddress ? address : undefined;
}

/** The target of a redirect, for people: what it asks for may be a token. */
function shown(location: string, redact: (text: string) => string): string {
  return redact(location)
    .replace(/[?#].*$/s, "")
    .replaceAll(/\p{Cc}/gu, "?")
    .slice(0, 200);
}

/** The error lines, without progress, as one line. */
function essence(output: string): string {
  const lines = output
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !idle.test(line));
  return oneLine(lines.slice(-4).join("; ").slice(0, 600));
}

const idle =
  /^((remote: )?(Counting|Compressing|Enumerating|Receiving|Resolving|Total)\b|Please make sure you have the correct access|and the repository exists)/;
