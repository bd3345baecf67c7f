import { execFileSync } from "node:child_process";

/** Whether a program is on the PATH. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync("sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
