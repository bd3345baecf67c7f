import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { type Revision, SourceError } from "./revision.ts";
import type { Clone, Found } from "./clone.ts";
import type { History } from "./history.ts";
import type { Reference, Tip } from "./reference.ts";

/** What is remembered, beside the clone, of the last revision that was good. */
export interface LastGood {
  /** What was followed, such as `branch main`: it is not used where something else is followed. */
  followed: string;
  /** Branch or tag as the remote named it. */
  name?: string;
  sha: string;
  path: string;
  /** SHA-256 of the paths and bytes of the files under `path`. */
  digest: string;
  /** Commits that were followed, the newest last. */
  commits: string[];
}

/** How many of the commits that were followed are remembered. */
const remembered = 200;

export function digestOf({ files }: Pick<Revision, "files">): string {
  const hash = createHash("sha256");
  for (const { path, bytes } of files) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  return hash.digest("hex");
}

/** The list of commits with one more at its end. */
export function withCommit(commits: readonly string[], sha: string): string[] {
  return [...commits.filter((one) => one !== sha), sha].slice(-remembered);
}

/** Undefined where there is none that can be read: it is a help for bad times, and the next fetch writes it anew. */
export async function readLastGood(file: string): Promise<LastGood | undefined> {
  try {
    const { format, ...record } = JSON.parse(await readFile(file, "utf8")) as LastGood & { format: number };
    const isWhole = format === 1 && typeof record.sha === "string" && Array.isArray(record.commits);
    return isWhole ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Whole or not at all, also where the process is killed in between. */
export async function writeLastGood(file: string, record: LastGood): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify({ format: 1, ...record }), { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}

/** A revision that was just read, and the last one that was good before it. */
interface Step {
  reference: Reference;
  before: LastGood | undefined;
  tip: Tip;
  found: Found;
  clone: Clone;
  history: History;
  signal: AbortSignal;
}

/** Notes for the operator on how one revision followed the last: a moved tag, a rewritten history. It is followed anyway. */
export async function revisionNotes(step: Step): Promise<string[]> {
  const { reference, before, tip, found, clone, signal } = step;
  if (before === undefined || before.sha === found.sha || tip.name === undefined) return [];
  if (reference.kind === "tag") {
    return [`tag ${tip.name} was moved from ${before.sha} to ${found.sha}, and is followed`];
  }
  if (before.name !== tip.name) return [`the default branch is now ${tip.name}, it was ${before.name}`];
  // A push of one commit, or of a merge, says so by itself.
  if ((await clone.parentsOf(found.sha, signal)).includes(before.sha)) return [];
  return ofHistory(step, before.sha, tip.name);
}

async function ofHistory({ tip, history, signal }: Step, before: string, name: string): Promise<string[]> {
  const contained = await history.contains(tip.ref, before, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    return error instanceof SourceError ? error.message : "unknown";
  });
  if (contained === "yes") return [];
  if (contained === "no") {
    return [`the history of ${name} was rewritten: ${before}, which was followed, is not in it any more`];
  }
  const why = contained === "unknown" ? "it is not among the last commits" : contained;
  return [`whether ${name} still contains ${before}, which was followed, could not be found out: ${why}`];
}
