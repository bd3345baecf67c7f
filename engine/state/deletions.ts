import type { Table, TableStore } from "../core/store.ts";

/**
 * Deletions whose folder may still exist: stored in the write that removes the pipeline, and removed with the folder. A
 * start removes a folder without a pipeline only if its deletion is stored here.
 */
export class Deletions {
  readonly #store: TableStore;
  readonly #ids: Table<string, string>;

  constructor(store: TableStore) {
    this.#store = store;
    this.#ids = store.table("deletions");
  }

  /** Stores a deletion; part of the write that removes the pipeline. */
  noteInWrite(pipeline_id: string): void {
    this.#ids.putSync(pipeline_id, new Date().toISOString());
  }

  has(pipeline_id: string): boolean {
    return this.#ids.doesExist(pipeline_id);
  }

  all(): string[] {
    return [...this.#ids.getKeys()];
  }

  /** The folder is gone. */
  async finish(pipeline_id: string): Promise<void> {
    if (this.has(pipeline_id)) await this.#store.write(() => this.#ids.removeSync(pipeline_id));
  }
}
