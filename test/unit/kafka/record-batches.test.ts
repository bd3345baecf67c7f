import { expect, test } from "vitest";
import { RecordBatches } from "../../../engine/sources/kafka/protocol/record-batches.ts";
import { RecordRun } from "../../../engine/sources/kafka/protocol/record-run.ts";
import { UnreadableRecords } from "../../../engine/sources/kafka/protocol/unreadable.ts";
import { codecs, read } from "./read.ts";
import { batchBytes, fetched, int32, int64, markBytes, numbered, recordBytes, varint } from "./written.ts";

const ten = batchBytes({ baseOffset: 100, records: numbered(10, 100) });
const six = batchBytes({ baseOffset: 110, records: numbered(6, 110) });
const upTo = (first: number, end: number) =>
  Array.from({ length: end - first }, (_, at) => [first + at, String(first + at)]);

test("batches one after the other are one run over the bytes of the response", () => {
  const records = Buffer.concat([ten, six]);
  const run = new RecordRun();
  const batches = new RecordBatches(fetched(records), 100, codecs, run);
  expect(batches.next()).toBe(true);
  expect(run.bytes).toBe(records);
  expect(run.count).toBe(16);
  expect(run.valueBytes).toBe(48);
  expect(batches.next()).toBe(false);
  expect(batches.next()).toBe(false);
  expect(batches.nextOffset).toBe(116);
});

test.each([
  ["before the first batch", 0, 100],
  ["at its start", 100, 100],
  ["within it", 104, 104],
  ["at its last record", 109, 109],
  ["at the second batch", 110, 110],
  ["within the second", 115, 115],
])("an offset %s leaves out what is below it", (_title, from, first) => {
  const { records, nextOffset } = read(fetched(Buffer.concat([ten, six])), from);
  expect(records).toEqual(upTo(first, 116));
  expect(nextOffset).toBe(116);
});

test("an offset behind all batches moves nothing back", () => {
  expect(read(fetched(Buffer.concat([ten, six])), 200)).toEqual({ records: [], runs: [], nextOffset: 200 });
});

test("no bytes are no records", () => {
  expect(read(fetched(Buffer.alloc(0)), 42)).toEqual({ records: [], runs: [], nextOffset: 42 });
});

test("tombstones, empty values, keys, headers, times and long values", () => {
  const long = "x".repeat(100_000);
  const records = batchBytes({
    baseOffset: 2 ** 40,
    records: [
      { delta: 0, value: null },
      { delta: 1, value: Buffer.alloc(0), key: Buffer.alloc(0) },
      { delta: 2, value: Buffer.from("with a key"), key: Buffer.from("k".repeat(300)), time: -5 },
      {
        delta: 3,
        value: Buffer.from("with headers"),
        headers: [
          ["a", Buffer.from("1")],
          ["b", null],
          ["", Buffer.alloc(0)],
        ],
      },
      { delta: 4, value: null, key: Buffer.from("gone"), headers: [["why", Buffer.from("tombstone")]] },
      { delta: 5, value: Buffer.from(long), time: 2n ** 62n },
      { delta: 6, value: Buffer.from("early"), time: -(2n ** 63n) },
    ],
  });
  const run = new RecordRun();
  const values = [null, "", "with a key", "with headers", null, long, "early"];
  const { records: found } = read(fetched(records), 0, run);
  expect(found).toEqual(values.map((value, at) => [2 ** 40 + at, value]));
  expect(run.valueBytes).toBe(0);
});

test("a run counts the bytes of its values", () => {
  const run = new RecordRun();
  const records = [...numbered(11), { delta: 11, value: null }];
  const batches = new RecordBatches(fetched(batchBytes({ records })), 1, codecs, run);
  batches.next();
  expect([run.count, run.valueBytes]).toEqual([11, 11]);
});

