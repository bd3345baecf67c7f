import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { DefaultReporter, type TestCase, type TestModule, type TestSpecification } from "vitest/node";

/** What one of the commands runs, as its reporter tells it. */
export interface Run {
  /** As a person types it. */
  command: string;
  /** The processor time that it was seen to take, in seconds: an estimate where no run has ended yet. */
  processorSeconds: number;
  /** Whether a test is left to another command, by its tags. */
  leavesOut(tags: readonly string[]): boolean;
}

/** Programs that the machine may lack, and whose tests are skipped without them. */
const programs: Record<string, string> = {
  java: "tests with a Kafka broker",
  mvn: "tests with a Kafka broker",
  openssl: "tests with a Kafka broker",
  ssh: "Git over ssh",
  zsh: "completion in zsh",
  fish: "completion in fish",
};

const progressEveryMs = 10_000;
/** Where the last whole runs are kept, by command: `.ci/run` adds up their counts. */
const lastRunsPath = ".cache/test-runs.json";

interface LastRun {
  milliseconds: number;
  passed: number;
  failed: number;
  skipped: number;
}

/** Says what will be started and how long it takes, how far it is, what failed, what was skipped and why, and the counts. */
export class RunReporter extends DefaultReporter {
  readonly #run: Run;
  readonly #began = performance.now();
  readonly #running = new Set<string>();
  #files = 0;
  #ended = 0;
  /** Whether nobody picked some of the files. */
  readonly #isWhole = process.argv.slice(2).every((argument) => argument === "run");
  #progress: NodeJS.Timeout | undefined;

  constructor(run: Run) {
    super();
    this.#run = run;
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    this.log(`${this.#run.command}: ${this.#files} files of tests, ${2 * availableParallelism()} at a time.`);
    this.log("It builds Sluice, and starts and ends by itself, on free ports of 127.0.0.1 and in temporary folders:");
    this.log("ClickHouse (chDB), Kafka (Java; the first run fetches it), Git servers, and Sluice.");
    this.log(this.#expectedDuration());
    for (const [program, tests] of Object.entries(programs)) {
      if (!isOnPath(program)) this.log(`Not installed here: ${program}. Skipped without it: ${tests}.`);
    }
    if (!this.isTTY) this.#progress = setInterval(() => this.#printProgress(), progressEveryMs).unref();
    super.onTestRunStart(specifications);
  }

  override onTestModuleCollected(module: TestModule): void {
    this.#running.add(module.relativeModuleId);
    super.onTestModuleCollected(module);
  }

  override onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.relativeModuleId);
    this.#ended += 1;
    super.onTestModuleEnd(module);
  }

  /** Only those that failed: the others are hundreds of lines. */
  override printTestModule(module: TestModule): void {
    if (module.state() === "failed") super.printTestModule(module);
  }

  override reportTestSummary(): void {
    clearInterval(this.#progress);
    const modules = this.ctx.state.getTestModules();
    const tests = modules
      .flatMap((module) => [...module.children.allTests()])
      .filter(({ tags }) => !this.#run.leavesOut(tags));
    const inState = (state: string): TestCase[] => tests.filter((test) => test.result().state === state);
    const skipped = inState("skipped");
    for (const [reason, names] of byReason(skipped)) this.log(`Skipped (${names.length}): ${reason}`);
    const milliseconds = Math.round(performance.now() - this.#began);
    const counts = {
      passed: inState("passed").length,
      failed: inState("failed").length + modules.filter(isBroken).length,
      skipped: skipped.length,
    };
    if (this.#isWhole) keep(this.#run.command, { milliseconds, ...counts });
    this.log(`${this.#run.command} took ${durationText(milliseconds)}.`);
    this.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }

  #expectedDuration(): string {
    const last = lastRuns()[this.#run.command];
    if (last !== undefined) return `The last whole run here took ${durationText(last.milliseconds)}.`;
    const cores = availableParallelism();
    const expected = durationText((this.#run.processorSeconds / cores) * 1_000);
    return `It takes about ${expected} on ${cores} fast cores, and up to three times as long on slow ones.`;
  }

  #printProgress(): void {
    const since = durationText(performance.now() - this.#began);
    const [first = "the build", ...others] = this.#running;
    const now = others.length === 0 ? first : `${first} and ${others.length} more`;
    this.log(`${since}: ${this.#ended} of ${this.#files} files, now ${now}`);
  }
}

/** Whether it could not be loaded, or a hook of the file failed: it has no test that failed, and is a failure all the same. */
function isBroken(module: TestModule): boolean {
  return (
    module.state() === "failed" && ![...module.children.allTests()].some((test) => test.result().state === "failed")
  );
}

/** Names of skipped tests, by the reason of the skip. */
function byReason(skipped: readonly TestCase[]): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const test of skipped) {
    const { note } = test.result() as { note?: string };
    const reason = note ?? `${test.module.relativeModuleId}: ${test.fullName}`;
    names.set(reason, [...(names.get(reason) ?? []), test.fullName]);
  }
  return names;
}

function isOnPath(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function lastRuns(): Record<string, LastRun> {
  try {
    return JSON.parse(readFileSync(lastRunsPath, "utf8")) as Record<string, LastRun>;
  } catch {
    return {};
  }
}

function keep(command: string, run: LastRun): void {
  mkdirSync(dirname(lastRunsPath), { recursive: true });
  writeFileSync(lastRunsPath, JSON.stringify({ ...lastRuns(), [command]: run }));
}

function durationText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
