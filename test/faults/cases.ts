import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The test files that leave cases out of `npm run test:all`, or are no part of it. */
function shortened(): string[] {
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".test.ts"));
  return files
    .map((path) => join("test", path))
    .filter((path) => path.includes("/test-kafka/") || readFileSync(path, "utf8").includes("support/cases.ts"));
}

/** Runs every case of the test files that leave some out of `npm test`; returns whether all passed. */
export function testEveryCase(): boolean {
  const env = { ...process.env, CASES: "all" };
  const { status } = spawnSync("npx", ["vitest", "run", ...shortened()], { stdio: "inherit", env });
  return status === 0;
}
