import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

/** How many of the last lines are kept of what a program prints. */
const linesKept = 200;
/** A program that was asked to end gets this long before it is made to. */
const graceMs = 15_000;
const toolMs = 60_000;
/** How long a program may take until it answers, and the time between two looks. */
const startMs = 60_000;
const lookMs = 50;

/** For programs whose life is mostly their start: compilation for the long run never pays. */
const frugal = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"];

/** A class with `main`, its arguments, and where it is found. */
export interface Program {
  classPath: string;
  main: string;
  args: string[];
  heapMegabytes: number;
  /** Further flags of Java. */
  flags?: readonly string[];
}

/** Throws what to install where `java` is missing, or older than what needs it. */
export async function requireJava(oldest: number, what: string): Promise<void> {
  const missing = (cause: unknown): never => {
    throw new Error(`\`java\` does not run; install Java ${oldest} or newer`, { cause });
  };
  const { stderr } = await promisify(execFile)("java", ["-version"]).catch(missing);
  const version = Number(/version "(\d+)/.exec(stderr)?.[1]);
  if (!(version >= oldest)) {
    const [said = ""] = stderr.split("\n", 1);
    throw new Error(`${what} runs on Java ${oldest} or newer, and \`java -version\` says ${said}`);
  }
}

/** The words of the command that runs a program. */
export function commandLine({ classPath, main, args, heapMegabytes, flags = [] }: Program): string[] {
  return ["java", `-Xmx${heapMegabytes}m`, ...frugal, ...flags, "-cp", classPath, main, ...args];
}

/** Runs a tool to its end, with `input` on its standard input. @throws what it printed, if it failed. */
export async function runTool(program: Program, input = ""): Promise<void> {
  const [command = "", ...args] = commandLine(program);
  await new Promise<void>((resolve, reject) => {
    const child = execFile(command, args, { timeout: toolMs }, (error, stdout, stderr) => {
      // The console producer reports a lost record on its standard error, and ends with 0 all the same.
      if (error === null && !/\bERROR\b/.test(stderr)) resolve();
      else reject(new Error(`${program.main} failed: ${stdout}${stderr}`, { cause: error }));
    });
    // A tool that ends early is told by its exit.
    child.stdin?.on("error", () => undefined).end(input);
  });
}

/**
 * Runs a program in the place of the shell, and beside it a watch that reads from the parent: when that ends without a
 * line, the parent is gone, however it went, and the program is killed and its folder removed.
 */
const underWatch = `
  { read -r _ <&3 || { kill -KILL $$; sleep 1; rm -rf "$FOLDER"; }; } >/dev/null 2>&1 &
  exec "$@" 3<&-`;

/** A Java program that runs until it is ended, and no longer than this process. */
export class JavaProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #ended: Promise<unknown>;
  /** It has started, and nobody has ended it. */
  #isNeeded = false;

  /** @param folder removed if this process dies first. */
  constructor(program: Program, folder: string) {
    this.#child = spawn("sh", ["-c", underWatch, "sh", ...commandLine(program)], {
      cwd: folder,
      env: { ...process.env, FOLDER: folder },
      // The last one is for the watch: unlike the standard input, it stays open when the program ends.
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      // In a session of their own: a signal to the group of this process must not end the watch before its time.
      detached: true,
    });
    this.pid = this.#child.pid!;
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) this.#keep(stream);
    const watch = this.#child.stdio[3] as Writable;
    this.#ended = once(this.#child, "exit").then(() => watch.on("error", () => undefined).end("\n"));
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The last lines that it printed. */
  get said(): string {
    return this.#lines.join("\n");
  }

  /** Resolves when `answers` says that it is there. Throws what it printed, if it ends first or does not answer in time. */
  async started(name: string, answers: () => Promise<boolean>): Promise<void> {
    const until = Date.now() + startMs;
    while (!(await answers())) {
      if (!this.isRunning) throw new Error(`${name} ended while it started: ${this.said}`);
      if (Date.now() > until) throw new Error(`${name} did not answer for ${startMs} ms: ${this.said}`);
      await sleep(lookMs);
    }
    this.#isNeeded = true;
    // Whoever uses it would see connections that are refused, and no reason.
    void this.#ended.then(
      () => this.#isNeeded && console.error(`${name} ended by itself (${this.#how}): ${this.said}`),
    );
  }

  /** Lets it stand still. */
  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  /** Lets it go on. */
  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  /** Sends a signal; resolves when it has ended. Safe to call twice. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.#isNeeded = false;
    if (this.isRunning) this.#child.kill(signal);
    const force = setTimeout(() => this.#child.kill("SIGKILL"), graceMs);
    await this.#ended;
    clearTimeout(force);
  }

  get #how(): string {
    return this.#child.signalCode ?? `exit code ${this.#child.exitCode}`;
  }

  #keep(stream: NodeJS.ReadableStream): void {
    createInterface({ input: stream }).on("line", (line) => {
      this.#lines.push(line);
      this.#lines.splice(0, this.#lines.length - linesKept);
    });
  }
}
