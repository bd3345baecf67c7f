import type { Table, TableStore } from "../core/store.ts";

/**
 * Moves to another pipeline_id whose folder may still have the name of before: stored in the write that moves the pipeline,
 * and removed once its folder has the new name.
 */
export class Moves {
  readonly #store: TableStore;
  /** The id of before, by the present one. */
  readonly #ids: Table<string, string>;

  constructor(store: TableStore) {
    this.#store = store;
    this.#ids = store.table("moves");
  }

  /** Stores a move; part of the write that moves the pipeline. */
  noteInWrite(from: string, to: string): void {
    this.#ids.putSync(to, from);
  }

  /** All moves that may be open, each with the id of before. */
  all(): { from: string; to: string }[] {
    return [...this.#ids.getRange()].map(({ key: to, value: from }) => ({ from, to }));
  }

  /** The folder has the new name. */
  finish(to: string): Promise<void> {
    return this.#store.write(() => this.#ids.removeSync(to));
  }
}
