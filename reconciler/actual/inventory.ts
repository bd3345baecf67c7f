import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { writeFileDurably } from "../../engine/index.ts";
import { Mutex } from "../../engine/language.ts";

/** A pipeline that this reconciler created or took over. */
export interface InventoryEntry {
  file: string;
  /** From the last valid file, for when the file was removed, as is `suspend`. */
  prune: boolean;
  suspend: boolean;
  /** Last revision that the pipeline matched completely; absent before the first. */
  revision?: string;
  /** Fingerprint of its file when the pipeline last matched it. */
  applied?: string;
  /** The first revision with that file; absent in what earlier versions stored. */
  since?: string;
  /** Fingerprint of what the engine held at that time. */
  left?: string;
  /** A change was begun since: a difference may come from it, and not from a drift. */
  changing?: true;
  /** Its file said `x-sluice.state: Terminated`. */
  terminated?: true;
  /** Its deletion was begun, and is completed unless its file is restored. */
  ending?: true;
  /** It ran when an operator stopped it: it runs again after that, also where no file says so. */
  stopped?: true;
  /** The ids that it had before, the newest first: a file that gives one of them back moves it back. */
  moved_from?: string[];
  /** How often it was corrected lately after a drift, oldest first. */
  corrections?: Correction[];
  /** These fields drifted again and again: they are no longer corrected. */
  fight?: Fight;
}

/** What a pipeline was as before: the fingerprint of its file, and the first revision with that. */
export interface AppliedBefore {
  applied: string;
  revision: string;
}

/** A drift that was corrected. */
export interface Correction {
  /** ISO 8601, UTC. */
  at: string;
  fields: string[];
}

export interface Fight {
  /** ISO 8601, UTC. */
  since: string;
  fields: string[];
  /** Corrections within the hour before. */
  times: number;
}

/** The deletions that removed files of one revision have begun. */
export interface Deletions {
  revision: string;
  begun: number;
  /** Pipelines that were owned when the first was planned. */
  of: number;
}

/** Where pipelines are read from, without credentials. */
export interface FollowedSource {
  kind: "git" | "dir";
  url: string;
  path: string;
  branch?: string;
  /** Where the server redirected; absent where it did not. */
  redirected?: string;
}

/** What was not read of the last revision, or of an earlier one where it may hold pipelines since, by its path. */
export type NotRead = Readonly<Record<string, NotReadEntry>>;

export interface NotReadEntry {
  /** As `SkippedFile` has it. */
  version?: string;
  /** Pipelines whose files were gone in the revision in which it came, or changed: it may hold them. */
  may_hold: readonly string[];
}

export interface InventoryState {
  version: 1;
  /** Absent before the first plan. */
  not_read?: NotRead;
  /** The source that was followed last; absent before the first plan. */
  source?: FollowedSource;
  last_attempted_revision?: string;
  last_applied_revision?: string;
  deletions?: Deletions;
  pipelines: Record<string, InventoryEntry>;
}

/**
 * What this reconciler owns, in `<data-dir>/reconciler.json`. Only what is in it may be pruned. An entry is written
 * before its pipeline is created and removed after the pipeline was deleted, so that a crash between the two never
 * leaves a pipeline that is not owned.
 */
export class Inventory {
  readonly #path: string;
  readonly #state: InventoryState;
  /** All but the pipelines, as it was saved last. */
  #savedFacts: string;
  /** Pipelines have changed since. */
  #isChanged = false;
  readonly #saves = new Mutex();

  private constructor(path: string, state: InventoryState, savedFacts: string) {
    this.#path = path;
    // Without a prototype: `constructor` is an id that a pipeline may have.
    const pipelines = Object.assign(Object.create(null) as InventoryState["pipelines"], state.pipelines);
    this.#state = { ...state, pipelines };
    this.#savedFacts = savedFacts;
  }

  /**
   * Reads the file, or begins without one. A file that cannot be understood is an error: going on without it would mean
   * that removed files no longer prune anything, without an error.
   */
  static read(dataDir: string): Inventory {
    const path = join(dataDir, "reconciler.json");
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return new Inventory(path, { version: 1, pipelines: {} }, "");
    }
    const state = parse(path, text);
    return new Inventory(path, state, factsOf(state));
  }

  get state(): Readonly<InventoryState> {
    return this.#state;
  }

  /** Adds or replaces the entry of a pipeline. The entry itself is never altered. */
  own(pipeline_id: string, entry: InventoryEntry): void {
    if (isSame(this.#state.pipelines[pipeline_id], entry)) return;
    this.#state.pipelines[pipeline_id] = entry;
    this.#isChanged = true;
  }

  /** Owns it no more: it was deleted. */
  release(pipeline_id: string): void {
    delete this.#state.pipelines[pipeline_id];
    this.#isChanged = true;
  }

  /** What is known of the deletions of a revision. */
  deletionsOf(revision: string): Deletions {
    const { deletions, pipelines } = this.#state;
    return deletions?.revision === revision ? deletions : { revision, begun: 0, of: Object.keys(pipelines).length };
  }

  /** Notes deletions that are about to begin, or that were refused. */
  deletions(deletions: Deletions): void {
    this.#state.deletions = deletions;
  }

  /** From now on this source is followed, of which this is not read; without it, what was known of that stays. */
  follow(source: FollowedSource, notRead?: NotRead): void {
    this.#state.source = source;
    if (notRead !== undefined) this.#state.not_read = notRead;
  }

  attempted(revision: string): void {
    this.#state.last_attempted_revision = revision;
  }

  applied(revision: string): void {
    this.#state.last_applied_revision = revision;
  }

  /** Resolves when everything said so far would survive a power cut. Calls at the same time share one write. */
  save(): Promise<void> {
    return this.#saves.run(() => this.#write());
  }

  async #write(): Promise<void> {
    const facts = factsOf(this.#state);
    if (!this.#isChanged && facts === this.#savedFacts) return;
    this.#isChanged = false;
    try {
      await writeFileDurably(this.#path, `${JSON.stringify(this.#state, undefined, 2)}\n`);
    } catch (error) {
      this.#isChanged = true;
      throw error;
    }
    this.#savedFacts = facts;
  }
}

function factsOf({ pipelines: _pipelines, ...facts }: InventoryState): string {
  return JSON.stringify(facts);
}

/** Asked of every pipeline at every turn. */
function isSame(before: InventoryEntry | undefined, entry: InventoryEntry): boolean {
  if (before === undefined || Object.keys(before).length !== Object.keys(entry).length) return false;
  return (Object.keys(entry) as (keyof InventoryEntry)[]).every(
    (key) => before[key] === entry[key] || isDeepStrictEqual(before[key], entry[key]),
  );
}

function parse(path: string, text: string): InventoryState {
  const wayOut = `restore it from a backup, or remove it: pipelines that run are then owned again where they equal their files`;
  let state: Partial<InventoryState> | null;
  try {
    state = JSON.parse(text) as Partial<InventoryState> | null;
  } catch {
    throw new Error(`${path}: expected JSON, found a file that is damaged; ${wayOut}`);
  }
  if (state?.version === 1 && typeof state.pipelines === "object") return state as InventoryState;
  throw new Error(
    `${path}: expected version 1, found ${JSON.stringify(state?.version)}; run the sluice that wrote it, or ${wayOut}`,
  );
}
