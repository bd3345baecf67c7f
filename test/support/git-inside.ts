import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SmallDisk } from "./small-disk.ts";

/**
 * Makes the folder `programs`, with a `git` that is this shell script, which is made with the path of the true one. Gives
 * a PATH on which it comes first.
 */
export async function gitScript(programs: string, script: (git: string) => string): Promise<string> {
  await mkdir(programs);
  const git = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  await writeFile(join(programs, "git"), `#!/bin/sh\n${script(git)}\n`, { mode: 0o700 });
  return `${programs}:${process.env["PATH"]}`;
}

/**
 * Makes the folder `programs`, with a `git` that runs where `disk` is mounted, at `folder`: Git asks for the name of its
 * working directory, which has none outside. Gives a PATH on which it comes first.
 */
export async function gitInside(disk: SmallDisk, folder: string, programs: string): Promise<string> {
  const outside = disk.path.slice(0, -folder.length);
  return gitScript(programs, (git) => {
    const inside = disk.wrap(["sh", "-c", `'cd "$0" && exec ${git} "$@"'`]).join(" ");
    return `exec ${inside} "\${PWD#${outside}}" "$@"`;
  });
}
