import {
  mostLetters,
  type DeadLetter,
  type DeadLetterPage,
  type DeadLetterQueue,
  type DeadLetterState,
  type Discarded,
  type Rejection,
  type Selection,
} from "../core/dead-letter.ts";
import { letterPages } from "./record-bytes.ts";
import type { Table, TableStore } from "../core/store.ts";

interface Summary {
  /** Number of the next letter; numbers are never used twice. */
  next: number;
  total: number;
  last_received_at: string | null;
  last_consumed_at: string | null;
}

type StoredLetter = Omit<DeadLetter, "message_id">;
type Key = [pipeline_id: string, number: number];

const empty: Summary = { next: 1, total: 0, last_received_at: null, last_consumed_at: null };

/**
 * The dead letters of every pipeline, in the process's one store. Only the disk limits them, as no event may be lost.
 */
export class DeadLetters {
  readonly #store: TableStore;
  readonly #letters: Table<StoredLetter, Key>;
  readonly #summaries: Table<Summary, string>;
  readonly #named: (pipeline_id: string) => ReadonlySet<number>;
  /** Letters that are selected for a reprocess and whose batch is not prepared yet. */
  readonly #selected = new Map<string, Set<number>>();

  /** `named` returns the numbers of a pipeline's letters that pending batches are made of. */
  constructor(store: TableStore, named: (pipeline_id: string) => ReadonlySet<number>) {
    this.#store = store;
    this.#named = named;
    this.#letters = store.table("dead-letters");
    this.#summaries = store.table("dead-letter-summaries");
  }

