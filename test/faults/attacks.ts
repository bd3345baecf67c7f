import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Runs every attack of `test/security` in its full size, one after the other. Resolves with what each cost its victim,
 * and with whether all of them were withstood.
 */
export async function attackAll(): Promise<{ figures: string[]; isWithstood: boolean }> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-attacks-"));
  const report = join(folder, "report");
  try {
    const args = [
      "vitest",
      "run",
      "--project",
      "whole",
      "--no-file-parallelism",
      "--testTimeout=600000",
      "test/security",
    ];
    const env = { ...process.env, ATTACKS: "full", ATTACKS_REPORT: report };
    const child = spawn("npx", args, { stdio: "inherit", env });
    const [code] = (await once(child, "exit")) as [number | null];
    const text = await readFile(report, "utf8").catch(() => "");
    return { figures: text.split("\n").filter((line) => line !== ""), isWithstood: code === 0 };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
