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
    if (mode === "160000") skipped.push({ path, reason: submodule, version: object });
    else if (mode === "120000") skipped.push({ path, reason: link, version: object });
    else if (!isWanted(path)) continue;
    else if (bytes > limits.fileBytes) skipped.push({ path, reason: tooLarge(bytes, limits), version: object });
    else files.push({ path, object, bytes });
  }
  return { files, skipped };
}

const submodule = "a submodule, which is not entered: keep pipeline files in this repository";
const link = "a symbolic link, which is not followed: put the file itself here";

/**
 * The same, where a link that leads to a place of commit `sha` has the hash of what is there: it changes with that,
 * though the link stays the same.
 */
export async function withLinkTargets(
  git: Git,
  folder: string,
  sha: string,
  skipped: readonly SkippedFile[],
  signal: AbortSignal,
): Promise<SkippedFile[]> {
  // The question about a path is one line.
  const links = skipped.filter(({ path, reason }) => reason === link && !path.includes("\n"));
  if (links.length === 0) return [...skipped];
  const questions = links.map(({ path }) => `${sha}:${path}`);
  const targets = readTargets(await git.targets(folder, questions, signal), links.length);
  const found = new Map(links.map(({ path }, index) => [path, targets[index]]));
  return skipped.map((one) => {
    const version = found.get(one.path);
    return version === undefined ? one : { ...one, version };
  });
}

/**
 * Parses the output of `git cat-file --batch-check --follow-symlinks` for `count` links: the hash of what each leads to;
 * undefined for one that leads out of the commit, to nothing, or in a circle.
 */
function readTargets(output: string, count: number): (string | undefined)[] {
  const lines = output.split("\n");
  return Array.from({ length: count }, () => {
    const line = lines.shift() ?? "";
    // The path follows, of so many bytes, in which there may be ends of lines.
    const bytes = /^(?:symlink|dangling|loop|notdir) (\d+)$/.exec(line)?.[1];
    for (let left = Number(bytes ?? -1); left >= 0;) left -= Buffer.byteLength(lines.shift() ?? "", "utf8") + 1;
    return /^([0-9a-f]{40,64}) \w+ \d+$/.exec(line)?.[1];
  });
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