  /** Adds letters; part of the write that settles their events. */
  addInWrite(pipeline_id: string, rejections: readonly Rejection[]): void {
    if (rejections.length === 0) return;
    const received_at = new Date().toISOString();
    const summary = this.#summary(pipeline_id);
    rejections.forEach((rejection, index) => {
      this.#letters.putSync([pipeline_id, summary.next + index], { ...rejection, received_at });
    });
    this.#summaries.putSync(pipeline_id, {
      ...summary,
      next: summary.next + rejections.length,
      total: summary.total + rejections.length,
      last_received_at: received_at,
    });
  }

  /** Removes letters; part of the write that settles them or takes them out. Returns how many there were. */
  removeInWrite(pipeline_id: string, numbers: readonly number[]): number {
    const present = numbers.filter((number) => this.#letters.doesExist([pipeline_id, number]));
    for (const number of present) this.#letters.removeSync([pipeline_id, number]);
    const summary = this.#summary(pipeline_id);
    this.#summaries.putSync(pipeline_id, { ...summary, total: summary.total - present.length });
    return present.length;
  }

  /** Removes a pipeline's letters; part of the write that deletes it. */
  forgetInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#letters.getKeys(rangeOf(pipeline_id)))) this.#letters.removeSync(key);
    this.#summaries.removeSync(pipeline_id);
  }

  /** The letters that a selection names and that are not locked, oldest first, and the ids that name none. */
  select(pipeline_id: string, selection: Selection): { letters: DeadLetter[]; unknown: string[] } {
    const held = this.#held(pipeline_id);
    if (selection.mode === "all") return { letters: this.#free(pipeline_id, mostLetters.all, held), unknown: [] };
    const letters: DeadLetter[] = [];
    const unknown: string[] = [];
    for (const message_id of new Set(selection.message_ids)) {
      const number = /^\d{1,15}$/.test(message_id) ? Number(message_id) : 0;
      const letter = held.has(number) ? undefined : this.#letters.get([pipeline_id, number]);
      if (letter === undefined) unknown.push(message_id);
      else letters.push({ ...letter, message_id });
    }
    return { letters: letters.toSorted((a, b) => Number(a.message_id) - Number(b.message_id)), unknown };
  }

  /** Locks these letters until the returned function is called. */
  hold(pipeline_id: string, numbers: readonly number[]): () => void {
    const selected = this.#selected.get(pipeline_id) ?? new Set();
    this.#selected.set(pipeline_id, selected);
    for (const number of numbers) selected.add(number);
    return () => {
      for (const number of numbers) selected.delete(number);
    };
  }

  /** One letter, locked or not; undefined if there is none. */
  get(pipeline_id: string, number: number): DeadLetter | undefined {
    const letter = this.#letters.get([pipeline_id, number]);
    return letter === undefined ? undefined : { ...letter, message_id: String(number) };
  }

  queue(pipeline_id: string): DeadLetterQueue {
    return {
      state: () => this.#state(pipeline_id),
      list: (limit, cursor) => this.#page(pipeline_id, limit, cursor),
      consume: (limit) => this.#consume(pipeline_id, limit),
      purge: () => this.#purge(pipeline_id),
      discard: (selection) => this.#discard(pipeline_id, selection),
    };
  }

  #held(pipeline_id: string): ReadonlySet<number> {
    return new Set([...this.#named(pipeline_id), ...(this.#selected.get(pipeline_id) ?? [])]);
  }

  #summary(pipeline_id: string): Summary {
    return this.#summaries.get(pipeline_id) ?? empty;
  }

  #state(pipeline_id: string): DeadLetterState {
    const { total, last_received_at, last_consumed_at } = this.#summary(pipeline_id);
    return { last_received_at, last_consumed_at, total_messages: total, unconsumed_messages: total };
  }

  #page(pipeline_id: string, limit: number, cursor = "0"): DeadLetterPage {
    const { end } = rangeOf(pipeline_id);
    const start: Key = [pipeline_id, Number(cursor) + 1];
    const rows = [...this.#letters.getRange({ start, end, limit: limit + 1 })];
    const messages = rows.slice(0, limit).map(({ key, value }) => shown(key[1], value));
    const last = messages.at(-1);
    const has_more = rows.length > limit;
    return has_more && last !== undefined
      ? { messages, next_cursor: last.message_id, has_more }
      : { messages, has_more };
  }

  async #consume(pipeline_id: string, limit: number): Promise<DeadLetter[]> {
    let letters: DeadLetter[] = [];
    await this.#store.write(() => {
      letters = this.#free(pipeline_id, limit, this.#held(pipeline_id));
      if (letters.length === 0) return;
      this.removeInWrite(pipeline_id, letters.map(numberOf));
      const summary = this.#summary(pipeline_id);
      this.#summaries.putSync(pipeline_id, { ...summary, last_consumed_at: new Date().toISOString() });
    }, letterPages * limit);
    return letters;
  }

  async #purge(pipeline_id: string): Promise<number> {
    let count = 0;
    await this.#store.write(
      () => {
        const held = this.#held(pipeline_id);
        const numbers = [...this.#letters.getKeys(rangeOf(pipeline_id))].map((key) => key[1]);
        count = this.removeInWrite(
          pipeline_id,
          numbers.filter((number) => !held.has(number)),
        );
      },
      letterPages * this.#held(pipeline_id).size,
    );
    return count;
  }

  async #discard(pipeline_id: string, selection: Selection): Promise<Discarded> {
    let discarded: Discarded = { discarded_count: 0, unknown: [] };
    const apart = selection.mode === "all" ? this.#held(pipeline_id).size : selection.message_ids.length;
    await this.#store.write(() => {
      const { letters, unknown } = this.select(pipeline_id, selection);
      discarded = { discarded_count: this.removeInWrite(pipeline_id, letters.map(numberOf)), unknown };
    }, letterPages * apart);
    return discarded;
  }

  /** The oldest letters that are not locked. */
  #free(pipeline_id: string, limit: number, held: ReadonlySet<number>): DeadLetter[] {
    const letters: DeadLetter[] = [];
    for (const { key, value } of this.#letters.getRange(rangeOf(pipeline_id))) {
      if (held.has(key[1])) continue;
      letters.push({ ...value, message_id: String(key[1]) });
      if (letters.length === limit) break;
    }
    return letters;
  }
}

export function numberOf({ message_id }: DeadLetter): number {
  return Number(message_id);
}

/** A letter as it is listed: without `source_message`. */
function shown(number: number, { source_message: _source, ...letter }: StoredLetter): DeadLetter {
  return { ...letter, message_id: String(number) };
}

function rangeOf(pipeline_id: string): { start: Key; end: Key } {
  return { start: [pipeline_id, 0], end: [pipeline_id, Number.MAX_SAFE_INTEGER] };
}
