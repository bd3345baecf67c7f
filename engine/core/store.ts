/** A key of a table: tables are in the order of their keys, arrays element by element. */
export type TableKey = string | number | readonly (string | number)[];

export interface KeyRange<K> {
  /** Inclusive; absent: from the first. */
  start?: K;
  /** Exclusive; absent: to the last. */
  end?: K;
  limit?: number;
}

/** One table of the store. Reads see every change that was made, synced or not. Values must not be changed in place. */
export interface Table<V, K extends TableKey> {
  get(key: K): V | undefined;
  doesExist(key: K): boolean;
  getRange(range?: KeyRange<K>): Iterable<{ key: K; value: V }>;
  getKeys(range?: KeyRange<K>): Iterable<K>;
  getKeysCount(range?: KeyRange<K>): number;
  /** Only within a change of `TableStore.write`. */
  putSync(key: K, value: V): unknown;
  /** Only within a change of `TableStore.write`. */
  removeSync(key: K): unknown;
}

/** The small transactional store of the process: catalog, journal, dead letters. One writer. */
export interface TableStore {
  table<V, K extends TableKey>(name: string): Table<V, K>;
  /**
   * Makes one change, all or nothing; resolves when it would survive a power cut. `change` writes with the tables'
   * `putSync` and `removeSync`; one that may put more than some hundred KB passes about how many `bytes`. Throws
   * DISK_FULL without room, STORAGE_UNAVAILABLE and STORAGE_FAILED otherwise; nothing was written then. Changes of one
   * turn share a sync and nothing else: one that throws is undone and fails alone, the others are made.
   */
  write(change: () => void, bytes?: number): Promise<void>;
  /**
   * Throws DISK_FULL while the disk has too little room for new work of `bytes`. Other writes may use the room that is
   * reserved for them, so that on a full disk begun work can still be ended, and data deleted.
   */
  checkRoom(bytes: number): void;
  /**
   * Whether its disk still takes writes, found out without a change. Where it does not, the store is broken, as by a change
   * that failed.
   */
  checkDisk(): void;
  /** How much is free on its disk. */
  freeBytes(): number;
  close(): Promise<void>;
}
