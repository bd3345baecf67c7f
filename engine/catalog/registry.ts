import { EngineError } from "../core/errors.ts";
import { KeyedMutex } from "../flow/mutex.ts";
import { retry } from "../flow/retry.ts";
import { sleep } from "../flow/sleep.ts";
import { requested, type Request } from "../core/lifecycle.ts";
import type { Status } from "../core/pipeline-view.ts";
import { isPassing } from "../state/storage-error.ts";
import type { Catalog, CatalogEntry } from "./catalog.ts";
import type { Recorder } from "../telemetry/recorder.ts";

/** The wait before a change is written again, in milliseconds, while the disk is full or cannot be written. */
const diskFullWait = 1_000;

/**
 * The pipelines in memory, as the catalog stores them. A change is durable before it can be read here; while the disk
 * accepts no write the change waits, since a status that is only in memory would not outlive a restart.
 */
export class PipelineRegistry {
  readonly #catalog: Catalog;
  readonly #recorder: Recorder;
  readonly #entries = new Map<string, CatalogEntry>();
  /**
   * Changes of one pipeline run one after the other, each from the result of the one before. Otherwise a write of a
   * token's last use could restore an older status or a deleted pipeline.
   */
  readonly #changes = new KeyedMutex<string>();

  constructor(catalog: Catalog, recorder: Recorder) {
    this.#catalog = catalog;
    this.#recorder = recorder;
    for (const entry of catalog.list()) {
      this.#entries.set(entry.pipeline_id, entry);
      recorder.observed(entry.pipeline_id);
    }
  }

  find(pipeline_id: string): CatalogEntry | undefined {
    return this.#entries.get(pipeline_id);
  }

  /** Throws PIPELINE_NOT_FOUND. */
  get(pipeline_id: string): CatalogEntry {
    const entry = this.#entries.get(pipeline_id);
    if (entry === undefined) {
      throw new EngineError("PIPELINE_NOT_FOUND", `there is no pipeline ${pipeline_id}`, { details: { pipeline_id } });
    }
    return entry;
  }

  /** Newest first. */
  list(): CatalogEntry[] {
    return [...this.#entries.values()].toSorted(
      (a, b) => byCodeUnit(b.created_at, a.created_at) || byCodeUnit(a.pipeline_id, b.pipeline_id),
    );
  }

  async add(entry: CatalogEntry): Promise<void> {
    await this.#put(entry);
    this.#entries.set(entry.pipeline_id, entry);
    this.#recorder.statusChanged({ pipeline_id: entry.pipeline_id, from: undefined, to: entry.status });
  }

  /**
   * Replaces fields of a pipeline, given as values or as a function of the present ones, and sets `updated_at`; `also` runs in
   * the same write.
   */
  save(
    pipeline_id: string,
    changes: Partial<CatalogEntry> | ((present: CatalogEntry) => Partial<CatalogEntry>),
    also?: (before: CatalogEntry) => void,
  ): Promise<CatalogEntry> {
    return this.#changes.run(pipeline_id, async () => {
      const present = this.get(pipeline_id);
      const fields = typeof changes === "function" ? changes(present) : changes;
      const entry = { ...present, ...fields, updated_at: new Date().toISOString() };
      await this.#put(entry, also && (() => also(present)));
      this.#entries.set(pipeline_id, entry);
      return entry;
    });
  }

  /**
   * Stores when the token with this hash was last used, an ISO time; nothing where the pipeline has another one by now.
   * A use is no change of the pipeline, so `updated_at` stays.
   */
  tokenUsed(pipeline_id: string, hash: string, last_used_at: string): Promise<void> {
    return this.#changes.run(pipeline_id, async () => {
      const { token, ...rest } = this.get(pipeline_id);
      if (token?.hash !== hash) return;
      const entry: CatalogEntry = { ...rest, token: { ...token, last_used_at } };
      await this.#put(entry);
      this.#entries.set(pipeline_id, entry);
    });
  }

  /** Opens or closes the intake of a pipeline: whether it accepts events. */
  admit(pipeline_id: string, isOpen: boolean): Promise<void> {
    return this.#changes.run(pipeline_id, async () => {
      const { intake, ...rest } = this.get(pipeline_id);
      if (isOpen === (intake !== "closed")) return;
      const entry: CatalogEntry = { ...rest, updated_at: new Date().toISOString() };
      if (!isOpen) entry.intake = "closed";
      await this.#put(entry);
      this.#entries.set(pipeline_id, entry);
    });
  }

  /** Moves a pipeline to another status; `failure` says why it is `Failed`. */
  change(pipeline_id: string, to: Status, failure?: string): Promise<void> {
    return this.#changes.run(pipeline_id, () => this.#move(pipeline_id, to, failure));
  }

  /** Moves a pipeline to another status if it has one of `from`; else resolves with false and changes nothing. */
  changeFrom(pipeline_id: string, from: readonly Status[], to: Status, failure?: string): Promise<boolean> {
    return this.#changes.run(pipeline_id, async () => {
      if (!from.includes(this.get(pipeline_id).status)) return false;
      await this.#move(pipeline_id, to, failure);
      return true;
    });
  }

  /**
   * Moves a pipeline to the first status of a request. Of two concurrent requests the later one sees the status that
   * the other has set.
   */
  request(pipeline_id: string, request: Request): Promise<void> {
    return this.#changes.run(pipeline_id, () =>
      this.#move(pipeline_id, requested(pipeline_id, this.get(pipeline_id).status, request)),
    );
  }

  /** Removes a pipeline; `also` runs in the same write. Nothing is removed where `check` throws. */
  remove(pipeline_id: string, also: () => void, check: (entry: CatalogEntry) => void = () => undefined): Promise<void> {
    return this.#changes.run(pipeline_id, async () => {
      check(this.get(pipeline_id));
      await this.#catalog.remove(pipeline_id, also);
      this.#entries.delete(pipeline_id);
    });
  }

  /**
   * Gives a pipeline another id and other fields; `also` runs in the same write, of about so many `bytes`. Nothing changes
   * where `changed` throws.
   */
  move(
    from: string,
    changed: (present: CatalogEntry) => CatalogEntry,
    { also, bytes }: { also: () => void; bytes: number },
  ): Promise<void> {
    return this.#changes.run(from, async () => {
      const entry = { ...changed(this.get(from)), updated_at: new Date().toISOString() };
      await this.#catalog.move(from, entry, also, bytes);
      this.#entries.delete(from);
      this.#entries.set(entry.pipeline_id, entry);
      this.#recorder.moved({ pipeline_id: entry.pipeline_id, from });
    });
  }

  async #move(pipeline_id: string, to: Status, failure?: string): Promise<void> {
    const { status: from, failure: _before, ...rest } = this.get(pipeline_id);
    const entry: CatalogEntry = { ...rest, status: to, updated_at: new Date().toISOString() };
    if (failure !== undefined) entry.failure = failure;
    await this.#put(entry);
    this.#entries.set(pipeline_id, entry);
    this.#recorder.statusChanged({ pipeline_id, from, to, ...(failure !== undefined && { reason: failure }) });
  }

  #put(entry: CatalogEntry, also?: () => void): Promise<void> {
    return retry(
      () => this.#catalog.put(entry, also),
      async (error) => {
        if (!isPassing(error)) throw error;
        await sleep(diskFullWait);
      },
    );
  }
}

/** Cheaper than `localeCompare`: the reconciler lists the pipelines in each of its turns. */
function byCodeUnit(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
