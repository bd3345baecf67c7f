import type { EngineError } from "../../../engine/index.ts";
import type { KeyRange, Table, TableKey, TableStore } from "../../../engine/core/store.ts";
import { storageError } from "../../../engine/state/storage-error.ts";
import type { Draw } from "./network.ts";

/** One change of one table: a value that is put, or undefined for a key that goes. */
interface Operation {
  table: string;
  key: TableKey;
  value: unknown;
  /** Puts back what was there before. */
  undo: () => void;
}

/** The longest key, in bytes, as LMDB has it. */
const longestKey = 1_978;

/** How long a sync takes, in milliseconds, at the most. */
const slowestSync = 5;

/**
 * What of a store lies on the disk: it outlives the processes that open it. Transactions follow each other, and a crash
 * keeps all that were synced and, by chance, some of those behind, as many as it likes but in their order: so LMDB does
 * it, whose files are not simulated themselves.
 */
export class SimulatedStoreFile {
  readonly #synced = new Map<string, Rows>();
  #unsynced: Operation[][] = [];
  /** Errors that the next transactions meet: there is no room for it, or the disk fails its sync. */
  readonly troubles: ("ENOSPC" | "EIO")[] = [];

  /** A copy, as a person makes a backup of it while nothing runs, or while everything does. */
  copy(): SimulatedStoreFile {
    const copy = new SimulatedStoreFile();
    for (const [name, rows] of this.#synced) copy.#synced.set(name, rows.copy());
    return copy;
  }

  /** The process that had it open is dead. */
  crash(draw: Draw): void {
    const kept = draw(this.#unsynced.length + 1);
    for (const operations of this.#unsynced.slice(0, kept)) this.#apply(operations);
    this.#unsynced = [];
  }

  /** The tables as they are read by a process that opens it. */
  load(): Map<string, Rows> {
    return new Map(Array.from(this.#synced, ([name, rows]) => [name, rows.copy()]));
  }

  committed(operations: Operation[]): void {
    this.#unsynced.push(operations);
  }

  /** Everything that was committed so far survives from now on. */
  sync(): void {
    for (const operations of this.#unsynced.splice(0)) this.#apply(operations);
  }

  #apply(operations: readonly Operation[]): void {
    for (const { table, key, value } of operations) {
      const rows = this.#synced.get(table) ?? new Rows();
      this.#synced.set(table, rows);
      rows.set(key, value);
    }
  }
}

/** A change that is to be made, and who waits for it. */
interface Waiting {
  change: () => void;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** The store of one process. After `end` it answers nobody any more, as the process is dead. */
export class SimulatedStore implements TableStore {
  readonly #file: SimulatedStoreFile;
  readonly #draw: Draw;
  readonly #tables: Map<string, Rows>;
  #waiting: Waiting[] = [];
  #operations: Operation[] = [];
  #isScheduled = false;
  /** Those that are scheduled or under way. */
  readonly #commits = new Set<Promise<void>>();
  #hasEnded = false;
  readonly #onBroken: () => void;
  #broken: EngineError | undefined;

  /** `onBroken` is called when the disk has failed a sync: it writes nothing any more. */
  constructor(file: SimulatedStoreFile, draw: Draw, onBroken: () => void = () => undefined) {
    this.#file = file;
    this.#draw = draw;
    this.#onBroken = onBroken;
    this.#tables = file.load();
  }

  table<V, K extends TableKey>(name: string): Table<V, K> {
    const rows = this.#tables.get(name) ?? new Rows();
    this.#tables.set(name, rows);
    const change = (key: K, value: unknown): void => {
      if (bytesOf(key) > longestKey) throw new Error(`expected a key of up to ${longestKey} bytes`);
      const before = rows.get(key);
      rows.set(key, value);
      this.#operations.push({ table: name, key, value, undo: () => rows.set(key, before) });
    };
    return {
      get: (key) => rows.get(key) as V | undefined,
      doesExist: (key) => rows.get(key) !== undefined,
      getRange: (range) => rows.range(range).map(({ key, value }) => ({ key: key as K, value: value as V })),
      getKeys: (range) => rows.range(range).map(({ key }) => key as K),
      getKeysCount: (range) => rows.range(range).length,
      putSync: (key, value) => change(key, structuredClone(value)),
      removeSync: (key) => change(key, undefined),
    };
  }

  write(change: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (!this.#isScheduled) this.#schedule();
    });
  }

  checkRoom(): void {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#file.troubles[0] === "ENOSPC") throw this.#failure(this.#file.troubles.shift()!);
  }

  checkDisk(): void {
    if (this.#broken !== undefined || this.#file.troubles[0] !== "EIO") return;
    this.#broken = this.#failure(this.#file.troubles.shift()!);
    this.#onBroken();
  }

  freeBytes(): number {
    return Infinity;
  }

  async close(): Promise<void> {
    while (this.#commits.size > 0) await Promise.all(this.#commits);
  }

  /** The process is dead: nothing is written any more, and nobody hears an answer. */
  end(): void {
    this.#hasEnded = true;
    this.#waiting = [];
  }

  #schedule(): void {
    this.#isScheduled = true;
    const commit = new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#commit());
    this.#commits.add(commit);
    void commit.finally(() => this.#commits.delete(commit));
  }

  async #commit(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    this.#isScheduled = false;
    if (this.#hasEnded) return;
    const trouble = this.#broken === undefined ? this.#file.troubles.shift() : undefined;
    const refusal = this.#broken ?? (trouble === "ENOSPC" ? this.#failure(trouble) : undefined);
    if (refusal !== undefined) {
      for (const { reject } of group) reject(refusal);
      return;
    }
    const answers = group.map((write) => this.#make(write));
    this.#file.committed(this.#operations);
    this.#operations = [];
    if (trouble !== undefined) {
      this.#broken = this.#failure(trouble);
      for (const { reject } of group) reject(this.#broken);
      return this.#onBroken();
    }
    await new Promise((resolve) => setTimeout(resolve, 1 + this.#draw(slowestSync)));
    if (this.#hasEnded) return;
    this.#file.sync();
    for (const answer of answers) answer();
  }

  /** Makes one change, or nothing of it where it throws. Returns what answers whoever waits for it. */
  #make({ change, resolve, reject }: Waiting): () => void {
    const before = this.#operations.length;
    try {
      change();
      return resolve;
    } catch (error) {
      for (const { undo } of this.#operations.splice(before).toReversed()) undo();
      return () => reject(storageError(error));
    }
  }

  #failure(code: "ENOSPC" | "EIO"): EngineError {
    return storageError(Object.assign(new Error(`${code}: simulated`), { code }));
  }
}

/** The rows of one table, in the order of their keys. */
class Rows {
  #keys: TableKey[] = [];
  #values: unknown[] = [];

  copy(): Rows {
    const copy = new Rows();
    copy.#keys = [...this.#keys];
    copy.#values = [...this.#values];
    return copy;
  }

  get(key: TableKey): unknown {
    const place = this.#placeOf(key);
    return this.#isAt(place, key) ? this.#values[place] : undefined;
  }

  /** `undefined` takes the key out. */
  set(key: TableKey, value: unknown): void {
    const place = this.#placeOf(key);
    const there = this.#isAt(place, key) ? 1 : 0;
    const [keys, values] = value === undefined ? [[], []] : [[key], [value]];
    this.#keys.splice(place, there, ...keys);
    this.#values.splice(place, there, ...values);
  }

  range<K extends TableKey>({ start, end, limit = Infinity }: KeyRange<K> = {}): { key: TableKey; value: unknown }[] {
    const from = start === undefined ? 0 : this.#placeOf(start);
    const to = end === undefined ? this.#keys.length : this.#placeOf(end);
    const last = Math.min(to, from + limit);
    return this.#keys.slice(from, last).map((key, index) => ({ key, value: this.#values[from + index] }));
  }

  #isAt(place: number, key: TableKey): boolean {
    return place < this.#keys.length && compare(this.#keys[place]!, key) === 0;
  }

  /** Where a key is, or would be. */
  #placeOf(key: TableKey): number {
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(this.#keys[middle]!, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** As LMDB orders keys: element by element, a shorter array before the longer one that it begins. */
function compare(one: TableKey, other: TableKey): number {
  const [left, right] = [elements(one), elements(other)];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const [a, b] = [left[at]!, right[at]!];
    if (a !== b) return a < b ? -1 : 1;
  }
  return left.length - right.length;
}

/** About as many bytes as LMDB's form of it has. */
function bytesOf(key: TableKey): number {
  const numberBytes = 9;
  return elements(key).reduce(
    (sum: number, part) => sum + (typeof part === "number" ? numberBytes : Buffer.byteLength(part) + 1),
    0,
  );
}

function elements(key: TableKey): readonly (string | number)[] {
  return typeof key === "object" ? key : [key];
}
