import { isCandidate, type SourceLimits } from "./limits.ts";
import type { SkippedFile } from "./revision.ts";
import type { Git } from "./git.ts";

/** A file of a commit that is to be read. */
export interface TreeFile {
  path: string;
  object: string;
  bytes: number;
}

/**
 * Sorts the output of `git ls-tree -r -z -l` into files to read and files to skip: symbolic links and submodules point
 * outside of the commit, and a huge file is not a pipeline. Files that are not wanted are left out.
 */
export function parseTree(
  output: string,
  limits: SourceLimits,
  isWanted = isCandidate,
): { files: TreeFile[]; skipped: SkippedFile[] } {
  const files: TreeFile[] = [];
  const skipped: SkippedFile[] = [];
  for (const entry of output.split("\0")) {
    const match = /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t(.+)$/s.exec(entry);
    if (match === null) continue;
    const [, mode = "", object = "", size = "", path = ""] = match;
    const bytes = Number(size);
    if (mode === "160000")
      skipped.push({ path, reason: "a submodule, which is not entered: keep pipeline files in this repository" });
    else if (mode === "120000")
      skipped.push({ path, reason: "a symbolic link, which is not followed: put the file itself here" });
    else if (!isWanted(path)) continue;
    else if (bytes > limits.fileBytes) skipped.push({ path, reason: tooLarge(bytes, limits) });
    else files.push({ path, object, bytes });
  }
  return { files, skipped };
}

export function tooLarge(bytes: number, limits: SourceLimits): string {
  return `a file of ${bytes} bytes, at most ${limits.fileBytes} are read: a pipeline file has some kilobytes`;
}

/**
 * Parses the output of `git cat-file --batch`: `<object> blob <size>\n<bytes>\n` for each object, in the order asked.
 * Throws where the output is not complete: the object store is then damaged.
 */
function parseBatch(output: Buffer, files: readonly TreeFile[]): { object: string; bytes: Buffer }[] {
  let at = 0;
  return files.map(({ path, object, bytes }) => {
    const header = `${object} blob ${bytes}\n`;
    const start = at + header.length;
    const end = start + bytes;
    if (output.toString("latin1", at, start) !== header || end >= output.length) {
      throw new Error(`object ${object} of ${path} is missing or damaged`);
    }
    at = end + 1;
    return { object, bytes: Buffer.from(output.subarray(start, end)) };
  });
}

/** Contents of the files of the last commit, so that only new files of the next one are read. */
export class Blobs {
  #known: ReadonlyMap<string, Buffer> = new Map();

  /** The contents of `files` from the repository in `folder`, in their order, each as the same buffer as last time. */
  async read(git: Git, folder: string, files: readonly TreeFile[], signal: AbortSignal): Promise<Buffer[]> {
    const contents = new Map<string, Buffer>();
    const unknown = new Map<string, TreeFile>();
    for (const file of files) {
      const known = this.#known.get(file.object);
      if (known === undefined) unknown.set(file.object, file);
      else contents.set(file.object, known);
    }
    if (unknown.size > 0) {
      const output = await git.contents(folder, [...unknown.keys()], signal);
      for (const { object, bytes } of parseBatch(output, [...unknown.values()])) contents.set(object, bytes);
    }
    this.#known = contents;
    return files.map(({ object }) => contents.get(object)!);
  }
}
