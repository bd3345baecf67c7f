import { diskShare } from "../core/disk.ts";
import {
  defaultDeadLetterLimits,
  letterBytes,
  mostLetters,
  type DeadLetter,
  type DeadLetterLimits,
  type DeadLetterPage,
  type DeadLetterQueue,
  type DeadLetterState,
  type Discarded,
  type LetterFilter,
  type Rejection,
  type Selection,
} from "../core/dead-letter.ts";
import { EngineError } from "../core/errors.ts";
import { letterPages } from "./record-bytes.ts";
import type { Table, TableStore } from "../core/store.ts";

interface Summary {
  /** The name of its queue, where that is not its pipeline_id: a pipeline that is moved keeps the one that it has. */
  queue?: string;
  /** Number of the next letter; numbers are never used twice. */
  next: number;
  total: number;
  /** Their `letterBytes`. Earlier versions did not store it. */
  bytes?: number;
  last_received_at: string | null;
  last_consumed_at: string | null;
}

type StoredLetter = Omit<DeadLetter, "message_id">;
type IsLetter = (letter: StoredLetter) => boolean;
type Key = [queue: string, number: number];

/** A number of letters and their `letterBytes`. */
export interface LetterAmount {
  count: number;
  bytes: number;
}

const empty: Summary = { next: 1, total: 0, bytes: 0, last_received_at: null, last_consumed_at: null };

/** So many letters are removed in one write when they are too old. */
const expiredAtOnce = 1_000;
/** A page of a list looks at so many letters, as the process does nothing else meanwhile. */
const lookedAtOnce = 10_000;

/**
 * The dead letters of every pipeline, in the process's one store.
 *
 * They are bounded for each pipeline, and no event may be lost: a pipeline at a bound prepares no new batch, and goes on
 * when letters have been taken out. What its batches in flight have rejected by then is added beyond the bound.
 */
export class DeadLetters {
  readonly #store: TableStore;
  readonly #letters: Table<StoredLetter, Key>;
  readonly #summaries: Table<Summary, string>;
  readonly #limits: DeadLetterLimits;
  readonly #named: (pipeline_id: string) => ReadonlySet<number>;
  /** The bytes of letters that an earlier version stored, until the next change stores them. */
  readonly #counted = new Map<string, number>();
  /** Letters that are selected for a reprocess and whose batch is not prepared yet. */
  readonly #selected = new Map<string, Set<number>>();

  /** `named` returns the numbers of a pipeline's letters that pending batches are made of. */
  constructor(
    store: TableStore,
    named: (pipeline_id: string) => ReadonlySet<number>,
    limits: DeadLetterLimits = defaultDeadLetterLimits,
  ) {
    this.#store = store;
    this.#named = named;
    this.#limits = limits;
    this.#letters = store.table("dead-letters");
    this.#summaries = store.table("dead-letter-summaries");
    for (const { key, value } of this.#summaries.getRange()) {
      if (value.bytes === undefined) this.#counted.set(key, this.#countBytes(key));
    }
  }

