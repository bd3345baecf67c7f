import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "./git.ts";

/** Git asks a remote for missing files by its name. It has no URL in the settings: only our fetches give one. */
export const remoteName = "sluice";

/** The most objects that one fetch names: they are arguments of a command. */
const mostNamed = 5_000;

/** Whether a repository was fetched without all files. */
export async function lacksFiles(folder: string): Promise<boolean> {
  const settings = await readFile(join(folder, "config"), "utf8").catch(() => "");
  return settings.includes("promisor");
}

/** Whether a command failed since it would have had to ask the remote for a file. */
export function needsMissing({ message }: Error): boolean {
  return message.includes(`'${remoteName}' does not appear to be a git repository`);
}

/** The objects below these paths of a commit that are not in the repository. A path that is not there has none. */
export async function missingBelow(
  git: Git,
  folder: string,
  commit: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const trees: string[] = [];
  for (const path of paths) {
    const entry = await git.text(folder, ["ls-tree", "-z", "--full-tree", commit, "--", `:(literal)${path}`], signal);
    const tree = /^\d+ tree ([0-9a-f]+)\t/.exec(entry)?.[1];
    if (tree !== undefined) trees.push(tree);
  }
  if (trees.length === 0) return [];
  // Unlike other commands this one asks no remote for what is missing.
  const objects = await git.text(folder, ["rev-list", "--objects", "--missing=print", ...trees], signal);
  return [...objects.matchAll(/^\?([0-9a-f]+)$/gm)].map(([, object = ""]) => object);
}

/** Settings of a fetch into a repository without all files, before its arguments. */
export function partialSettings(url: string, brings: "commits" | "files"): string[] {
  const remote = ["-c", `remote.${remoteName}.url=${url}`];
  // A commit that is here makes a server leave out its files, which are not here.
  return brings === "commits" ? remote : [...remote, "-c", "fetch.negotiationAlgorithm=noop"];
}

/** What several fetches name that together bring these objects. */
export function fetchesOf(objects: readonly string[]): string[][] {
  const count = Math.ceil(objects.length / mostNamed);
  return Array.from({ length: count }, (_, at) => objects.slice(at * mostNamed, (at + 1) * mostNamed));
}
