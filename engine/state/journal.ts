import { randomBytes } from "node:crypto";
import type { Database } from "lmdb";
import {
  deadPositions,
  lastWritten,
  type BatchRecord,
  type FinalKeys,
  type Journal,
  type Progress,
} from "../core/journal.ts";
import type { DeadLetters } from "./dead-letters.ts";
import { KeyBlocks } from "./key-blocks.ts";
import type { Store } from "./store.ts";

type Key = [pipeline_id: string, batch: number];
type StoredRecord = Omit<BatchRecord, "keys">;

/** What is asked of pending batches all the time, kept in memory: this process is the only writer. */
type Pending = Pick<BatchRecord, "batch" | "range" | "letters" | "revision" | "clock">;

const nothingYet: Progress = { position: 0, batch: 0, clock: 0 };

/**
 * The journal in the process's one store. A commit is one transaction over the record, the position, the keys and the
 * dead letters, so that there is no moment in which an event is neither pending nor settled.
 */
export class StoreJournal implements Journal {
  readonly #store: Store;
  readonly #letters: DeadLetters;
  readonly #keys: KeyBlocks;
  readonly #records: Database<StoredRecord, Key>;
  readonly #progress: Database<Progress, string>;
  readonly #pending = new Map<string, Map<number, Pending>>();

