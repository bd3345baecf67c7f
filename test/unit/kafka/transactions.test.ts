import { expect, test } from "vitest";
import type { AbortedTransaction } from "../../../engine/sources/kafka/protocol/aborted-transactions.ts";
import { read } from "./read.ts";
import { batchBytes, fetched, markBytes, numbered } from "./written.ts";

/** Events of a producer's transaction, from an offset on. */
const events = (producerId: number, first: number, count = 1, codec = 0): Buffer =>
  batchBytes({ baseOffset: first, records: numbered(count, first), isTransactional: true, producerId, codec });

const plain = (first: number, producerId = -1): Buffer =>
  batchBytes({ baseOffset: first, records: numbered(1, first), producerId });

const aborted = (producerId: number, firstOffset: number): AbortedTransaction => ({
  producerId: BigInt(producerId),
  firstOffset,
});

test.each<[string, Buffer[], AbortedTransaction[], number[], number]>([
  ["a committed transaction", [events(1, 0, 2), markBytes(2, 1, "commit")], [], [0, 1], 3],
  ["one given up", [events(1, 0, 2), markBytes(2, 1, "abort")], [aborted(1, 0)], [], 3],
  ["one given up that began before the fetch", [events(1, 10, 2), markBytes(12, 1, "abort")], [aborted(1, 3)], [], 13],
  ["one given up whose mark comes with the next fetch", [events(1, 0, 2)], [aborted(1, 0)], [], 2],
  [
    "one given up, then one committed, of one producer",
    [events(1, 0), markBytes(1, 1, "abort"), events(1, 2), markBytes(3, 1, "commit")],
    [aborted(1, 0)],
    [2],
    4,
  ],
  [
    "one committed, then one given up, of one producer",
    [events(1, 0), markBytes(1, 1, "commit"), events(1, 2), markBytes(3, 1, "abort")],
    [aborted(1, 2)],
    [0],
    4,
  ],
  [
    "two given up, one after the other, of one producer",
    [events(1, 0), markBytes(1, 1, "abort"), events(1, 2), markBytes(3, 1, "abort"), events(1, 4)],
    [aborted(1, 2), aborted(1, 0)],
    [4],
    5,
  ],
  [
    "two producers side by side",
    [events(1, 0, 2), events(2, 2, 2), events(1, 4), markBytes(5, 1, "abort"), events(2, 6), markBytes(7, 2, "commit")],
    [aborted(1, 0)],
    [2, 3, 6],
    8,
  ],
  [
    "the mark of another producer ends nothing",
    [events(1, 0), markBytes(1, 2, "abort"), events(1, 2), markBytes(3, 1, "abort")],
    [aborted(1, 0)],
    [],
    4,
  ],
  [
    "events outside of any transaction stay",
    [events(1, 0), plain(1), plain(2, 1), markBytes(3, 1, "abort")],
    [aborted(1, 0)],
    [1, 2],
    4,
  ],
  [
    "compressed events and marks",
    [events(1, 0, 3, 1), markBytes(3, 1, "abort", 1), events(1, 4, 1, 1)],
    [aborted(1, 0)],
    [4],
    5,
  ],
  [
    "given up by a producer with the largest id",
    [batchBytes({ baseOffset: 0, records: numbered(1), isTransactional: true, producerId: 2 ** 52 })],
    [aborted(2 ** 52, 0)],
    [],
    1,
  ],
])("%s", (_title, batches, abortedTransactions, offsets, nextOffset) => {
  const result = read(fetched(Buffer.concat(batches), { abortedTransactions }));
  expect(result.error).toBeUndefined();
  expect(result.records).toEqual(offsets.map((offset) => [offset, String(offset)]));
  expect(result.nextOffset).toBe(nextOffset);
});

test("a mark below the wanted offset still ends its transaction", () => {
  const batches = Buffer.concat([events(1, 0), markBytes(1, 1, "abort"), events(1, 2)]);
  expect(read(fetched(batches, { abortedTransactions: [aborted(1, 0)] }), 2).records).toEqual([[2, "2"]]);
});

test("a mark without its kind is an error", () => {
  const records = [{ delta: 0, key: Buffer.from([0, 0]), value: null }];
  const mark = batchBytes({ baseOffset: 0, records, isControl: true, isTransactional: true, producerId: 1 });
  const { error } = read(fetched(mark, { abortedTransactions: [aborted(1, 0)] }));
  expect(String(error)).toContain("expected a control record with a key of at least 4 bytes, found a length of 2");
});
