import { createHash } from "node:crypto";
import type { BigIntStats, Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { checkLimits, defaultLimits, isCandidate } from "../limits.ts";
import type { SourceLimits } from "../limits.ts";
import { SourceError } from "../revision.ts";
import type { Revision, RevisionSource, SkippedFile, SourceDescription } from "../revision.ts";
import { tooLarge } from "../tree.ts";
import { isHidden, isNeverRead } from "./hidden.ts";
import { Stillness } from "./stillness.ts";
import { FolderWatch } from "./watch.ts";
import { type ReadFile, WholeFiles } from "./whole-files.ts";

export interface FolderOptions {
  path: string;
  limits?: SourceLimits;
  /** Milliseconds without a change before a change is reported, default 200: an editor writes a file in several steps. */
  quiet?: number;
  /**
   * Milliseconds without a change before what the folder lacks counts as removed. A file that has changed counts after a
   * fifth of it, at most after 2,000. Default 0: the folder counts as it is.
   */
  settle?: number;
  /** The monotonic clock, in milliseconds. */
  now?: () => number;
  /** Waits so many milliseconds by that clock, or until `signal` aborts. */
  pause?: (wait: number, signal: AbortSignal) => Promise<void>;
}

interface Found {
  path: string;
  file: string;
  facts: BigIntStats;
  isLink: boolean;
  /** It is no pipeline; it is read to recognise a pipeline's file that was moved there. */
  isHidden: boolean;
}

/** What one walk has found and left out. */
interface Walk {
  root: string;
  skipped: SkippedFile[];
  /** How many hidden entries may still be looked at: `.venv`, for instance, may hold any number. */
  hiddenLeft: number;
}

interface Contents {
  found: readonly { path: string; bytes: Buffer | undefined }[];
  hidden: readonly { path: string; bytes: Buffer | undefined }[];
  skipped: readonly SkippedFile[];
}

/** The files of a folder as they are, whether they count or not. */
interface Reading extends Contents {
  found: ReadFile[];
  hidden: ReadFile[];
  skipped: SkippedFile[];
}

const mostHidden = 2_000;

/** Milliseconds that a file has to stand still before it counts, at most: whoever edits waits for it. */
const longestWait = 2_000;
const shareOfSettle = 1 / 5;

/** A plain folder, without Git: its files as they are now. */
export class Folder implements RevisionSource {
  readonly #folder: string;
  readonly #limits: SourceLimits;
  readonly #stillness: Stillness;
  readonly #whole: WholeFiles;
  readonly #wait: number;
  readonly #now: () => number;
  readonly #pause: (wait: number, signal: AbortSignal) => Promise<void>;
  readonly #watch: FolderWatch;
  #last: Revision | undefined;

  constructor(options: FolderOptions) {
    this.#folder = resolve(options.path);
    this.#limits = options.limits ?? defaultLimits;
    this.#now = options.now ?? (() => performance.now());
    this.#pause = options.pause ?? ((wait, signal) => sleep(wait, undefined, { signal }));
    const settle = options.settle ?? 0;
    this.#wait = Math.min(settle * shareOfSettle, longestWait);
    this.#whole = new WholeFiles(this.#wait, settle, this.#now);
    const stillness = (this.#stillness = new Stillness(settle, this.#now));
    const onMove = (path: string): void => stillness.moved(path);
    this.#watch = new FolderWatch({ folder: this.#folder, quiet: options.quiet ?? 200, onMove });
  }

  get description(): SourceDescription {
    return { kind: "dir", url: this.#folder, path: "." };
  }

  async fetch(signal: AbortSignal): Promise<Revision> {
    try {
      const first = await this.#look(signal);
      // Nothing is followed yet: until then files that are there would be told as removed.
      const isToWait = this.#last === undefined && first.settling?.changing !== undefined;
      if (isToWait) await this.#pause(this.#wait, signal);
      return (this.#last = this.#sameObject(isToWait ? await this.#look(signal) : first));
    } catch (error) {
      this.#stillness.lost();
      throw error;
    }
  }

  /** The same files stay the same objects. */
  #sameObject(revision: Revision): Revision {
    const last = this.#last;
    if (last?.sha !== revision.sha) return revision;
    const { settling } = revision;
    if (isDeepStrictEqual(last.settling, settling)) return last;
    const { settling: _before, ...read } = last;
    return { ...read, ...(settling !== undefined && { settling }) };
  }

  /** Reads the folder: what counts of it, and whether it has settled. */
  async #look(signal: AbortSignal): Promise<Revision> {
    const began = this.#now();
    const reading = await this.#read(signal);
    const { files, changing } = this.#whole.seen(reading.found, began);
    const digest = digestOf(reading);
    const settling = this.#stillness.seen({ looks: looksAt(reading), digest, began });
    const { skipped } = reading;
    const hidden = reading.hidden.flatMap(({ path, bytes }) => (bytes === undefined ? [] : [{ path, bytes }]));
    // Where no file is being written, all that was read counts.
    const sha = changing === undefined ? digest : digestOf({ found: files, hidden, skipped });
    const read = { id: `dir@sha256:${sha}`, sha, files, hidden, skipped };
    if (settling === undefined) return read;
    return { ...read, settling: { ...settling, ...(changing !== undefined && { changing }) } };
  }

  async #read(signal: AbortSignal): Promise<Reading> {
    const skipped: SkippedFile[] = [];
    const walk: Walk = { root: await this.#root(), skipped, hiddenLeft: mostHidden };
    const walked = (await this.#walk(walk, "", false)).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    checkLimits(
      walked.filter((file) => !file.isHidden).map(({ facts }) => ({ bytes: Number(facts.size) })),
      this.#limits,
      this.#folder,
    );
    const [found, hidden]: [ReadFile[], ReadFile[]] = [[], []];
    for (const { path, file, facts, isHidden: isLeftOut } of walked) {
      signal.throwIfAborted();
      const look = `${file} ${looksOf(facts)}`;
      const one = await contents(file);
      if ("bytes" in one) (isLeftOut ? hidden : found).push({ path, look, bytes: one.bytes, age: ageOf(facts) });
      else if (isLeftOut) continue;
      else if (one.isChanging && this.#wait > 0)
        // No two readings of it are the same.
        found.push({ path, look: `${look} ${this.#now()}`, bytes: undefined, age: 0 });
      else skipped.push({ path, reason: one.reason });
    }
    this.#watch.followLinks(walked.flatMap(({ file, isLink }) => (isLink ? [file] : [])));
    return { found, hidden, skipped };
  }

  /** Resolves when the watch has begun: every later change is reported, also the creation of the folder. */
  watch(onChange: () => void): Promise<void> {
    return this.#watch.begin(onChange);
  }

  close(): Promise<void> {
    return this.#watch.close();
  }

  /** A folder that is not there is an error, so that an unmounted disk never looks like a removal of every file. */
  async #root(): Promise<string> {
    try {
      return await realpath(this.#folder);
    } catch (error) {
      throw unreadable(this.#folder, error);
    }
  }

  async #walk(walk: Walk, under: string, isBelowHidden: boolean): Promise<Found[]> {
    const found: Found[] = [];
    for (const entry of await this.#entries(walk, under, isBelowHidden)) {
      const isLeftOut = isBelowHidden || isHidden(entry.name);
      if (isLeftOut && (isNeverRead(entry.name) || entry.isSymbolicLink() || walk.hiddenLeft <= 0)) continue;
      if (isLeftOut) walk.hiddenLeft -= 1;
      const path = under === "" ? entry.name : `${under}/${entry.name}`;
      if (entry.isDirectory()) for (const one of await this.#walk(walk, path, isLeftOut)) found.push(one);
      else if (entry.isFile() || entry.isSymbolicLink()) {
        const file = await this.#file(walk, path, entry.isSymbolicLink(), isLeftOut);
        if (file !== undefined) found.push(file);
      }
    }
    return found;
  }

  async #entries({ root, skipped }: Walk, under: string, isBelowHidden: boolean): Promise<Dirent[]> {
    try {
      return await readdir(join(root, under), { withFileTypes: true });
    } catch (error) {
      if (under === "") throw unreadable(this.#folder, error);
      if (isBelowHidden) return [];
      skipped.push({ path: under, reason: `a folder that cannot be read: ${said(error)}`, isFolder: true });
      return [];
    }
  }

  /**
   * A link to a file inside the folder is read (a mounted ConfigMap is made of them), any other is reported and not
   * read.
   */
  async #file({ root, skipped }: Walk, path: string, isLink: boolean, isLeftOut: boolean): Promise<Found | undefined> {
    const target = await realpath(join(root, path)).catch(() => undefined);
    const facts = target === undefined ? undefined : await stat(target, { bigint: true }).catch(() => undefined);
    const inside = target?.startsWith(root + sep) ?? false;
    if (isLink && (!inside || facts?.isFile() !== true)) {
      skipped.push({
        path,
        reason: "a symbolic link that does not lead to a file of this folder, which is not followed",
      });
    } else if (target !== undefined && facts !== undefined && isCandidate(path)) {
      if (facts.size <= this.#limits.fileBytes) return { path, file: target, facts, isLink, isHidden: isLeftOut };
      if (!isLeftOut) skipped.push({ path, reason: tooLarge(Number(facts.size), this.#limits) });
    }
    return undefined;
  }
}

/** The file's bytes at one moment, or why there are none. */
async function contents(file: string): Promise<{ bytes: Buffer } | { reason: string; isChanging: boolean }> {
  try {
    const before = await stat(file);
    const bytes = await readFile(file);
    const after = await stat(file);
    const stands = before.mtimeMs === after.mtimeMs && before.size === after.size && bytes.length === after.size;
    if (stands) return { bytes };
    return { reason: "a file that is being written: it is read again at the next turn", isChanging: true };
  } catch (error) {
    return { reason: `a file that cannot be read: ${said(error)}`, isChanging: false };
  }
}

/** Another text after each change of a file: one that took its place, was written, or got its old bytes and time back. */
function looksOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/** Milliseconds since a file was changed, renamed or linked. */
function ageOf({ mtimeMs, ctimeMs }: BigIntStats): number {
  return Date.now() - Math.max(Number(mtimeMs), Number(ctimeMs));
}

/** What the files looked like from outside, and why some were not read, by path. */
function looksAt({ found, hidden, skipped }: Reading): Map<string, string> {
  const looks = new Map([...found, ...hidden].map(({ path, look }) => [path, look]));
  for (const { path, reason } of skipped) if (!looks.has(path)) looks.set(path, reason);
  return looks;
}

/** The hash of files, and of what was not read. */
function digestOf({ found, hidden, skipped }: Contents): string {
  const hash = createHash("sha256");
  const files = [...found, ...hidden].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  for (const { path, bytes } of files) if (bytes !== undefined) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  return hash.update(JSON.stringify(skipped)).digest("hex");
}

function unreadable(folder: string, error: unknown): SourceError {
  return new SourceError("InvalidPath", `--dir ${folder}: expected a folder that can be read: ${said(error)}`);
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
