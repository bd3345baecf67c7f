import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Runs a program of this folder in a process of its own, so that what it costs is not mixed with anything else, and
 * resolves with what it says. Throws what it complains of if it fails.
 */
export async function runProgram(file: string, ...args: string[]): Promise<string> {
  const script = fileURLToPath(new URL(file, import.meta.url));
  const { stdout } = await run(process.execPath, ["--import", "tsx", script, ...args]);
  return stdout;
}
