import { defaultOptions } from "../../schemas/pipeline.ts";
import type { PipelineConfig } from "../../schemas/pipeline.ts";
import type { PipelineView } from "../core/pipeline-view.ts";
import type { Table, TableStore } from "../core/store.ts";

/** The token that senders to a webhook have to send. Only its hash is stored. */
export interface TokenRecord {
  /** SHA-256, hex. */
  hash: string;
  created_at: string;
  last_used_at: string | null;
  /** Set by `x-sluice.access_token` instead of generated here. */
  brought: boolean;
}

/** A pipeline as it is stored. Secrets are the references of the file. */
export interface CatalogEntry extends PipelineView {
  token?: TokenRecord;
}

/** The stored pipelines of a data dir, and the revisions of their configs that pending batches name. */
export class Catalog {
  readonly #store: TableStore;
  readonly #named: (pipeline_id: string) => ReadonlySet<number>;
  readonly #entries: Table<CatalogEntry, string>;
  readonly #revisions: Table<PipelineConfig, [string, number]>;

  /** `named` returns the revisions that a pipeline's pending batches name. */
  constructor(store: TableStore, named: (pipeline_id: string) => ReadonlySet<number>) {
    this.#store = store;
    this.#named = named;
    this.#entries = store.table("catalog");
    this.#revisions = store.table("revisions");
  }

  get(pipeline_id: string): CatalogEntry | undefined {
    const entry = this.#entries.get(pipeline_id);
    return entry === undefined ? undefined : withDefaults(entry);
  }

  /** Newest first. */
  list(): CatalogEntry[] {
    const entries = [...this.#entries.getRange()].map(({ value }) => value);
    return entries
      .map(withDefaults)
      .toSorted((a, b) => b.created_at.localeCompare(a.created_at) || a.pipeline_id.localeCompare(b.pipeline_id));
  }

  /** The config of one revision; undefined where it is neither the present one nor named. */
  revision(pipeline_id: string, revision: number): PipelineConfig | undefined {
    return this.#revisions.get([pipeline_id, revision]);
  }

  /**
   * Stores an entry and its revision, and drops the revisions that are no longer named; `also` runs in the same write. Durable
   * when it resolves.
   */
  put(entry: CatalogEntry, also: () => void = () => undefined): Promise<void> {
    const { pipeline_id, revision } = entry;
    return this.#store.write(() => {
      const named = this.#named(pipeline_id);
      this.#entries.putSync(pipeline_id, entry);
      for (const key of this.#revisionKeys(pipeline_id)) {
        if (key[1] !== revision && !named.has(key[1])) this.#revisions.removeSync(key);
      }
      this.#revisions.putSync([pipeline_id, revision], entry.config);
      also();
    });
  }

  /** Removes a pipeline and its revisions; `also` runs in the same write. */
  remove(pipeline_id: string, also: () => void): Promise<void> {
    return this.#store.write(() => {
      this.#entries.removeSync(pipeline_id);
      for (const key of this.#revisionKeys(pipeline_id)) this.#revisions.removeSync(key);
      also();
    });
  }

  /** Stores an entry in the place of the one with the id `from`, with the revisions that are named; `also` runs in the same write. */
  move(from: string, entry: CatalogEntry, also: () => void, bytes: number): Promise<void> {
    const { pipeline_id, revision } = entry;
    return this.#store.write(() => {
      const named = this.#named(from);
      this.#entries.removeSync(from);
      this.#entries.putSync(pipeline_id, entry);
      for (const key of this.#revisionKeys(from)) {
        const config = named.has(key[1]) ? this.#revisions.get(key) : undefined;
        this.#revisions.removeSync(key);
        if (config !== undefined) this.#revisions.putSync([pipeline_id, key[1]], { ...config, pipeline_id });
      }
      this.#revisions.putSync([pipeline_id, revision], entry.config);
      also();
    }, bytes);
  }

  #revisionKeys(pipeline_id: string): [string, number][] {
    return [...this.#revisions.getKeys({ start: [pipeline_id, 0], end: [pipeline_id, Number.MAX_SAFE_INTEGER] })];
  }
}

/** An entry may have been stored before an option existed. */
function withDefaults(entry: CatalogEntry): CatalogEntry {
  return { ...entry, options: { ...defaultOptions, ...entry.options } };
}
