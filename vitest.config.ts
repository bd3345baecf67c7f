import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isEveryCase } from "./test/support/cases.ts";
import { memoryFolder } from "./test/support/memory-folder.ts";

/** Tests that need neither the built program nor a server. */
const unit = ["test/unit/**/*.test.ts", "test/conformance/**/!(sink).test.ts", "test/architecture.test.ts"];
/** Those of them that replace modules: each needs modules of its own. The others share theirs, as loading them takes longer than most tests. */
const mocked = ["test/unit/**/*.mocked.test.ts"];
/** Those that take up to two minutes: each has a process of its own, which what it leaves behind ends with. */
const long = ["test/{e2e,faults,fuzz,security}/**/*.test.ts"];
/** Tests of the Kafka that the other tests start, and of no part of Sluice. */
const ofTestKafka = isEveryCase ? [] : ["test/integration/test-kafka/**"];

/** Their files are on no disk, but for the long tests: these fill disks, and kill what writes to them. */
const env = { TMPDIR: memoryFolder() };

const globalSetup = ["test/support/build.ts", "test/support/kafka/shared-broker.ts"];

/** When a file runs: first the long ones, then the others, by the modules that they share. */
function turnOf({ project }: TestSpecification): number {
  return ["long", "whole"].indexOf(project.name) + 1 || 3;
}

/** Runs the long tests first: at the end, one of them would keep one worker busy and leave the others idle. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => turnOf(a) - turnOf(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    // Each project transforms what it loads. They find there what another one, or an earlier run, has transformed.
    experimental: { fsModuleCache: true, fsModuleCachePath: ".cache/modules" },
    pool: "forks",
    // Tests wait for their servers for about a third of their time.
    maxWorkers: 2 * availableParallelism(),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", ["json", { outputFile: ".cache/test-report.json" }]],
    projects: [
      { extends: true, test: { name: "unit", include: unit, exclude: mocked, isolate: false, env } },
      { extends: true, test: { name: "mocked", include: mocked, env } },
      { extends: true, test: { name: "long", include: long, globalSetup } },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: [...unit, ...long, ...ofTestKafka],
          isolate: false,
          env,
          globalSetup,
        },
      },
    ],
  },
});
