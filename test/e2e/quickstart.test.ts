import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const project = fileURLToPath(new URL("../..", import.meta.url));

test("the quickstart ends with 0, every count right", { timeout: 300_000 }, async () => {
  const { stdout } = await promisify(execFile)("node", ["dist/quickstart.js", "--exit"], { cwd: project });
  expect(stdout).toMatch(/All \d+ counts are right\./);
  expect(stdout).not.toContain("✗");
});
