import { randomBytes } from "node:crypto";
import type { GitRepository } from "../support/git-repository.ts";

/** Commits that bring much: what somebody who may push can make Sluice fetch. */

/** One commit with a file of so many bytes that no compression makes smaller. */
export function commitLarge(origin: GitRepository, bytes: number): Promise<string> {
  return origin.commit({ "a.yaml": "one", "large.bin": randomBytes(bytes) }, "Add a large file");
}

/** Commits of which each replaces a file of so many bytes; calls `each` after every one. */
export async function commitMany(
  origin: GitRepository,
  { commits, bytes }: { commits: number; bytes: number },
  each: () => Promise<unknown>,
): Promise<void> {
  for (let index = 0; index < commits; index += 1) {
    await origin.commit({ "a.yaml": `revision: ${index}`, "large.bin": randomBytes(bytes) }, `Revision ${index}`);
    await each();
  }
}
