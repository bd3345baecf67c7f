import { lstatSync, type Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname, relative, sep } from "node:path";
import { watch } from "chokidar";
import type { FSWatcher } from "chokidar";
import { isCandidate } from "../limits.ts";
import { isHidden } from "./hidden.ts";

export interface WatchOptions {
  /** As it was given: it may be a link, and may not be there. */
  folder: string;
  /** Milliseconds without a change before changes are reported. */
  quiet: number;
  /** Called at once with a file that changed, from the folder. */
  onMove: (path: string) => void;
}

/** What is at a path: its real path, and what tells it from another folder that takes its place. */
interface Root {
  path: string;
  identity: string;
}

/** How often to look whether the folders are still the same, in milliseconds; less often where there are many. */
const lookEvery = 250;
/** The longest that a change waits for others, in milliseconds: something may be written all the time. */
const longestWait = 2_000;

/**
 * Reports that files of a folder changed. It follows the path and not what was there first: another folder in its place,
 * or behind the link that it is, is watched from then on.
 */
export class FolderWatch {
  readonly #options: WatchOptions;
  #onChange: () => void = () => undefined;
  #looking: NodeJS.Timeout | undefined;
  #watcher: FSWatcher | undefined;
  /** What is watched; undefined where nothing is. */
  #root: Root | undefined;
  /** Hidden folders, by their real paths, that hold what links lead to. */
  readonly #linked = new Set<string>();
  /** Those of them that are not watched yet: what changes meanwhile is not reported. */
  readonly #coming = new Set<string>();
  /** What the watched folders were at the last look, by their paths. */
  #folders = new Map<string, string | undefined>();
  #report: NodeJS.Timeout | undefined;
  /** When the oldest change that is not reported yet came, by the monotonic clock. */
  #waitsSince: number | undefined;
  #isClosed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Resolves when the watch has begun: every later change is reported, also the creation of the folder. */
  async begin(onChange: () => void): Promise<void> {
    this.#onChange = onChange;
    await this.#look();
    this.#lookLater();
  }

  /** Watches the hidden folders of these files too, to which links lead. */
  followLinks(targets: readonly string[]): void {
    const root = this.#root;
    if (root === undefined) return;
    const hidden = targets.map((target) => dirname(target)).filter((folder) => this.#isIgnored(root.path, folder));
    const fresh = new Set(hidden);
    for (const folder of fresh) {
      this.#linked.add(folder);
      this.#coming.add(folder);
    }
    if (fresh.size > 0) this.#watcher?.add([...fresh]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#looking);
    clearTimeout(this.#report);
    await this.#unwatch();
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#looking = setTimeout(
      () => {
        void this.#look().then((isAnother) => {
          if (isAnother || this.#hasCome()) this.#onChange();
          this.#lookLater();
        });
      },
      Math.max(lookEvery, this.#folders.size),
    );
  }

  /** Whether a folder of links is watched now that was not when its files were read. */
  #hasCome(): boolean {
    const watched = this.#watcher?.getWatched() ?? {};
    const come = [...this.#coming].filter((folder) => watched[folder] !== undefined);
    for (const folder of come) this.#coming.delete(folder);
    return come.length > 0;
  }

  /** Begins to watch what is at the path now, if that is not watched; whether it did. Never rejects. */
  async #look(): Promise<boolean> {
    const root = await rootOf(this.#options.folder);
    if (root === undefined || this.#isClosed) return false;
    if (root.identity === this.#root?.identity && !(await this.#wasReplaced())) return false;
    await this.#unwatch();
    await this.#watch(root);
    await this.#wasReplaced();
    return true;
  }

  /** Whether another folder took the place of a watched one: the watch goes on with what was there, wherever that is now. */
  async #wasReplaced(): Promise<boolean> {
    const folders = Object.keys(this.#watcher?.getWatched() ?? {});
    const found = await Promise.all(folders.map(async (folder) => [folder, await identityOf(folder)] as const));
    const known = this.#folders;
    this.#folders = new Map(found);
    return found.some(([folder, identity]) => known.has(folder) && known.get(folder) !== identity);
  }

  async #watch(root: Root): Promise<void> {
    this.#root = root;
    this.#linked.clear();
    this.#coming.clear();
    this.#folders.clear();
    const ignored = (path: string): boolean => this.#isIgnored(root.path, path);
    const watcher = watch(root.path, { ignoreInitial: true, followSymlinks: false, alwaysStat: true, ignored });
    this.#watcher = watcher;
    watcher.on("all", (event, path, stats) => {
      if (event === "unlinkDir" && path === root.path) this.#root = undefined;
      this.#changed(root.path, event, path, stats);
    });
    // A folder that cannot be watched is still polled: the next fetch reports the error.
    watcher.on("error", () => undefined);
    await new Promise<void>((ready) => watcher.once("ready", ready));
  }

  async #unwatch(): Promise<void> {
    const watcher = this.#watcher;
    [this.#watcher, this.#root] = [undefined, undefined];
    await watcher?.close();
  }

  /** Hidden files are not watched, except what links lead to, and the links among them. */
  #isIgnored(root: string, path: string): boolean {
    const names = relative(root, path).split(sep);
    if (!names.some((name) => isHidden(name) && !name.startsWith(".."))) return false;
    return names.includes(".git") || !(this.#linked.has(path) || this.#linked.has(dirname(path)) || isLink(path));
  }

  #changed(root: string, event: string, path: string, stats: Stats | undefined): void {
    const isFile = isCandidate(path) || stats?.isSymbolicLink() === true;
    if (isFile) this.#options.onMove(relative(root, path));
    // What was removed may have been a link to files of pipelines.
    if (isFile || event === "unlink" || event === "unlinkDir") this.#tell();
  }

  #tell(): void {
    const now = performance.now();
    this.#waitsSince ??= now;
    clearTimeout(this.#report);
    const wait = Math.min(this.#options.quiet, this.#waitsSince + longestWait - now);
    this.#report = setTimeout(() => {
      this.#waitsSince = undefined;
      this.#onChange();
    }, wait);
  }
}

async function rootOf(folder: string): Promise<Root | undefined> {
  try {
    const path = await realpath(folder);
    const identity = await identityOf(path);
    return identity === undefined ? undefined : { path, identity };
  } catch {
    return undefined;
  }
}

/** What tells a folder from another one at its path; undefined where none is. */
async function identityOf(path: string): Promise<string | undefined> {
  try {
    // A new folder may get the number of a removed one.
    const { dev, ino, birthtimeNs } = await stat(path, { bigint: true });
    return `${path} ${dev} ${ino} ${birthtimeNs}`;
  } catch {
    return undefined;
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}
