import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Tests that need neither the built program nor a server. */
const unit = ["test/unit/**/*.test.ts", "test/conformance/**/!(sink).test.ts", "test/architecture.test.ts"];
/** Those of them that replace modules: each needs modules of its own. The others share theirs, as loading them takes longer than most tests. */
const mocked = ["test/unit/**/*.mocked.test.ts"];

/** Whether a file is one of those that take up to two minutes. */
function isLong({ moduleId }: TestSpecification): boolean {
  return /\/test\/(e2e|faults|fuzz)\//.test(moduleId);
}

/** Runs the long tests first: at the end, one of them would keep one worker busy and leave the others idle. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    pool: "forks",
    // Tests wait for their servers for about a fifth of their time.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", ["json", { outputFile: ".cache/test-report.json" }]],
    projects: [
      { extends: true, test: { name: "unit", include: unit, exclude: mocked, isolate: false } },
      { extends: true, test: { name: "mocked", include: mocked } },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: unit,
          globalSetup: ["test/support/build.ts", "test/support/kafka/shared-broker.ts"],
        },
      },
    ],
  },
});
