import { execFileSync } from "node:child_process";
import { onceForAllProjects } from "./once-for-all-projects.ts";

/** Builds `dist/` once before the tests: threads and child processes run from there. */
export function setup(): void {
  onceForAllProjects("build", () =>
    execFileSync("npm", ["run", "--silent", "build"], { stdio: ["ignore", "inherit", "inherit"] }),
  );
}
