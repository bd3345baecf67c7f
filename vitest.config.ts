import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Tests that need neither the built program nor a server. */
const unit = ["test/unit/**/*.test.ts", "test/conformance/**/!(sink).test.ts", "test/architecture.test.ts"];
/** Those of them that replace modules: each needs modules of its own. The others share theirs, as loading them takes longer than most tests. */
const mocked = ["test/unit/**/*.mocked.test.ts"];
/** The simulator, which replaces the modules of Node. */
const simulated = ["test/fuzz/world.test.ts"];

/** When a file runs: first those that take up to two minutes, then the others by their modules, which they share. */
function turnOf({ moduleId, project }: TestSpecification): number {
  if (/\/test\/(e2e|faults|fuzz)\//.test(moduleId)) return 0;
  return project.name === "whole" ? 1 : 2;
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
    pool: "forks",
    // Tests wait for their servers for about a fifth of their time.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", ["json", { outputFile: ".cache/test-report.json" }]],
    projects: [
      { extends: true, test: { name: "unit", include: unit, exclude: mocked, isolate: false } },
      { extends: true, test: { name: "mocked", include: mocked } },
      { extends: true, test: { name: "simulated", include: simulated } },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: [...unit, ...simulated],
          isolate: false,
          globalSetup: ["test/support/build.ts", "test/support/kafka/shared-broker.ts"],
        },
      },
    ],
  },
});
