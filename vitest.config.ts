import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: "100%",
    globalSetup: ["test/support/build.ts", "test/support/kafka/shared-broker.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    include: ["test/**/*.test.ts"],
    reporters: ["default", ["json", { outputFile: ".cache/test-report.json" }]],
  },
});
