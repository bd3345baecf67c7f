import type { Database } from "lmdb";
import type { BatchRecord, Journal } from "../core/journal.ts";
import type { DeadLetters } from "./dead-letters.ts";
import type { Store } from "./store.ts";

/**
 * The journal in the process's one store. A commit is one transaction over the record, the position and the dead
 * letters, so that there is no moment in which an event is neither pending nor settled.
 */
export class StoreJournal implements Journal {
  readonly #store: Store;
  readonly #letters: DeadLetters;
  readonly #records: Database<BatchRecord, [string, number]>;
  readonly #positions: Database<number, string>;

  constructor(store: Store, letters: DeadLetters) {
    this.#store = store;
    this.#letters = letters;
    this.#records = store.table("journal");
    this.#positions = store.table("positions");
  }

  prepare(record: BatchRecord): Promise<void> {
    return this.#store.write(() => {
      this.#records.putSync([record.pipeline_id, record.batch], record);
    });
  }

  commit(record: BatchRecord): Promise<void> {
    const { pipeline_id, batch, range, letters, rejections } = record;
    return this.#store.write(() => {
      // Said twice, or by a thread that died after it was heard: it is settled already.
      const isSettled = letters === undefined ? this.committed(pipeline_id) >= range.last : !this.#has(record);
      if (isSettled) return;
      this.#records.removeSync([pipeline_id, batch]);
      if (letters === undefined) this.#positions.putSync(pipeline_id, range.last);
      else this.#letters.removeInWrite(pipeline_id, letters);
      this.#letters.addInWrite(pipeline_id, rejections);
    });
  }

  /** Makes the positions up to `position` final without rows: their events aged out. No batch may be pending. */
  skip(pipeline_id: string, position: number): Promise<void> {
    return this.#store.write(() => {
      if (this.committed(pipeline_id) < position) this.#positions.putSync(pipeline_id, position);
    });
  }

  pending(pipeline_id: string): BatchRecord[] {
    return [...this.#records.getRange(rangeOf(pipeline_id))].map(({ value }) => value);
  }

  #has({ pipeline_id, batch, token }: BatchRecord): boolean {
    return this.#records.get([pipeline_id, batch])?.token === token;
  }

  committed(pipeline_id: string): number {
    return this.#positions.get(pipeline_id) ?? 0;
  }

  /** The numbers of the dead letters that batches under way are made of. */
  heldLetters(pipeline_id: string): Set<number> {
    return new Set(this.pending(pipeline_id).flatMap(({ letters = [] }) => letters));
  }

  /** Forgets a pipeline's records and position; part of the write that deletes it. */
  forgetInWrite(pipeline_id: string): void {
    for (const key of this.#records.getKeys(rangeOf(pipeline_id))) this.#records.removeSync(key);
    this.#positions.removeSync(pipeline_id);
  }
}

function rangeOf(pipeline_id: string): { start: [string, number]; end: [string, number] } {
  return { start: [pipeline_id, 0], end: [pipeline_id, Number.MAX_SAFE_INTEGER] };
}
