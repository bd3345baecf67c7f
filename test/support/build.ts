import { execFileSync } from "node:child_process";

/** Builds `dist/` once before the tests: threads and child processes run from there. */
export function setup(): void {
  execFileSync("npm", ["run", "--silent", "build"], { stdio: ["ignore", "inherit", "inherit"] });
}
