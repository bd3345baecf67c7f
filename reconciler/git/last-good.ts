import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { type Revision, SourceError } from "./revision.ts";
import type { Clone, Found } from "./clone.ts";
import type { History } from "./history.ts";
import type { Reference, Tip } from "./reference.ts";

/** The stored facts of the last good revision, beside the clone. */
export interface LastGood {
  /** What was followed, such as `branch main`: the record is not used if the settings follow something else. */
  followed: string;
  /** Branch or tag as the remote named it. */
  name?: string;
  sha: string;
  path: string;
  /** SHA-256 of the paths and bytes of the files under `path`. */
  digest: string;
  /** Followed commits, the newest last. */
  commits: string[];
}

/** How many followed commits are stored. */
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

/**
 * Undefined if it is missing or unreadable: it is only needed while the remote is down, and the next fetch writes it
 * again.
 */
export async function readLastGood(file: string): Promise<LastGood | undefined> {
  try {
    const { format, ...record } = JSON.parse(await readFile(file, "utf8")) as LastGood & { format: number };
    const isWhole = format === 1 && typeof record.sha === "string" && Array.isArray(record.commits);
    return isWhole ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Written atomically, also if the process is killed meanwhile. */
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

/**
 * Notes for the operator on how a revision follows the last one: a moved tag, a rewritten history. It is applied
 * anyway.
 */
export async function revisionNotes(step: Step): Promise<string[]> {
  const { reference, before, tip, found, clone, signal } = step;
  if (before === undefined || before.sha === found.sha || tip.name === undefined) return [];
  if (reference.kind === "tag") {
    return [`tag ${tip.name} was moved from ${before.sha} to ${found.sha}, and is followed`];
  }
  if (before.name !== tip.name) return [`the default branch is now ${tip.name}, it was ${before.name}`];
  // The last commit is a parent of the new one, so nothing was rewritten.
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
