import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isEveryCase } from "./test/support/cases.ts";
import { isLong, memoryFolder } from "./test/support/memory-folder.ts";
import { type Run, RunReporter } from "./test/support/run-reporter.ts";

/** Tests that need neither the built program nor a server. */
const unit = ["test/unit/**/*.test.ts", "test/conformance/**/!(sink).test.ts", "test/architecture.test.ts"];
/** Those that replace modules: each needs modules of its own. The others share theirs, as loading them takes longer than most tests. */
const mocked = ["test/unit/**/*.mocked.test.ts", "test/fuzz/world.test.ts"];

/** Tests of the Kafka that the other tests start, and of no part of Sluice. */
const ofTestKafka = isEveryCase ? [] : ["test/integration/test-kafka/**"];

/** Where the temporary files of tests are: `test/support/temporary-files.ts` takes one of them for each file. */
const [memory, disk] = [memoryFolder(), tmpdir()];
const env = { TMPDIR: memory, MEMORY_TMPDIR: memory, DISK_TMPDIR: disk };

const globalSetup = ["test/support/build.ts", "test/support/kafka/shared-broker.ts"];

/** `npm test` leaves out what has the tag `rest`, `npm run test:rest` runs only that, and `npx vitest run` runs everything. */
const tags = [
  { name: "rest", description: "much like another test: run by `npm run test:rest`, and not by `npm test`" },
];
const runs: Record<string, Run & { tagsFilter: string[] }> = {
  push: {
    command: "npm test",
    processorSeconds: 350,
    leavesOut: (its) => its.includes("rest"),
    tagsFilter: ["!rest"],
  },
  rest: {
    command: "npm run test:rest",
    processorSeconds: 430,
    leavesOut: (its) => !its.includes("rest"),
    tagsFilter: ["rest"],
  },
};
const tests = process.env["TESTS"] ?? "";
const run = runs[tests];

/** Run nightly: the answers of peers are always the same mutations in a run that is not, and each peer costs a process. */
const nightly = isEveryCase ? [] : ["test/fuzz/peers.test.ts"];

/** Test files that would be loaded for nothing, or run nightly. */
function idleFiles(): string[] {
  if (run === undefined) return [];
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".test.ts"));
  return files
    .map((path) => join("test", path))
    .filter((path) => {
      if (nightly.includes(path)) return true;
      const isWholeRest = readFileSync(path, "utf8").startsWith("/** @module-tag rest");
      return tests === "push" ? isWholeRest : !isWholeRest && !mayHoldRest(path);
    });
}

/** Whether a test of the file may have the tag: it stands there, or in a suite of the same folder that the file runs. */
function mayHoldRest(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path) || !existsSync(path)) return false;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  if (text.includes(`tags: ["rest"]`)) return true;
  const besides = [...text.matchAll(/ from "\.\/([\w-]+\.ts)"/g)].map(([, name = ""]) => join(dirname(path), name));
  return besides.some((beside) => mayHoldRest(beside, seen));
}

/**
 * When a file runs: first those with a process of their own, as another process is kept only where the next file can have
 * it; then the long ones, and then the others, by the modules that they share.
 */
function turnOf({ project, moduleId }: TestSpecification): number {
  if (project.name === "mocked") return 0;
  if (isLong(moduleId)) return 1;
  return project.name === "whole" ? 2 : 3;
}

/** Runs the long tests first: at the end, one of them would keep one worker busy and leave the others idle. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => turnOf(a) - turnOf(b));
  }
}

const idle = idleFiles();

/** A project of the run: the tests of some files. */
function projectOf(name: string, of: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration {
  const exclude = [...(of?.exclude ?? []), ...idle];
  return { extends: true, test: { ...of, name, exclude, tags, ...(run && { tagsFilter: run.tagsFilter }) } };
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    // Each project transforms what it loads. They find there what another one, or an earlier run, has transformed.
    experimental: { fsModuleCache: true, fsModuleCachePath: ".cache/modules" },
    pool: "forks",
    // Tests leave much garbage: with V8's own size of the young heap, collecting it takes a fifteenth of their time. And they
    // run little of their code often: V8 optimises functions later, which takes an eighth less time.
    execArgv: ["--max-semi-space-size=64", "--interrupt-budget=1000000"],
    // Tests wait for their servers for about a third of their time.
    maxWorkers: 2 * availableParallelism(),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    reporters:
      run === undefined ? ["default", ["json", { outputFile: ".cache/test-report.json" }]] : [new RunReporter(run)],
    projects: [
      ...(run === undefined ? [projectOf("unit", { include: unit, exclude: mocked, isolate: false, env })] : []),
      projectOf("mocked", { include: mocked, env }),
      projectOf("whole", {
        include: ["test/**/*.test.ts"],
        // Of a whole run it has the unit tests too: their processes have loaded most of the modules already.
        exclude: [...(run === undefined ? unit : []), ...mocked, ...ofTestKafka],
        isolate: false,
        env,
        setupFiles: ["test/support/temporary-files.ts"],
        globalSetup,
      }),
    ],
  },
});
