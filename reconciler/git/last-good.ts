import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { writeFileDurably } from "../../engine/index.ts";
import { type Revision, SourceError, type WaitingCommit } from "./revision.ts";
import type { Clone, Found } from "./clone.ts";
import type { Containment, History } from "./history.ts";
import type { Reference, Tip } from "./reference.ts";

/** The stored facts of the last good revision, beside the clone. */
export interface LastGood {
  /** What was followed, such as `branch main`: the record is not used if the settings follow something else. */
  followed: string;
  /** Branch or tag as the remote named it. */
  name?: string;
  /** Where the server redirected when it was read, as `Revision` has it. */
  redirected?: string;
  sha: string;
  path: string;
  /** SHA-256 of the paths and bytes of the files under `path`. */
  digest: string;
  /** Followed commits, the newest last. */
  commits: string[];
  /** A commit that an operator wants followed although it does not descend from `sha`. */
  approved?: string;
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

/** Undefined if it is missing; `damaged` if it cannot be read, or is something else. The next fetch writes it again. */
export async function readLastGood(file: string): Promise<LastGood | "damaged" | undefined> {
  try {
    const { format, ...record } = JSON.parse(await readFile(file, "utf8")) as LastGood & { format: number };
    const isWhole = format === 1 && typeof record.sha === "string" && Array.isArray(record.commits);
    return isWhole ? record : "damaged";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : "damaged";
  }
}

export async function writeLastGood(file: string, record: LastGood): Promise<void> {
  await writeFileDurably(file, JSON.stringify({ format: 1, ...record }));
}

/** A revision that was just read, and the last one that was good before it. */
export interface Step {
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
  const isTag = reference.kind === "tag" || reference.kind === "tags";
  if (isTag && before.name !== undefined && before.name !== tip.name) {
    return [`the newest tag that ${reference.name} asks for is now ${tip.name}, it was ${before.name}`];
  }
  if (isTag) {
    return [`tag ${tip.name} was moved from ${before.sha} to ${found.sha}, and is followed`];
  }
  if (before.name !== tip.name) return [`the default branch is now ${tip.name}, it was ${before.name}`];
  // The last commit is a parent of the new one, so nothing was rewritten.
  if ((await clone.parentsOf(found.sha, signal)).includes(before.sha)) return [];
  return ofHistory(step, before.sha, tip.name);
}

async function ofHistory({ tip, history, signal }: Step, before: string, name: string): Promise<string[]> {
  const contained = await history.contains(tip, before, signal).catch((error: unknown) => {
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

/**
 * Where signatures are required, a commit is followed only if it descends from the last one that was followed: any
 * earlier commit is signed as well, and who may push could bring it back. An operator may approve another one.
 */
export class Descent {
  readonly #display: string;
  #refused: { commit: WaitingCommit; error: SourceError } | undefined;

  /** `display`: the repository, for people. */
  constructor(display: string) {
    this.#display = display;
  }

  /** The commit that was refused by the last check; undefined where none was. */
  get waiting(): WaitingCommit | undefined {
    return this.#refused?.commit;
  }

  /** Throws SourceError NotDescendant, AncestryUnknown, or why the remote cannot be asked. */
  async check(step: Step): Promise<void> {
    const { before, found } = step;
    const refused = this.#refused;
    this.#refused = undefined;
    if (before === undefined || (await isFollowing(step, before))) return;
    const isKnown = refused?.commit.from === before.sha && refused.commit.to === found.sha;
    const error = isKnown && before.approved === undefined ? refused.error : await this.#refusal(step, before);
    if (error === undefined) return;
    this.#refused = { commit: { from: before.sha, to: found.sha }, error };
    throw error;
  }

  async #refusal({ tip: { ref }, found, history, signal }: Step, before: LastGood): Promise<SourceError | undefined> {
    const [from, to] = [before.sha, found.sha];
    const ancestors = before.approved === undefined ? [from] : [from, before.approved];
    const answers: Containment[] = [];
    for (const ancestor of ancestors) answers.push(await history.descends({ ref, commit: to, ancestor }, signal));
    if (answers.includes("yes")) return undefined;
    const wayOut = `push a commit on top of ${from}, or look at ${to} and run "sluice approve ${to}" if the history was rewritten on purpose`;
    const expected = `signatures are required, so a descendant of ${from} is expected, which was followed last`;
    if (answers[0] === "no") {
      const what = `${this.#display}: ${to} does not descend from ${from}`;
      return new SourceError("NotDescendant", `${what}: ${expected}; ${wayOut}`);
    }
    const what = `${this.#display}: whether ${to} descends from ${from} could not be found out, as far back as was looked`;
    return new SourceError("AncestryUnknown", `${what}: ${expected}; ${wayOut}`);
  }
}

/** Whether it is the last commit, an approved one, or a child of either: that needs no request. */
async function isFollowing({ found, clone, signal }: Step, { sha, approved }: LastGood): Promise<boolean> {
  const near = [found.sha, ...(await clone.parentsOf(found.sha, signal))];
  return near.some((commit) => commit === sha || commit === approved);
}
