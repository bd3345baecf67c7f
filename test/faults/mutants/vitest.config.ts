import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { filesVariable } from "./environment.ts";

const files = process.env[filesVariable]?.split(" ") ?? [];

function turnOf({ moduleId }: TestSpecification): number {
  return files.findIndex((file) => moduleId.endsWith(`/${file}`));
}

/** The first file is the one that finds a mutant soonest, if it does. */
class AsListed extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    return specifications.toSorted((a, b) => turnOf(a) - turnOf(b));
  }
}

export default defineConfig({
  test: {
    include: files,
    setupFiles: ["test/faults/mutants/reach.ts"],
    sequence: { sequencer: AsListed },
    experimental: { fsModuleCache: true, fsModuleCachePath: ".cache/modules" },
    // Every test runs, whatever its tags.
    strictTags: false,
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 60_000,
    reporters: [["json", { outputFile: ".cache/test-report.json" }]],
  },
});
