import { createHash } from "node:crypto";
import type { BigIntStats, Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { checkLimits, defaultLimits, isCandidate } from "../limits.ts";
import type { SourceLimits } from "../limits.ts";
import { SourceError } from "../revision.ts";
import type { Revision, RevisionFile, RevisionSource, SkippedFile, SourceDescription } from "../revision.ts";
import { tooLarge } from "../tree.ts";
import { isHidden, isNeverRead } from "./hidden.ts";
import { Stillness } from "./stillness.ts";
import { FolderWatch } from "./watch.ts";

export interface FolderOptions {
  path: string;
  limits?: SourceLimits;
  /** Milliseconds without a change before a change is reported, default 200: an editor writes a file in several steps. */
  quiet?: number;
  /** Milliseconds without a change before what the folder lacks counts as removed, default 10,000. */
  settle?: number;
  /** The monotonic clock, in milliseconds. */
  now?: () => number;
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

const mostHidden = 2_000;

/** A plain folder, without Git: its files as they are now. */
export class Folder implements RevisionSource {
  readonly #folder: string;
  readonly #limits: SourceLimits;
  readonly #stillness: Stillness;
  readonly #now: () => number;
  readonly #watch: FolderWatch;
  #last: Revision | undefined;

  constructor(options: FolderOptions) {
    this.#folder = resolve(options.path);
    this.#limits = options.limits ?? defaultLimits;
    this.#now = options.now ?? (() => performance.now());
    const stillness = (this.#stillness = new Stillness(options.settle ?? 10_000, this.#now));
    const onMove = (path: string): void => stillness.moved(path);
    this.#watch = new FolderWatch({ folder: this.#folder, quiet: options.quiet ?? 200, onMove });
  }

  get description(): SourceDescription {
    return { kind: "dir", url: this.#folder, path: "." };
  }

  async fetch(signal: AbortSignal): Promise<Revision> {
    const began = this.#now();
    try {
      const { looks, revision } = await this.#read(signal);
      const settling = this.#stillness.seen({ looks, digest: revision.sha, began });
      const last = this.#last;
      const isSame = last?.sha === revision.sha;
      if (isSame && isDeepStrictEqual(last.settling, settling)) return last;
      // The same files stay the same objects.
      const { settling: _before, ...read } = isSame ? last : revision;
      this.#last = { ...read, ...(settling !== undefined && { settling }) };
      return this.#last;
    } catch (error) {
      this.#stillness.lost();
      throw error;
    }
  }

  async #read(signal: AbortSignal): Promise<{ looks: Map<string, string>; revision: Revision }> {
    const skipped: SkippedFile[] = [];
    const walk: Walk = { root: await this.#root(), skipped, hiddenLeft: mostHidden };
    const found = (await this.#walk(walk, "", false)).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    checkLimits(
      found.filter((file) => !file.isHidden).map(({ facts }) => ({ bytes: Number(facts.size) })),
      this.#limits,
      this.#folder,
    );
    const hash = createHash("sha256");
    const files: RevisionFile[] = [];
    const hidden: RevisionFile[] = [];
    const looks = new Map<string, string>();
    for (const { path, file, facts, isHidden: isLeftOut } of found) {
      signal.throwIfAborted();
      const bytes = await contents(file);
      looks.set(path, `${file} ${looksOf(facts)}`);
      if (typeof bytes === "string") {
        if (!isLeftOut) skipped.push({ path, reason: bytes });
        continue;
      }
      hash.update(`${path}\0${bytes.length}\0`).update(bytes);
      (isLeftOut ? hidden : files).push({ path, bytes });
    }
    this.#watch.followLinks(found.flatMap(({ file, isLink }) => (isLink ? [file] : [])));
    for (const { path, reason } of skipped) if (!looks.has(path)) looks.set(path, reason);
    const sha = hash.update(JSON.stringify(skipped)).digest("hex");
    return { looks, revision: { id: `dir@sha256:${sha}`, sha, files, hidden, skipped } };
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

/** The file's bytes at one moment, or why there are none: a file that is being written is not read yet. */
async function contents(file: string): Promise<Buffer | string> {
  try {
    const before = await stat(file);
    const bytes = await readFile(file);
    const after = await stat(file);
    const stands = before.mtimeMs === after.mtimeMs && before.size === after.size && bytes.length === after.size;
    return stands ? bytes : "a file that is being written: it is read again at the next turn";
  } catch (error) {
    return `a file that cannot be read: ${said(error)}`;
  }
}

/** Another text after each change of a file: one that took its place, was written, or got its old bytes and time back. */
function looksOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

function unreadable(folder: string, error: unknown): SourceError {
  return new SourceError("InvalidPath", `--dir ${folder}: expected a folder that can be read: ${said(error)}`);
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