  constructor(store: Store, letters: DeadLetters) {
    this.#store = store;
    this.#letters = letters;
    this.#keys = new KeyBlocks(store);
    this.#records = store.table("journal");
    this.#progress = store.table("progress");
    upgradePositions(store, this.#progress);
    for (const { value } of this.#records.getRange()) this.#note(value);
  }

  async prepare(record: BatchRecord): Promise<void> {
    await this.#store.write(() => this.#prepareInWrite(record));
    this.#note(record);
  }

  async amend({ keys: _unchanged, ...record }: BatchRecord): Promise<void> {
    await this.#store.write(() => {
      if (this.#has(record)) this.#records.putSync([record.pipeline_id, record.batch], record);
    });
  }

  async commit(record: BatchRecord, aside?: BatchRecord): Promise<void> {
    await this.#store.write(() => this.#commitInWrite(record, aside));
    this.#pending.get(record.pipeline_id)?.delete(record.batch);
    if (aside !== undefined) this.#note(aside);
  }

  /** Makes the positions up to `position` final without rows: their events aged out. No batch may be pending. */
  skip(pipeline_id: string, position: number): Promise<void> {
    return this.#store.write(() => {
      const progress = this.progress(pipeline_id);
      if (progress.position < position) this.#progress.putSync(pipeline_id, { ...progress, position });
    });
  }

  setBack(pipeline_id: string, from: number, to: number): Promise<void> {
    return this.#store.write(() => this.#keys.setBackInWrite(pipeline_id, from, to));
  }

  mark(pipeline_id: string, clock: number): Promise<void> {
    return this.#store.write(() => {
      this.#progress.putSync(pipeline_id, { ...this.progress(pipeline_id), clock });
    });
  }

  pending(pipeline_id: string): BatchRecord[] {
    return [...this.#records.getRange(rangeOf(pipeline_id))].map(({ value }) => {
      const keys = this.#keys.of(pipeline_id, value.batch);
      return { ...value, ...(keys === undefined ? {} : { keys }) };
    });
  }

  progress(pipeline_id: string): Progress {
    return this.#progress.get(pipeline_id) ?? nothingYet;
  }

  finalKeys(pipeline_id: string, after: number): Promise<FinalKeys[]> {
    return Promise.resolve(this.#keys.page(pipeline_id, after));
  }

  pendingCount(pipeline_id: string): number {
    return this.#pendingOf(pipeline_id).length;
  }

  /** Revisions that batches under way name. */
  namedRevisions(pipeline_id: string): Set<number> {
    return new Set(this.#pendingOf(pipeline_id).map(({ revision }) => revision));
  }

  /** The numbers of the dead letters that batches under way are made of. */
  heldLetters(pipeline_id: string): Set<number> {
    return new Set(this.#pendingOf(pipeline_id).flatMap(({ letters = [] }) => letters));
  }

  /** The last position whose event nobody needs any more: those that batches under way name are needed. */
  settledUpTo(pipeline_id: string): number {
    const { position } = this.progress(pipeline_id);
    const named = this.#pendingOf(pipeline_id).filter(({ letters }) => letters === undefined);
    return Math.min(position, ...named.map(({ range }) => range.first - 1));
  }

  /** The last position that a batch under way names, or that is final. */
  namedUpTo(pipeline_id: string): number {
    return Math.max(
      this.progress(pipeline_id).position,
      ...this.#pendingOf(pipeline_id).map(({ range }) => range.last),
    );
  }

  /** The secret of a pipeline's fingerprints, 16 bytes; drawn where there is none yet. */
  async salt(pipeline_id: string): Promise<Uint8Array> {
    const present = this.#keys.salt(pipeline_id);
    if (present !== undefined) return present;
    const fresh = randomBytes(16);
    await this.#store.write(() => this.#keys.saltInWrite(pipeline_id, fresh));
    return this.#keys.salt(pipeline_id) ?? fresh;
  }

  /** Forgets the final keys of a pipeline, which starts anew; keys of batches under way stay. */
  forgetKeys(pipeline_id: string): Promise<void> {
    return this.#store.write(() => this.#keys.forgetInWrite(pipeline_id));
  }

  /** Forgets a pipeline's records, keys and progress; part of the write that deletes it. */
  forgetInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#records.getKeys(rangeOf(pipeline_id)))) this.#records.removeSync(key);
    this.#keys.removeInWrite(pipeline_id);
    this.#progress.removeSync(pipeline_id);
    this.#pending.delete(pipeline_id);
  }

  #prepareInWrite({ keys, ...record }: BatchRecord): void {
    const { pipeline_id, batch, clock } = record;
    this.#records.putSync([pipeline_id, batch], record);
    this.#keys.putInWrite(pipeline_id, batch, keys);
    this.#advance(pipeline_id, { batch, clock });
  }

  #commitInWrite(record: BatchRecord, aside: BatchRecord | undefined): void {
    const { pipeline_id, batch, range, letters, rejections, clock } = record;
    // Said twice, or by a thread that died after it was heard: it is settled already.
    if (!this.#has(record) && (letters !== undefined || this.progress(pipeline_id).position >= range.last)) return;
    this.#records.removeSync([pipeline_id, batch]);
    this.#advance(pipeline_id, { batch, clock, position: range.last, ...writtenBy(record) });
    if (letters !== undefined) {
      const goOn = new Set(aside?.letters);
      this.#letters.removeInWrite(
        pipeline_id,
        letters.filter((number) => !goOn.has(number)),
      );
    }
    this.#letters.addInWrite(pipeline_id, rejections);
    this.#keys.finishInWrite(pipeline_id, batch, new Set(deadPositions(record)));
    if (aside !== undefined) this.#prepareInWrite(aside);
    this.#keys.reclaimInWrite(pipeline_id, this.#oldestClock(record));
  }

  /** No key that is live for a batch under way may go. */
  #oldestClock({ pipeline_id, clock }: BatchRecord): number {
    return Math.min(clock, ...this.#pendingOf(pipeline_id).map((pending) => pending.clock));
  }

  /** Numbers and positions only grow; the clock is that of the newest batch. */
  #advance(pipeline_id: string, to: Omit<Progress, "position"> & { position?: number }): void {
    const now = this.progress(pipeline_id);
    const { written = now.written } = to;
    this.#progress.putSync(pipeline_id, {
      position: Math.max(now.position, to.position ?? 0),
      batch: Math.max(now.batch, to.batch),
      clock: to.batch > now.batch ? to.clock : now.clock,
      ...(written === undefined ? {} : { written }),
    });
  }

  #has({ pipeline_id, batch, token }: StoredRecord): boolean {
    return this.#records.get([pipeline_id, batch])?.token === token;
  }

  #note({ pipeline_id, batch, range, letters, revision, clock }: StoredRecord): void {
    const pending = this.#pending.get(pipeline_id) ?? new Map<number, Pending>();
    this.#pending.set(pipeline_id, pending);
    pending.set(batch, { batch, range, revision, clock, ...(letters === undefined ? {} : { letters }) });
  }

  #pendingOf(pipeline_id: string): Pending[] {
    return [...(this.#pending.get(pipeline_id)?.values() ?? [])];
  }
}

/** The first format kept the positions alone. */
function upgradePositions(store: Store, progress: Database<Progress, string>): void {
  const positions = store.table<number, string>("positions");
  for (const { key, value } of Array.from(positions.getRange())) {
    if (!progress.doesExist(key)) progress.putSync(key, { ...nothingYet, position: value });
    positions.removeSync(key);
  }
}

function writtenBy(record: BatchRecord): Pick<Progress, "written"> {
  const written = lastWritten(record);
  return written === undefined ? {} : { written };
}

function rangeOf(pipeline_id: string): { start: Key; end: Key } {
  return { start: [pipeline_id, 0], end: [pipeline_id, Number.MAX_SAFE_INTEGER] };
}