test("compaction leaves holes, and the offset goes past records that are gone", () => {
  const first = batchBytes({ baseOffset: 10, records: [{ delta: 3, value: Buffer.from("13") }], lastDelta: 9 });
  const empty = batchBytes({ baseOffset: 20, records: [], lastDelta: 9 });
  const later = batchBytes({ baseOffset: 50, records: [{ delta: 0, value: Buffer.from("50") }], lastDelta: 4 });
  const { records, nextOffset } = read(fetched(Buffer.concat([first, empty, later])), 10);
  expect(records).toEqual([
    [13, "13"],
    [50, "50"],
  ]);
  expect(nextOffset).toBe(55);
});

test("notes of the brokers are no events, and move the offset on", () => {
  const notes = Buffer.concat([markBytes(7, 1, "commit"), markBytes(8, 2, "abort")]);
  expect(read(fetched(notes), 7)).toEqual({ records: [], runs: [], nextOffset: 9 });
  const between = Buffer.concat([markBytes(99, 1, "commit"), ten, markBytes(110, 1, "commit")]);
  const { records, nextOffset, runs } = read(fetched(between), 99);
  expect(records).toEqual(upTo(100, 110));
  expect([runs, nextOffset]).toEqual([[10], 111]);
});

test("a last batch that the broker cut is left for the next fetch, wherever it was cut", () => {
  for (let length = 0; length < six.length; length += 1) {
    const { records, nextOffset, error } = read(fetched(Buffer.concat([ten, six.subarray(0, length)])), 100);
    expect([records.length, nextOffset, error]).toEqual([10, 110, undefined]);
  }
});

test("a cut batch alone is an error: the next fetch would bring no more of it", () => {
  expect(() => {
    throw read(fetched(ten.subarray(0, 50)), 100).error;
  }).toThrow("topic orders, partition 3, offset 100: expected at least one whole batch, found 50 bytes of one");
});

test.each([1, 3, 16, 17, 100])("runs of at most %i records give the same records and offsets", (capacity) => {
  const records = Buffer.concat([
    ten,
    markBytes(110, 1, "commit"),
    batchBytes({ baseOffset: 111, records: numbered(6, 111), lastDelta: 9 }),
  ]);
  const run = new RecordRun(capacity);
  const batches = new RecordBatches(fetched(records), 102, codecs, run);
  const offsets: number[] = [];
  while (batches.next()) {
    offsets.push(...run.offsets.subarray(0, run.count));
    const isLast = offsets.length === 14;
    expect(run.count).toBe(isLast ? run.count : capacity);
    expect(batches.nextOffset).toBeGreaterThan(offsets.at(-1)!);
    if (!isLast && offsets.at(-1) !== 109) expect(batches.nextOffset).toBe(offsets.at(-1)! + 1);
  }
  expect(offsets).toEqual([102, 103, 104, 105, 106, 107, 108, 109, 111, 112, 113, 114, 115, 116]);
  expect(batches.nextOffset).toBe(121);
});

/** A batch with some bytes of it put in another's place. */
function patched(batch: Buffer, at: number, bytes: Buffer): Buffer {
  return Buffer.concat([batch.subarray(0, at), bytes, batch.subarray(at + bytes.length)]);
}

const one = recordBytes({ delta: 0, value: Buffer.from("v") });
const holding = (bytes: Buffer, count = 1) => batchBytes({ compress: () => bytes, count, lastDelta: 5 });

