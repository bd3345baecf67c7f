import type { Table, TableStore } from "../core/store.ts";

/**
 * Deletions whose folder may still be there: noted in the write that forgets the pipeline, and forgotten when the folder
 * is gone. Only by such a note is a folder that no pipeline knows removed at a start.
 */
export class Deletions {
  readonly #store: TableStore;
  readonly #ids: Table<string, string>;

  constructor(store: TableStore) {
    this.#store = store;
    this.#ids = store.table("deletions");
  }

  /** Notes a deletion; part of the write that forgets the pipeline. */
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
