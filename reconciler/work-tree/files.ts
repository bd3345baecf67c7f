import { lstat, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { checkLimits, isCandidate, type SourceLimits } from "../git/limits.ts";
import type { RevisionFile, SkippedFile } from "../git/revision.ts";
import { tooLarge } from "../git/tree.ts";
import type { TreeFiles } from "./work-tree.ts";

/** Reads files of a work tree as those of a commit are read. `paths` are from its top. Throws a SourceError beyond the limits. */
export async function filesNow(top: string, paths: readonly string[], limits: SourceLimits): Promise<TreeFiles> {
  const sizes = new Map<string, number>();
  const skipped: SkippedFile[] = [];
  for (const path of paths.toSorted()) {
    const found = await lookAt(top, path, limits);
    if (typeof found === "string") skipped.push({ path, reason: found });
    else if (found !== undefined) sizes.set(path, found);
  }
  checkLimits(
    [...sizes.values()].map((bytes) => ({ bytes })),
    limits,
    top,
  );
  const files: RevisionFile[] = [];
  for (const path of sizes.keys()) files.push({ path, bytes: await readFile(join(top, path)) });
  return { files, skipped };
}

/** The size of a file that is read, why it is not, or undefined where it is gone or is none of those that are read. */
async function lookAt(top: string, path: string, limits: SourceLimits): Promise<number | string | undefined> {
  const file = join(top, path);
  const found = await lstat(file).catch(() => undefined);
  if (found === undefined) return undefined;
  if (found.isSymbolicLink()) return "a symbolic link, which is not followed: put the file itself here";
  if (found.isDirectory()) return "a repository within this one, which is not entered: keep pipeline files in this one";
  if (!isCandidate(path) || !found.isFile()) return undefined;
  // A folder above it may have become a link.
  if ((await realpath(file)) !== file) return "a file behind a symbolic link, which is not followed";
  return found.size > limits.fileBytes ? tooLarge(found.size, limits) : found.size;
}
