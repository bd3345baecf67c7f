import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RevisionFile } from "../git/revision.ts";

/** Runs git in the work tree: its arguments, its input, and variables beside those of the person. */
export type RunGit = (args: readonly string[], input: string, variables: Record<string, string>) => Promise<Buffer>;

/**
 * Files of a work tree, with the bytes that a commit of them would have: after the filters, line ends and encodings that
 * `.gitattributes` and the settings of Git name. What Git writes for that goes to a folder that is removed again.
 */
export async function asCommitted(files: readonly RevisionFile[], run: RunGit): Promise<RevisionFile[]> {
  // The question about a path is one line.
  const asked = files.filter(({ path }) => !path.includes("\n"));
  if (asked.length === 0) return [...files];
  const objects = (await run(["rev-parse", "--path-format=absolute", "--git-path", "objects"], "", {})).toString(
    "utf8",
  );
  const folder = await mkdtemp(join(tmpdir(), "sluice-objects-"));
  try {
    const variables = { GIT_OBJECT_DIRECTORY: folder, GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(objects.trimEnd()) };
    const hashed = await run(["hash-object", "-w", "--stdin-paths"], lines(asked.map(({ path }) => path)), variables);
    const names = hashed.toString("utf8").trimEnd();
    const contents = readBlobs(await run(["cat-file", "--batch"], `${names}\n`, variables), asked.length);
    const clean = new Map(asked.map(({ path }, index) => [path, contents[index]!]));
    return files.map(({ path, bytes }) => ({ path, bytes: clean.get(path) ?? bytes }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Parses the output of `git cat-file --batch` for `count` objects. */
function readBlobs(output: Buffer, count: number): Buffer[] {
  let at = 0;
  return Array.from({ length: count }, () => {
    const end = output.indexOf("\n", at);
    const size = Number(/ blob (\d+)$/.exec(output.toString("latin1", at, end))?.[1] ?? Number.NaN);
    if (Number.isNaN(size)) throw new Error("git cat-file: expected a file that was just written, found none");
    at = end + 1 + size + 1;
    return Buffer.from(output.subarray(end + 1, end + 1 + size));
  });
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join("");
}

/** A path of a list that has colons between its paths. */
function quoted(path: string): string {
  return path.includes(":") ? `"${path.replaceAll(/["\\]/g, String.raw`\$&`)}"` : path;
}
