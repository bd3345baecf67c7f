import { constants, type Stats } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { withoutIgnored } from "../../desired/ignore.ts";
import { isPipelineFile } from "../../desired/load.ts";
import { maxFileBytes } from "../../language/limits.ts";
import type { SourceFile } from "../../language/source-text.ts";
import type { SkippedFile } from "../../git/revision.ts";
import { isTestFile, pipelinesOfTest } from "../../validate/orphaned-tests.ts";
import { CliError } from "../invocation/cli-error.ts";
import { workTreeOf } from "../invocation/work-tree-of.ts";

/** Milliseconds that reading a folder may take. */
const readTimeout = 60_000;

export interface PipelineFiles {
  /** Each file once, with the path that the user would type. */
  files: SourceFile[];
  /** The paths of those that were named themselves. */
  named: Set<string>;
  /** Files that look like pipelines or their tests, and that are not read, and folders that cannot be. */
  unread: SkippedFile[];
  /** The paths of files with tests of pipelines. */
  tests: string[];
}

/** A found file: its path from the working directory, and the part of the path that decides whether it is hidden. */
interface Found {
  path: string;
  below: string;
  bytes: Buffer;
}

/** Of the folders that were named. */
type Left = Pick<PipelineFiles, "unread" | "tests">;

/**
 * Reads the pipeline files that `paths` name: of a folder, the same files that the daemon reads. Throws CliError for a
 * path that is not there and for a file that the daemon would not read as a pipeline.
 */
export async function pipelineFiles(paths: string[]): Promise<PipelineFiles> {
  const files = new Map<string, SourceFile>();
  const left: Left = { unread: [], tests: [] };
  const named = new Set<string>();
  for (const path of paths) {
    if (path === "-") {
      files.set(path, { path: standardInput, bytes: await readStandardInput() });
      named.add(standardInput);
      continue;
    }
    const isOne = !(await isFolder(path));
    if (isOne && isTestFile(path)) {
      left.tests.push(path);
      continue;
    }
    const found = isOne ? [await singleFile(path)] : await filesOfFolder(path, left);
    for (const file of found) files.set(resolve(file.path), { path: nameOf(file), bytes: file.bytes });
    if (isOne) named.add(path);
  }
  return { files: [...files.values()], named, ...left };
}

/** What the file of the path `-` is called. */
const standardInput = "stdin.yaml";

/** At most one byte more than a file may have. */
async function readStandardInput(): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of process.stdin as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length > maxFileBytes) break;
  }
  return Buffer.concat(parts);
}

/** Where something was looked for, in a sentence. */
export function foldersText(paths: readonly string[]): string {
  return paths.map((path) => (path === "." ? "this folder" : path)).join(", ");
}

/**
 * Reads one pipeline file, also behind a link, under the path that leads to it. Throws CliError like `pipelineFiles`, and
 * for a folder.
 */
export async function pipelineFile(path: string): Promise<SourceFile> {
  const target = await realpath(path).catch((error: Error) => {
    throw missing(path, error);
  });
  if (await isFolder(target)) throw new CliError(`${path}: expected a file, found a folder: name the files in it`);
  return { path, bytes: (await singleFile(path, target)).bytes };
}

/** Reads a file of tests. A link is not followed. */
export async function fileAt(path: string): Promise<SourceFile> {
  return { path, bytes: await readAtMost(path, maxFileBytes + 1) };
}

/** The path from here, unless a hidden folder on the way to the folder that was named would hide the file. */
function nameOf({ path, below }: Found): string {
  return isPipelineFile(path) ? path : below;
}

/** A link may have been committed by whoever wrote the files, and lead to any file of this machine. */
async function isFolder(path: string): Promise<boolean> {
  const found = await lstat(path).catch((error: Error) => {
    throw missing(path, error);
  });
  if (!found.isSymbolicLink()) return found.isDirectory();
  throw new CliError(
    `${path}: expected a file or a folder, found a symbolic link, which is not followed: name what it leads to`,
  );
}

function missing(path: string, cause: NodeJS.ErrnoException): CliError {
  const found = cause.code === "ENOENT" ? "found none" : `which cannot be read: ${cause.message}`;
  return new CliError(`${path}: expected a file or a folder, ${found}`, { cause });
}

async function filesOfFolder(folder: string, { unread, tests }: Left): Promise<Found[]> {
  const { Folder } = await import("../../git/folder/folder.ts");
  const revision = await new Folder({ path: folder }).fetch(AbortSignal.timeout(readTimeout));
  const links = await linksIn(folder, revision.files);
  for (const path of links) unread.push({ path: join(folder, path), reason: ofGit });
  const files = withoutIgnored(revision.files).filter(({ path }) => !links.has(path));
  for (const { path } of files) if (isTestFile(path)) tests.push(join(folder, path));
  const found: Found[] = files
    .filter(({ path }) => isPipelineFile(path))
    .map(({ path, bytes }) => ({ path: join(folder, path), below: path, bytes }));
  for (const one of revision.skipped.filter(isOurs)) {
    const below = one.path;
    const path = join(folder, below);
    const bytes = isPipelineFile(below) ? await readAtMost(path, maxFileBytes + 1).catch(() => nothing) : nothing;
    // A pipeline file that was skipped for its size is reported like any other problem of a file.
    if (bytes.length > maxFileBytes) found.push({ path, below, bytes });
    else unread.push({ ...one, path });
  }
  return found;
}

const nothing = Buffer.alloc(0);

/** Whether a file would be read as a pipeline or as its tests, or a folder may hold such files. */
function isOurs({ path, isFolder: isUnread }: SkippedFile): boolean {
  return isUnread === true || isPipelineFile(path) || isTestFile(path);
}

/** Why a link within a Git work tree is not read. */
const ofGit = "a symbolic link, which is not followed in a Git repository: put the file itself here";

/** Those of these files that are behind a link, where the folder is in a Git work tree: nobody who follows that reads them. */
async function linksIn(folder: string, files: readonly { path: string }[]): Promise<ReadonlySet<string>> {
  const real = await realpath(folder);
  if ((await workTreeOf(real)) === undefined) return new Set();
  const found = await Promise.all(
    files.map(async ({ path }) => ((await realpath(join(real, path))) === join(real, path) ? [] : [path])),
  );
  return new Set(found.flat());
}

/** The file at `path`, with the content of `target`. */
async function singleFile(path: string, target = path): Promise<Found> {
  const below = basename(path);
  if (!isPipelineFile(below)) {
    throw new CliError(
      `${path}: expected a pipeline file: *.yaml, *.yml or *.json, neither hidden, nor sluice.yaml, nor tests (*.test.yaml)`,
    );
  }
  return { path, below, bytes: await readAtMost(target, maxFileBytes + 1) };
}

/** The tests that have no pipeline file beside them on this machine. */
export async function testsAlone(tests: readonly string[]): Promise<string[]> {
  const alone = await Promise.all(
    tests.map(async (path) => ((await existingFiles(pipelinesOfTest(path))).length > 0 ? [] : [path])),
  );
  return alone.flat();
}

/** Those of these paths that are files; a link is none. */
export async function existingFiles(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => lstat(path).then(isFile, () => false)));
  return paths.filter((_, index) => found[index]);
}

function isFile(entry: Stats): boolean {
  return entry.isFile();
}

async function readAtMost(path: string, limit: number): Promise<Buffer> {
  // A named pipe would block until a process writes into it.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
