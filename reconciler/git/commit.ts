import { Blobs, parseTree, withLinkTargets } from "./tree.ts";
import type { Git } from "./git.ts";
import { checkLimits, type SourceLimits } from "./limits.ts";
import { type Revision, type RevisionFile, type SkippedFile, SourceError } from "./revision.ts";

/** What is read of a commit. */
export type Read = Pick<Required<Revision>, "sha" | "files" | "skipped" | "author" | "subject"> &
  Pick<Revision, "committedAt">;

/** What is wanted of a commit. */
export interface Wanted {
  /** The folder inside the repository. */
  path: string;
  limits: SourceLimits;
  /** The repository, for people. */
  display: string;
  /** Whether it is read which changes the commit approves. */
  approvals?: boolean;
}

/**
 * Reads the files of commit `sha` from the repository in `folder`, except those that `blobs` has. Nothing is checked
 * out.
 */
export async function readCommit(
  git: Git,
  folder: string,
  sha: string,
  wanted: Wanted & { blobs: Blobs },
  signal: AbortSignal,
): Promise<Read> {
  const { path, limits, display, blobs } = wanted;
  // The name of a folder may look like a pattern.
  const under = path === "." ? [] : ["--", `:(literal)${path}`];
  const listing = await git.text(folder, ["ls-tree", "-r", "-z", "-l", "--full-tree", sha, ...under], signal);
  const { files, skipped: unread } = parseTree(listing, limits);
  const skipped = await withLinkTargets(git, folder, sha, unread, signal);
  checkLimits(files, limits, `${display}, ${path}`);
  const contents = await blobs.read(git, folder, files, signal);
  const format = "--format=%ct%x00%an%x00%s";
  const facts = await git.text(folder, ["log", "-1", "--no-show-signature", format, sha], signal);
  const [seconds = "", author = "", subject = ""] = facts.trimEnd().split("\0");
  const committed = new Date(Number(seconds) * 1000);
  const read = files.map(({ path: at, object }, index) => ({ path: at, bytes: contents[index]!, version: object }));
  return {
    sha,
    ...withoutPointers(read, skipped),
    // Whoever makes a commit writes its date: it may be none.
    ...(!Number.isNaN(committed.getTime()) && { committedAt: committed.toISOString() }),
    author: printable(author),
    subject: printable(subject),
  };
}

/** Where a commit approves changes, from the top of the repository, and as a trailer of its message. */
export const approvalsFolder = "approvals";
/** What `git log` prints the trailers with. */
export const trailersFormat = "%(trailers:key=Sluice-Approve,valueonly)";
/** Approvals are some lines each. */
const approvalLimits: SourceLimits = { files: 1_000, fileBytes: 1 << 20, bytes: 16 << 20 };
/** A class, and a digest of a change. */
const approval = /(?<![\w-])[a-z]{1,20}-[0-9a-f]{32}(?![\w-])/g;

/**
 * The fingerprints of changes that commit `sha` approves: in its trailers, and in the files of the folder `approvals`, wherever
 * the pipelines are. Throws SourceError where there are more files than anyone would write by hand.
 */
export async function approvalsOf(
  git: Git,
  folder: string,
  sha: string,
  { display }: Pick<Wanted, "display">,
  signal: AbortSignal,
): Promise<string[]> {
  const trailers = await git.text(
    folder,
    ["log", "-1", "--no-show-signature", `--format=${trailersFormat}`, sha],
    signal,
  );
  const listed = ["ls-tree", "-r", "-z", "-l", "--full-tree", sha, "--", `:(literal)${approvalsFolder}`];
  const { files } = parseTree(await git.text(folder, listed, signal), approvalLimits, () => true);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (files.length > approvalLimits.files || bytes > approvalLimits.bytes) {
    const found = `found ${files.length} of ${bytes} bytes`;
    const expected = `expected at most ${approvalLimits.files} files of ${approvalLimits.bytes} bytes in all`;
    const wayOut = "remove those of changes that are carried out";
    throw new SourceError("TooLarge", `${display}, ${approvalsFolder}: ${expected}, ${found}: ${wayOut}`);
  }
  const contents = await new Blobs().read(git, folder, files, signal);
  return approvalsIn([trailers, ...contents.map((content) => content.toString("latin1"))]);
}

/** The fingerprints in texts, each once. */
export function approvalsIn(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => text.match(approval) ?? []))];
}

/** Files that were read, and `skipped` with those of them that are pointers of Git LFS. */
export function withoutPointers(
  read: readonly (RevisionFile & Pick<SkippedFile, "version">)[],
  skipped: readonly SkippedFile[],
): Pick<Read, "files" | "skipped"> {
  const pointers = read.filter(({ bytes }) => isPointer(bytes));
  return {
    files: read.flatMap(({ path, bytes }) => (isPointer(bytes) ? [] : [{ path, bytes }])),
    skipped: [
      ...skipped,
      ...pointers.map(({ path, version }) => ({ path, reason: pointer, ...(version !== undefined && { version }) })),
    ],
  };
}

/** The file itself is on another server, which only Git LFS would ask. */
function isPointer(bytes: Buffer): boolean {
  return bytes.subarray(0, 42).toString("latin1") === "version https://git-lfs.github.com/spec/v1";
}

const pointer = "a pointer of Git LFS, which is not followed: keep pipeline files in Git itself";

/** Text of a commit on its way to logs and terminals. */
function printable(text: string): string {
  return text
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, 200);
}