  /** Adds letters; part of the write that settles their events. */
  addInWrite(pipeline_id: string, rejections: readonly Rejection[]): void {
    if (rejections.length === 0) return;
    const received_at = new Date().toISOString();
    const summary = this.#summaryInWrite(pipeline_id);
    const { queue = pipeline_id } = summary;
    let bytes = this.#bytes(pipeline_id);
    rejections.forEach((rejection, index) => {
      this.#letters.putSync([queue, summary.next + index], { ...rejection, received_at });
      bytes += letterBytes(rejection);
    });
    this.#summaries.putSync(pipeline_id, {
      ...summary,
      next: summary.next + rejections.length,
      total: summary.total + rejections.length,
      bytes,
      last_received_at: received_at,
    });
  }

  /** Removes letters; part of the write that settles them or takes them out. Returns how many there were. */
  removeInWrite(pipeline_id: string, numbers: readonly number[]): number {
    const summary = this.#summaryInWrite(pipeline_id);
    const { queue = pipeline_id } = summary;
    let [count, bytes] = [0, this.#bytes(pipeline_id)];
    for (const number of numbers) {
      const letter = this.#letters.get([queue, number]);
      if (letter === undefined) continue;
      this.#letters.removeSync([queue, number]);
      count += 1;
      bytes -= letterBytes(letter);
    }
    this.#summaries.putSync(pipeline_id, { ...summary, total: summary.total - count, bytes });
    return count;
  }

  /** Removes a pipeline's letters; part of the write that deletes it. */
  forgetInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#letters.getKeys(this.#rangeOf(pipeline_id)))) this.#letters.removeSync(key);
    this.#summaries.removeSync(pipeline_id);
  }

  /** A pipeline's letters belong to another id from now on, with their numbers; part of the write that moves it. */
  moveInWrite(from: string, to: string): void {
    const summary = this.#summaries.get(from);
    if (summary === undefined) return;
    const { queue = from, ...rest } = summary;
    const bytes = this.#bytes(from);
    this.#summaries.removeSync(from);
    this.#summaries.putSync(to, { ...rest, bytes, ...(queue !== to && { queue }) });
  }

  /**
   * Throws DEAD_LETTERS_FULL where a pipeline is at a bound, with the letters that its pending batches will add: then no
   * new batch of its source may be prepared.
   */
  checkRoom(pipeline_id: string, pending: LetterAmount): void {
    const count = this.#summary(pipeline_id).total + pending.count;
    const bytes = this.#bytes(pipeline_id) + pending.bytes;
    const { maxBytes, maxCount } = this.#limits;
    if (count >= maxCount) throw full(`${count} are held, and dead_letters_max_count is ${maxCount}`);
    if (bytes >= maxBytes) throw full(`they take ${bytes} bytes, and dead_letters_max_size is ${maxBytes}`);
    if (bytes >= this.#maxBytes())
      throw full(`they take ${bytes} bytes, more than half of what is free beside them on the disk of the data dir`);
  }

  /** Removes the letters that are older than `maxAge` and not locked. Returns how many there were. */
  async expire(pipeline_id: string): Promise<number> {
    const { maxAge } = this.#limits;
    if (maxAge === Infinity) return 0;
    const oldest = new Date(Date.now() - maxAge).toISOString();
    const isOld = ({ received_at }: StoredLetter): boolean => received_at < oldest;
    const next = (): number[] =>
      this.#free(pipeline_id, expiredAtOnce, this.#held(pipeline_id), { isInTime: isOld }).map(numberOf);
    let count = 0;
    while (next().length > 0) {
      await this.#store.write(() => (count += this.removeInWrite(pipeline_id, next())), letterPages * expiredAtOnce);
    }
    return count;
  }

  /** The letters that a selection names, that are not locked and that `isMeant`, oldest first, and the ids that name none. */
  select(
    pipeline_id: string,
    selection: Selection,
    isMeant: (letter: Pick<DeadLetter, "reason">) => boolean = () => true,
  ): { letters: DeadLetter[]; unknown: string[] } {
    const held = this.#held(pipeline_id);
    if (selection.mode === "all") {
      return { letters: this.#free(pipeline_id, mostLetters.all, held, { isMeant }), unknown: [] };
    }
    const letters: DeadLetter[] = [];
    const unknown: string[] = [];
    for (const message_id of new Set(selection.message_ids)) {
      const number = /^\d{1,15}$/.test(message_id) ? Number(message_id) : 0;
      const letter = held.has(number) ? undefined : this.#letters.get([this.#queueOf(pipeline_id), number]);
      if (letter === undefined || !isMeant(letter)) unknown.push(message_id);
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
    const letter = this.#letters.get([this.#queueOf(pipeline_id), number]);
    return letter === undefined ? undefined : { ...letter, message_id: String(number) };
  }

  queue(pipeline_id: string): DeadLetterQueue {
    return {
      state: () => this.#state(pipeline_id),
      list: (limit, cursor, filter) => this.#page(pipeline_id, limit, cursor, filter),
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

  /** Of a pipeline without letters one that has none: another one may have that of its pipeline_id. */
  #queueOf(pipeline_id: string): string {
    const summary = this.#summaries.get(pipeline_id);
    return summary === undefined ? "" : (summary.queue ?? pipeline_id);
  }

  /** The summary to which a write adds; of a pipeline without letters one with a queue of its own. */
  #summaryInWrite(pipeline_id: string): Summary {
    return this.#summaries.get(pipeline_id) ?? { ...empty, ...this.#freeQueue(pipeline_id) };
  }

  #freeQueue(pipeline_id: string): Pick<Summary, "queue"> {
    const taken = new Set([...this.#summaries.getRange()].map(({ key, value: { queue = key } }) => queue));
    if (!taken.has(pipeline_id)) return {};
    // No pipeline_id has such a sign.
    let number = 2;
    while (taken.has(`${pipeline_id}#${number}`)) number += 1;
    return { queue: `${pipeline_id}#${number}` };
  }

  #rangeOf(pipeline_id: string): { start: Key; end: Key } {
    const queue = this.#queueOf(pipeline_id);
    return { start: [queue, 0], end: [queue, Number.MAX_SAFE_INTEGER] };
  }

  #bytes(pipeline_id: string): number {
    return this.#summary(pipeline_id).bytes ?? this.#counted.get(pipeline_id) ?? 0;
  }

  #countBytes(pipeline_id: string): number {
    let bytes = 0;
    for (const { value } of this.#letters.getRange(this.#rangeOf(pipeline_id))) bytes += letterBytes(value);
    return bytes;
  }

  #maxBytes(): number {
    return Math.min(this.#limits.maxBytes, diskShare(this.#store.freeBytes()));
  }

  #state(pipeline_id: string): DeadLetterState {
    const { total, last_received_at, last_consumed_at } = this.#summary(pipeline_id);
    return {
      last_received_at,
      last_consumed_at,
      total_messages: total,
      unconsumed_messages: total,
      bytes: this.#bytes(pipeline_id),
      max_bytes: this.#maxBytes(),
      max_messages: this.#limits.maxCount,
    };
  }

  #page(pipeline_id: string, limit: number, cursor = "0", filter: LetterFilter = {}): DeadLetterPage {
    const whole = this.#rangeOf(pipeline_id);
    const range = { ...whole, start: [whole.start[0], Number(cursor) + 1] satisfies Key };
    const messages: DeadLetter[] = [];
    let [looked, last] = [0, 0];
    for (const { key, value } of this.#letters.getRange(range)) {
      if (messages.length === limit || looked === lookedAtOnce)
        return { messages, next_cursor: String(last), has_more: true };
      // They are in the order of their times.
      if (filter.until !== undefined && value.received_at >= filter.until) break;
      if (isIn(filter, value)) messages.push(shown(key[1], value));
      last = key[1];
      looked += 1;
    }
    return { messages, has_more: false };
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
        const keys = [...this.#letters.getKeys(this.#rangeOf(pipeline_id))].filter(([, number]) => !held.has(number));
        // The letters may be many: they are not read.
        for (const key of keys) this.#letters.removeSync(key);
        count = keys.length;
        const summary = this.#summaryInWrite(pipeline_id);
        const bytes = this.#countBytes(pipeline_id);
        this.#summaries.putSync(pipeline_id, { ...summary, total: summary.total - count, bytes });
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

  /** The oldest letters that are not locked, up to the first one that is not `isWanted`. */
  #free(
    pipeline_id: string,
    limit: number,
    held: ReadonlySet<number>,
    { isInTime, isMeant }: { isInTime?: IsLetter; isMeant?: IsLetter } = {},
  ): DeadLetter[] {
    const letters: DeadLetter[] = [];
    for (const { key, value } of this.#letters.getRange(this.#rangeOf(pipeline_id))) {
      // No later one is.
      if (isInTime?.(value) === false) break;
      if (held.has(key[1]) || isMeant?.(value) === false) continue;
      letters.push({ ...value, message_id: String(key[1]) });
      if (letters.length === limit) break;
    }
    return letters;
  }
}

function isIn({ component, reason, since = "" }: LetterFilter, letter: StoredLetter): boolean {
  const isOf = component === undefined || letter.component === component;
  return isOf && (reason === undefined || letter.reason === reason) && letter.received_at >= since;
}

export function numberOf({ message_id }: DeadLetter): number {
  return Number(message_id);
}

/** A letter as it is listed: without `source_message`. */
function shown(number: number, { source_message: _source, ...letter }: StoredLetter): DeadLetter {
  return { ...letter, message_id: String(number) };
}

function full(found: string): EngineError {
  return new EngineError("DEAD_LETTERS_FULL", `the dead letters of this pipeline are at their bound: ${found}`);
}
