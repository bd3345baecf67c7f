import type { Database } from "lmdb";
import type { DeadLetter, DeadLetterPage, DeadLetterQueue, DeadLetterState, Rejection } from "../core/dead-letter.ts";
import type { Store } from "./store.ts";

interface Summary {
  /** Number of the next letter; numbers are never used twice. */
  next: number;
  total: number;
  last_received_at: string | null;
}

type StoredLetter = Omit<DeadLetter, "message_id">;

const empty: Summary = { next: 1, total: 0, last_received_at: null };

/** The dead letters of every pipeline, in the process's one store. Bounded by nothing but the disk, as nothing may be lost. */
export class DeadLetters {
  readonly #letters: Database<StoredLetter, [string, number]>;
  readonly #summaries: Database<Summary, string>;

  constructor(store: Store) {
    this.#letters = store.table("dead-letters");
    this.#summaries = store.table("dead-letter-summaries");
  }

  /** Adds letters; part of the write that settles their events. */
  addInWrite(pipeline_id: string, rejections: readonly Rejection[]): void {
    if (rejections.length === 0) return;
    const received_at = new Date().toISOString();
    const { next, total } = this.#summary(pipeline_id);
    rejections.forEach((rejection, index) => {
      this.#letters.putSync([pipeline_id, next + index], { ...rejection, received_at });
    });
    this.#summaries.putSync(pipeline_id, {
      next: next + rejections.length,
      total: total + rejections.length,
      last_received_at: received_at,
    });
  }

  /** Forgets a pipeline's letters; part of the write that deletes it. */
  forgetInWrite(pipeline_id: string): void {
    const keys = [...this.#letters.getKeys({ start: [pipeline_id, 0], end: [pipeline_id, Number.MAX_SAFE_INTEGER] })];
    for (const key of keys) this.#letters.removeSync(key);
    this.#summaries.removeSync(pipeline_id);
  }

  queue(pipeline_id: string): DeadLetterQueue {
    return {
      state: () => this.#state(pipeline_id),
      list: (limit, cursor) => this.#page(pipeline_id, limit, cursor),
    };
  }

  #summary(pipeline_id: string): Summary {
    return this.#summaries.get(pipeline_id) ?? empty;
  }

  #state(pipeline_id: string): DeadLetterState {
    const { total, last_received_at } = this.#summary(pipeline_id);
    return {
      last_received_at,
      last_consumed_at: null,
      total_messages: total,
      unconsumed_messages: total,
    };
  }

  #page(pipeline_id: string, limit: number, cursor = "0"): DeadLetterPage {
    const start: [string, number] = [pipeline_id, Number(cursor) + 1];
    const end: [string, number] = [pipeline_id, Number.MAX_SAFE_INTEGER];
    const rows = [...this.#letters.getRange({ start, end, limit: limit + 1 })];
    const messages = rows
      .slice(0, limit)
      .map(({ key, value }): DeadLetter => ({ ...value, message_id: String(key[1]) }));
    const last = messages.at(-1);
    const has_more = rows.length > limit;
    return has_more && last !== undefined
      ? { messages, next_cursor: last.message_id, has_more }
      : { messages, has_more };
  }
}
