import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryFolder } from "../../support/memory-folder.ts";
import { filesVariable, reachVariable, switchVariable, type Reach } from "./environment.ts";

/** Started directly: `npx` takes half a second for each mutant. */
const vitest = fileURLToPath(new URL("../../../node_modules/.bin/vitest", import.meta.url));

/** A test file without a mutant. */
export interface TestFile {
  path: string;
  /** The numbers of the mutants that it comes to. */
  reached: ReadonlySet<number>;
  seconds: number;
}

/** A copy of the tree with mutants, and the tests in it. */
export class TestRuns {
  readonly #copy: string;
  readonly #temporary = memoryFolder();

  constructor(copy: string) {
    this.#copy = copy;
  }

  /**
   * Runs test files without a mutant, each with modules of its own, so that it comes also to what runs as they load.
   * Throws where one fails.
   */
  async withoutMutant(paths: readonly string[]): Promise<TestFile[]> {
    const reachFile = join(this.#copy, ".cache", "reach.jsonl");
    await rm(reachFile, { force: true });
    const isPassed = await this.#run(paths, [], { [reachVariable]: reachFile });
    const { testResults } = JSON.parse(await readFile(join(this.#copy, ".cache/test-report.json"), "utf8")) as Report;
    const failed = testResults.filter(({ status }) => status !== "passed").map(({ name }) => name);
    if (!isPassed) throw new Error(`tests fail without a mutant: ${failed.join(", ")}`);
    const reaches = (await readFile(reachFile, "utf8")).trimEnd().split("\n");
    const reached = new Map(
      reaches.map((line) => JSON.parse(line) as Reach).map(({ file, mutants }) => [file, mutants]),
    );
    return testResults.map(({ name, startTime, endTime }) => ({
      path: name.slice(this.#copy.length + 1),
      reached: new Set(reached.get(name)),
      seconds: (endTime - startTime) / 1000,
    }));
  }

  /** Whether a test fails with a mutant, or does not end. The fastest run first. */
  async fails(mutant: number, tests: readonly TestFile[]): Promise<boolean> {
    const usual = tests.reduce((sum, { seconds }) => sum + seconds, 0);
    const paths = tests.toSorted((a, b) => a.seconds - b.seconds).map(({ path }) => path);
    const slowest = Math.max(...tests.map(({ seconds }) => seconds));
    const args = [
      "--bail=1",
      "--isolate=false",
      `--testTimeout=${Math.round(1000 * (testSeconds + slowerAtMost * slowest))}`,
    ];
    const env = { [switchVariable]: String(mutant) };
    return !(await this.#run(paths, args, env, startSeconds + slowerAtMost * usual));
  }

  /** Whether all pass within the time. */
  async #run(
    paths: readonly string[],
    args: readonly string[],
    variables: Readonly<Record<string, string>>,
    seconds?: number,
  ): Promise<boolean> {
    const folder = await mkdtemp(join(this.#temporary, "run-"));
    const env = { ...process.env, ...variables, TMPDIR: folder, [filesVariable]: paths.join(" ") };
    // A group of its own, which ends as a whole: a test that hangs has processes that hang.
    const options = { cwd: this.#copy, stdio: "ignore", env, detached: true } as const;
    const child = spawn(vitest, ["run", "--config", "test/faults/mutants/vitest.config.ts", ...args], options);
    const end = (): boolean => process.kill(-child.pid!, "SIGKILL");
    const timer = seconds === undefined ? undefined : setTimeout(end, 1000 * seconds);
    const code = await new Promise((resolve) => child.once("exit", resolve));
    clearTimeout(timer);
    await rm(folder, { recursive: true, force: true });
    return code === 0;
  }
}

/** How long a run and each test may take beyond the usual, and how much slower they may be. */
const startSeconds = 20;
const testSeconds = 5;
const slowerAtMost = 4;

/** What is read of the report of vitest; times are in milliseconds. */
interface Report {
  testResults: { name: string; status: string; startTime: number; endTime: number }[];
}