test.each<[string, Buffer, string]>([
  ["a negative length", patched(ten, 8, int32(-1)), "expected a batch of at least 5 bytes, found a length of -1"],
  [
    "a length that holds no head",
    patched(ten, 8, int32(48)),
    "expected a batch of at least 49 bytes, found a length of 48",
  ],
  ["a format to come", patched(ten, 16, Buffer.from([3])), "expected a message of format 0 or 1, found 3"],
  [
    "an offset beyond 2^53",
    patched(ten, 0, int64(2n ** 53n)),
    "expected an offset of at most 9007194959773696, found 9007199254740992",
  ],
  ["a negative offset", patched(ten, 0, int64(-1)), "not to be negative, found offset -1"],
  [
    "a negative last offset",
    patched(ten, 23, int32(-1)),
    "not to be negative, found offset 100, -1 to the last offset",
  ],
  [
    "a negative count",
    patched(ten, 57, int32(-2)),
    "not to be negative, found offset 100, 9 to the last offset, -2 records",
  ],
  [
    "a record too few",
    patched(ten, 57, int32(9)),
    "expected the batch to end after its last record, found 10 more bytes",
  ],
  ["a record too many", patched(ten, 57, int32(11)), "expected a record of at least 6 bytes in 0, found a length of 0"],
  ["no count but records", patched(ten, 57, int32(0)), "found 100 more bytes"],
  [
    "a codec that is not known",
    patched(ten, 21, Buffer.from([0, 5])),
    "compressed with none, gzip, snappy, lz4, zstd, found codec 5",
  ],
  [
    "a record beyond its batch",
    holding(Buffer.concat([varint(100), one.subarray(1)])),
    "expected a record of at least 6 bytes in 7, found a length of 100",
  ],
  ["a record too short", holding(Buffer.concat([varint(5), one.subarray(1)])), "found a length of 5"],
  ["a record of a negative length", holding(Buffer.concat([varint(-8), one.subarray(1)])), "found a length of -8"],
  ["a varint without end", holding(Buffer.alloc(20, 0xff)), "expected a varint of at most 5 bytes"],
  [
    "a time without end",
    holding(Buffer.concat([varint(40), Buffer.alloc(40, 0xff)])),
    "expected a varint of at most 10 bytes",
  ],
  [
    "an offset that stays",
    holding(Buffer.concat([one, one]), 2),
    "expected a record 1 to 5 offsets after the first of its batch, found 0",
  ],
  [
    "an offset beyond the last",
    holding(recordBytes({ delta: 6, value: null })),
    "expected a record 0 to 5 offsets after the first of its batch, found 6",
  ],
  ["a value beyond its record", holding(valueOf(9)), "within the 7 bytes of their record, found lengths of -1 and 9"],
  ["a value where the headers are", holding(valueOf(2)), "found lengths of -1 and 2"],
  ["a value of a negative length", holding(valueOf(-2)), "found lengths of -1 and -2"],
  ["a key beyond its record", holding(keyOf(60)), "found lengths of 60 and"],
  ["a key of a negative length", holding(keyOf(-2)), "found lengths of -2 and"],
])("%s is an error", (_title, records, message) => {
  const { error } = read(fetched(records), 0);
  expect(error).toBeInstanceOf(UnreadableRecords);
  expect((error as Error).message).toContain(message);
});

/** The record with one byte of value, with another length of the value. */
function valueOf(length: number): Buffer {
  return patched(one, 5, varint(length));
}

/** The same, with another length of the key. */
function keyOf(length: number): Buffer {
  return patched(one, 4, varint(length));
}

test("a batch that goes back is an error: its events would be read twice", () => {
  const { records, error } = read(fetched(Buffer.concat([ten, ten])), 100);
  expect(records).toEqual(upTo(100, 110));
  expect(String(error)).toContain("offset 110: expected a batch at offset 110 or above, found one at 100");
});

test("what lies before the broken place is handed out first, and the error stays", () => {
  const broken = patched(six, 8 + 4 + 49 + 8 * 3, Buffer.from([0x7f]));
  const batches = new RecordBatches(fetched(Buffer.concat([ten, broken, ten])), 103, codecs, new RecordRun(4));
  for (let runs = 0; runs < 3; runs += 1) expect(batches.next()).toBe(true);
  for (let times = 0; times < 2; times += 1) {
    expect(() => batches.next()).toThrow("topic orders, partition 3, offset 11");
    expect(batches.nextOffset).toBeGreaterThanOrEqual(110);
  }
});
