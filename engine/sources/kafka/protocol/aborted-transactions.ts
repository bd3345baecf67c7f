import type { BatchHead } from "./batch-head.ts";
import { Unreadable } from "./unreadable.ts";
import { Varints } from "./varints.ts";

/** A transaction that was aborted. The broker lists those that overlap the records it sends. */
export interface AbortedTransaction {
  producerId: bigint;
  firstOffset: number;
}

const abortMark = 0;

/** Tells events of aborted transactions from committed ones, over the batches of one partition in order. */
export class AbortedTransactions {
  /** By descending first offset, the next one last. */
  readonly #ahead: AbortedTransaction[];
  /** Producers within a transaction that will be aborted. */
  readonly #producers = new Set<bigint>();

  constructor(transactions: readonly AbortedTransaction[]) {
    this.#ahead = transactions.toSorted((one, other) => other.firstOffset - one.firstOffset);
  }

  /**
   * Whether the events of a batch were aborted. Call it for every batch, in order, because control batches mark where a
   * transaction ends; `recordsOf` gives the decompressed records of the batch.
   */
  includes(batch: BatchHead, recordsOf: (batch: BatchHead) => Buffer): boolean {
    for (let next = this.#ahead.at(-1); next !== undefined; next = this.#ahead.at(-1)) {
      if (next.firstOffset > batch.lastOffset) break;
      this.#producers.add(next.producerId);
      this.#ahead.pop();
    }
    if (this.#producers.size === 0 || !this.#producers.has(batch.producerId)) return false;
    if (batch.isControl && batch.count > 0 && markOf(recordsOf(batch)) === abortMark) {
      this.#producers.delete(batch.producerId);
    }
    return batch.isTransactional;
  }
}

/** The kind of mark in a control batch: the key of its first record is a version and a kind, two bytes each. */
function markOf(records: Buffer): number {
  const reader = new Varints(records, 0);
  const length = reader.next();
  const end = reader.at + length;
  reader.at += 1;
  reader.skip();
  reader.next();
  const key = reader.next();
  if (key >= 4 && reader.at + key <= Math.min(end, records.length)) return records.readInt16BE(reader.at + 2);
  throw new Unreadable(`expected a control record with a key of at least 4 bytes, found a length of ${key}`);
}
